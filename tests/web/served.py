"""A server as the command line runs it: ``python -m tests.web.served URL``."""

from __future__ import annotations

import sys

from tenure.base.defaults import Settings
from tenure.web.server import serve
from tests.web.doors import application

if __name__ == "__main__":
    serve(
        application(),
        Settings(port=0, drain=20.0),
        sys.argv[1],
        first_token=True,
        announce=lambda line: print(line, flush=True),  # noqa: T201 - what the command line does
    )
