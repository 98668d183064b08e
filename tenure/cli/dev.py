"""``tenure dev``: server and worker on one's own machine, started again when code changes.

Promises: an embedded database is migrated, and ends with its last user; a change of a file is run
by the next job; code that cannot be loaded is told and waited for; however it ends, all that it
started ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from tenure.base.defaults import Settings
from tenure.cli import application, database, output

_LOOK_AGAIN = 0.3  # seconds
_DRAIN = 3.0  # who edits does not wait half a minute for a handler that stands
_GRACE = 15.0
_SUFFIXES = (".py", ".toml", ".sql", ".json")

Seen = dict[str, tuple[int, int]]


@click.command()
@application.option
@click.option("--host", metavar="ADDRESS", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port; 0: a free one.")
def dev(*, app: str | None, host: str | None, port: int | None) -> None:
    """Serve and run jobs on this machine, and start again when a file changes."""
    settings = database.settings({"app": app, "host": host, "port": port})
    if not settings.database_url:
        settings = msgspec.structs.replace(settings, database="embedded")
    path = application.path(settings)
    stopped = threading.Event()
    for signal_ in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_, lambda *_: stopped.set())
    with database.address(settings) as url:
        _run(_environ(settings, path, url), Path.cwd(), stopped)


def _environ(settings: Settings, path: str, url: str) -> dict[str, str]:
    """What server and worker are told beside what stands in this folder's files."""
    told = {
        "TENURE_DATABASE_URL": url,
        "TENURE_APP": path,
        "TENURE_HOST": settings.host,
        "TENURE_PORT": str(settings.port),
        "TENURE_DRAIN": str(min(settings.drain, _DRAIN)),
        # Compiled code is told from its source by whole seconds: two edits in one would be one.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    kept = {name: value for name, value in os.environ.items() if name != "TENURE_DATABASE"}
    return kept | told


def _run(environ: Mapping[str, str], folder: Path, stopped: threading.Event) -> None:
    while not stopped.is_set():
        seen = _look(folder)
        with contextlib.ExitStack() as stack:
            pieces = [_Piece(words, environ) for words in (["serve", "--first-token"], ["worker"])]
            for piece in pieces:
                stack.callback(piece.stop)
            changed = _wait(pieces, folder, seen, stopped)
            for piece in pieces:
                piece.ask_to_stop()
            if changed:
                output.notice(f"{', '.join(changed)} changed: starting again")


def _wait(pieces: list[_Piece], folder: Path, seen: Seen, stopped: threading.Event) -> list[str]:
    """The files that changed, once some have; none where it is told to stop."""
    told: set[_Piece] = set()
    while not stopped.wait(_LOOK_AGAIN):
        now = _look(folder)
        if now != seen:
            return sorted(name for name in now.keys() | seen if now.get(name) != seen.get(name))
        for piece in pieces:
            if piece not in told and piece.ended():
                told.add(piece)
                output.notice(f"{piece.name} has ended: it starts again when a file changes")
    return []


def _look(folder: Path) -> Seen:
    """Every file of code below a folder with its time and size; what is hidden is passed over."""
    seen = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith((".", "__pycache__", "node_modules"))
            and not Path(place, name, "pyvenv.cfg").exists()
        ]
        for name in names:
            if name.endswith(_SUFFIXES):
                path = Path(place, name)
                with contextlib.suppress(OSError):  # it has gone meanwhile
                    stands = path.stat()
                    seen[str(path.relative_to(folder))] = (stands.st_mtime_ns, stands.st_size)
    return seen


class _Piece:
    """The server or the worker, as a process that ends with this one."""

    def __init__(self, words: list[str], environ: Mapping[str, str]) -> None:
        """Start it; what it says goes where ours goes."""
        self.name = words[0]
        self._popen = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            [sys.executable, "-m", "tenure.cli.lifeline", *words],
            stdin=subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,  # a Ctrl-C at the terminal is ours, and we stop all
        )

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._popen.poll() is not None

    def ask_to_stop(self) -> None:
        """SIGTERM, and no wait."""
        if not self.ended():
            self._popen.terminate()

    def stop(self) -> None:
        """End it and all that it started; by force what does not end by itself in time."""
        self.ask_to_stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_DRAIN + _GRACE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        if self._popen.stdin is not None:
            self._popen.stdin.close()
