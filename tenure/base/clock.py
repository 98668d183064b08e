"""The process's own stopwatch: for deadlines inside one process, never for decisions in rows.

Carriers, heartbeats and gates read it to know how long ago they asked the database something.
It counts while the machine is suspended where the system can (CLOCK_BOOTTIME), so a laptop that
slept does not believe that its lease did too.  Times compared with rows are the database's.
"""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds since an arbitrary start, never backwards, running on through a suspended machine."""
    return time.clock_gettime(_CLOCK)
