"""A Tenure command that ends with who started it: ``python -m tenure.cli.lifeline worker``.

``tenure demo`` and ``tenure dev`` start workers and server so.  It is the command itself, with one
thread more that waits for the end of standard input; the other end is theirs, and closes however
they end.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from tenure.cli.group import commands


def _watch() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_watch, name="lifeline", daemon=True).start()
    commands.main(prog_name="tenure")
