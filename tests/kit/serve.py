"""A worker as the command line starts it: ``python -m tests.kit.serve APP [live|not-live]``.

Settings come from the environment.  It ends with whoever holds the other end of its standard input.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import cast

from tenure.base import settings
from tenure.base.errors import TenureError
from tenure.worker import service
from tenure.worker.service import Only


def main(app: str, only: str = "") -> int:
    """Run the worker's service until SIGTERM; its lines go to standard output."""
    found = settings.load({}, environ=os.environ, directory=Path.cwd())
    threading.Thread(target=_watch, daemon=True).start()
    try:
        return service.run(
            app,
            found,
            url=found.database_url,
            only=cast("Only", only) if only else None,
            announce=lambda line: print(line, flush=True),  # noqa: T201 - the test reads it
        )
    except TenureError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _watch() -> None:
    """A test that is gone takes its worker along."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
