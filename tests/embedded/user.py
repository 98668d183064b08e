"""A user in a process of its own: ``python -m tests.embedded.user DIRECTORY [fork]``.

Says the server's address once it has it; then for each line it is sent runs it as SQL and says the
first value; at the end of its input it stops using the server and says so.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psycopg

from tenure.embedded import start


def main() -> None:
    """Use the server until the input ends; with ``fork``, after a child has stopped using it."""
    embedded = start(Path(sys.argv[1]))
    if "fork" in sys.argv:
        child = os.fork()
        if child == 0:
            embedded.stop()
            os._exit(0)
        os.waitpid(child, 0)
    _say(embedded.url)
    for line in sys.stdin:
        with psycopg.connect(embedded.url, autocommit=True) as conn:
            row = conn.execute(line.encode()).fetchone()
            _say(str(row and row[0]))
    embedded.stop()
    _say("stopped")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
