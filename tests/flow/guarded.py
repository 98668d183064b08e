"""Processes with a guard of their own, for tests: what was tried in one, and what came of it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]

START = """
import asyncio, json, os, sys, threading
from tenure.base.errors import CallForbidden, ConfigurationError, TenureError
from tenure.base.passage import passage
from tenure.flow import guard

PORT = int(sys.argv[1])
reports, said = [], {}

def attempt(name, act):
    try:
        act()
        said[name] = "went through"
    except BaseException as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        said[name] = f"{type(error).__name__}: {error}"
"""
END = """
print(json.dumps({"said": said, "reports": reports}), flush=True)
os._exit(0)
"""


@contextmanager
def listening() -> Iterator[socket.socket]:
    """A socket that a refused attempt never reaches."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def said_by(
    script: str, listener: socket.socket, *folders: Path
) -> tuple[dict[str, str], list[str]]:
    """What a child process said of each attempt, and what its guard reported."""
    paths = [str(folder) for folder in folders]
    child = subprocess.run(
        [sys.executable, "-c", START + script + END, str(listener.getsockname()[1])],
        cwd=ROOT,
        env={"PYTHONPATH": ":".join([str(ROOT), *paths]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert child.stdout, child.stderr
    spoken = json.loads(child.stdout.splitlines()[-1])
    return spoken["said"], spoken["reports"]


def nobody_came(listener: socket.socket) -> bool:
    """Whether no connection is waiting."""
    listener.settimeout(0)
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return True
    return False
