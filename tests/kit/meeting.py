"""Places where a handler and its test meet: the handler says where it is, the test lets it go on.

The test opens a ``Meeting`` and hands its address to the worker in ``KIT_MEETING``; a handler calls
``await meet("name")`` and stands there until the test releases that name.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from tests.kit.facts import WITHIN, stir, until

if TYPE_CHECKING:
    from types import TracebackType

ADDRESS = "KIT_MEETING"


class Arrival(NamedTuple):
    """Who came: the name of the place, the process, and what it brought along."""

    name: str
    pid: int
    brought: str


async def meet(name: str, brought: object = "") -> None:
    """Called by a handler: be at the place of that name until the test says go on."""
    reader, writer = await asyncio.open_unix_connection(  # noqa: TID251 - to the test itself
        os.environ[ADDRESS]
    )
    try:
        writer.write(json.dumps([name, os.getpid(), str(brought)]).encode() + b"\n")
        await reader.readline()
    finally:
        writer.close()


@contextmanager
def begun(name: str, brought: object = "") -> Iterator[socket.socket]:
    """Be at the place of that name, and wait for nobody."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conn:
        conn.connect(os.environ[ADDRESS])
        conn.sendall(json.dumps([name, os.getpid(), str(brought)]).encode() + b"\n")
        yield conn


def meet_blocking(name: str, brought: object = "") -> None:
    """As ``meet``, by a handler that blocks its whole process meanwhile."""
    with begun(name, brought) as conn:
        conn.recv(100)


class Meeting:
    """The test's side: who has arrived where, and who may go on."""

    def __init__(self) -> None:
        """Nobody is there yet, and every place is closed."""
        self._folder = Path(tempfile.mkdtemp(prefix="meet-"))
        self.address = str(self._folder / "s")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(self.address)
        self._socket.listen(64)
        self._changed = threading.Condition()
        self._open: set[str] = set()
        self._over = False
        self.arrivals: list[Arrival] = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def environ(self) -> dict[str, str]:
        """What a worker needs to find it."""
        return {ADDRESS: self.address}

    def at(self, name: str) -> list[Arrival]:
        """All who have come to a place so far, in order."""
        return [arrival for arrival in list(self.arrivals) if arrival.name == name]

    def wait_for(self, name: str, count: int = 1, within: float = WITHIN) -> list[Arrival]:
        """Return who came to a place once there were so many."""
        return until(
            lambda: self.at(name) if len(self.at(name)) >= count else None,
            f"{count} at {name!r}",
            within,
        )

    def release(self, name: str) -> None:
        """Let go on whoever stands at a place, and whoever comes there later."""
        with self._changed:
            self._open.add(name)
            self._changed.notify_all()

    def _listen(self) -> None:
        while True:
            try:
                conn, _ = self._socket.accept()
            except OSError:
                return  # closed: the test is over
            threading.Thread(target=self._greet, args=(conn,), daemon=True).start()

    def _greet(self, conn: socket.socket) -> None:
        with conn, conn.makefile("rb") as said:
            line = said.readline()
            if not line:
                return
            arrival = Arrival(*json.loads(line))
            with self._changed:
                self.arrivals.append(arrival)
                stir()
                self._changed.wait_for(lambda: self._over or arrival.name in self._open)
            if not self._over:
                with suppress(OSError):  # it was killed where it stood
                    conn.sendall(b"go on\n")

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; whoever still stands somewhere is let go with the connection."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)
