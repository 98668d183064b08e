"""Schedules as an author declares them: sources at which the clock knocks.

Called by ``app.schedule``; written to rows by worker and server.  Promises: a schedule has one way
to tick, in a zone that exists; what it lacks is said where it is declared.
"""

from __future__ import annotations

import msgspec

from tenure.base.schedules import Intent


class Schedule(msgspec.Struct, frozen=True):
    """A source of ticks, for ``on=``: each is an event, and its job is given a ``tenure.Tick``."""

    name: str
    intent: Intent
