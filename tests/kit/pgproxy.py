"""A proxy before PostgreSQL that knows our statements and can act at the n-th pass of one.

    with Proxy(database_url) as proxy, Worker(proxy.url) as worker:
        trap = proxy.at("gate/gate", "after", act=kill)       # kill -9 whoever asked, after the
        trap.wait_met()                                       # gate's commit, before its answer

``before``: acts, then forwards.  ``during``: forwards, then acts at once.  ``after``: forwards,
waits for the server's whole answer (each statement commits by itself), acts, then passes it on.
Statements are known by the first line of their file; who sends them by the socket's credentials.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import struct
import tempfile
from collections import Counter, deque
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tenure.store.database import statement
from tenure.testing.emulators.thread import LoopThread
from tests.kit.facts import WITHIN, stir, until
from tests.kit.pgwire import Client, Round, message_of

if TYPE_CHECKING:
    from types import TracebackType

When = Literal["before", "during", "after"]


def _marks() -> dict[str, str]:
    """The first line of every statement's file, by its ``room/verb``."""
    top = Path(str(resources.files("tenure.sql")))
    names = [path.relative_to(top).with_suffix("").as_posix() for path in top.glob("*/*.sql")]
    return {statement(name).splitlines()[0]: name for name in names if "migrations" not in name}


_NAMES = _marks()


def named(passed: Round) -> str:
    """Which statement this is a pass of, by ``room/verb``; empty for any other."""
    return _NAMES.get((passed.text or "").partition("\n")[0], "")


class Passing:
    """One pass of a statement: who sent it, and whether anything more of it shall go through."""

    def __init__(self, pid: int, passed: Round) -> None:
        """A pass goes through unless it is cut."""
        self.pid = pid
        self.parameters = passed.parameters
        self.cut = False
        self.said = b""


Act = Callable[[Passing], object]


def kill(passing: Passing) -> None:
    """Kill -9 for the sender; what it has not sent is never sent."""
    os.kill(passing.pid, signal.SIGKILL)
    passing.cut = True


def freeze(passing: Passing) -> None:
    """SIGSTOP for the sender; use it with ``hold`` and release when it is thawed."""
    os.kill(passing.pid, signal.SIGSTOP)


def drop(passing: Passing) -> None:
    """End the connection: the sender never learns what came of it."""
    passing.cut = True


def warn(passing: Passing) -> None:
    """Let the commit come back with a warning, as a cancelled wait for a standby does."""
    words = "canceling wait for synchronous replication due to user request"
    fields = f"SWARNING\0VWARNING\0C01000\0M{words}\0\0".encode()
    passing.said = b"N" + struct.pack("!I", len(fields) + 4) + fields


def nothing(_: Passing) -> None:
    """Let it pass; for traps that count or hold."""


class Trap:
    """What happens at one pass of one statement."""

    def __init__(self, name: str, when: When, nth: int, act: Act, *, hold: bool, of: bytes) -> None:
        """Wait for the ``nth`` pass of the statement whose parameters hold ``of``."""
        self.name, self.when = name, when
        self.passed = 0
        self.met: Passing | None = None
        assert name in _NAMES.values(), f"there is no statement {name}"
        self._nth, self._act, self._hold, self._of = nth, act, hold, of
        self._released = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def strikes(self, passed: Round) -> bool:
        """Count a pass; whether it is the one."""
        if named(passed) != self.name or self._of not in passed.parameters:
            return False
        self.passed += 1
        return self.passed == self._nth

    async def spring(self, passing: Passing) -> None:
        """Act, and hold the pass where that was asked for."""
        self._loop = asyncio.get_running_loop()
        self._act(passing)
        self.met = passing
        stir()
        if self._hold:
            await self._released.wait()

    def wait_met(self, within: float = WITHIN) -> Passing:
        """Return once the statement has come for the ``nth`` time, and the act is done."""
        return until(lambda: self.met, f"pass {self._nth} of {self.name}", within)

    def release(self) -> None:
        """Let go on what is held."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._released.set)


class _Connection:
    """One connection through the proxy."""

    def __init__(
        self, proxy: Proxy, client: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    ) -> None:
        self._proxy = proxy
        self._reader, self._writer = client
        self._client = Client(*client)
        self._pid = _peer(self._writer)
        self._after: tuple[Trap, Passing] | None = None
        self._withheld = bytearray()
        self._asked: deque[str] = deque()
        self._sent = ""

    async def carry(self) -> None:
        """Carry messages both ways until one side is gone."""
        reader, server = await asyncio.open_unix_connection(  # noqa: TID251 - the test's server
            self._proxy.target
        )
        answers = asyncio.create_task(self._answers(reader))
        try:
            server.write(await self._client.startup())
            while await self._one_round(server):
                pass
            server.write_eof()  # what was sent whole is still done, as if nobody stood between
            await answers
        except (asyncio.IncompleteReadError, ConnectionError):
            await _ended(server, answers)
        finally:
            answers.cancel()
            server.close()
            self._writer.transport.abort()

    async def _one_round(self, server: asyncio.StreamWriter) -> bool:
        passed = await self._client.round()
        trap = self._proxy.trap_for(passed)
        self._sent = named(passed) or self._sent
        if passed.answered:
            self._asked.append(self._sent)
            self._sent = ""
        if trap is None:
            server.write(passed.raw)
            return True
        passing = Passing(self._pid, passed)
        if trap.when == "after":
            self._after = (trap, passing)
        if trap.when == "before":
            await trap.spring(passing)
        if passing.cut:
            self._writer.transport.abort()
            return False
        server.write(passed.raw)
        await server.drain()
        if trap.when == "during":
            await trap.spring(passing)
        if passing.cut:
            self._writer.transport.abort()
        return not passing.cut

    async def _answers(self, reader: asyncio.StreamReader) -> None:
        """The server's messages, as they come; those of a trapped round once they are whole."""
        try:
            while True:
                kind, _, message = await message_of(reader)
                if self._after is None:
                    self._pass_on(message)
                else:
                    self._withheld += message
                if kind == ord("Z"):
                    await self._whole()
        except (asyncio.IncompleteReadError, ConnectionError):
            self._writer.close()  # the server is gone: so is the client's connection

    async def _whole(self) -> None:
        """The server has answered a round, or is ready for the first."""
        if self._after is not None:
            await self._told(*self._after)
        if self._asked:
            self._proxy.answered[self._pid, self._asked.popleft()] += 1
            stir()

    async def _told(self, trap: Trap, passing: Passing) -> None:
        await trap.spring(passing)
        self._after = None
        if passing.cut:
            self._writer.transport.abort()
        else:
            self._pass_on(passing.said + bytes(self._withheld))
        self._withheld.clear()

    def _pass_on(self, message: bytes) -> None:
        if not self._writer.is_closing():  # a killed client hears nothing more
            self._writer.write(message)


async def _ended(server: asyncio.StreamWriter, answers: asyncio.Task[None]) -> None:
    """The client is gone: the server finishes what it was sent whole."""
    if not server.transport.is_closing():
        server.write_eof()
        await answers


def _peer(writer: asyncio.StreamWriter) -> int:
    credentials = writer.get_extra_info("socket").getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    return int(struct.unpack("3i", credentials)[0])


class Proxy:
    """A proxy in a thread of its own, before the server of a connection string."""

    def __init__(self, url: str) -> None:
        """``url`` leads to a unix socket, or to the default one of a port."""
        where = conninfo_to_dict(url)
        port = where.get("port") or "5432"
        self.target = f"{where['host']}/.s.PGSQL.{port}"
        self._folder = Path(tempfile.mkdtemp(prefix="proxy-"))
        self.url = make_conninfo(url, host=str(self._folder), port="5432")
        self.answered: Counter[tuple[int, str]] = Counter()
        self._traps: list[Trap] = []
        self._thread = LoopThread("pgproxy")
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def at(
        self,
        name: str,
        when: When,
        nth: int = 1,
        *,
        act: Act = nothing,
        hold: bool = False,
        of: bytes = b"",
    ) -> Trap:
        """Set a trap at the ``nth`` pass from now of a statement, by its ``room/verb``.

        ``hold`` keeps the pass until the trap is released; ``of`` counts only passes whose
        parameters hold these bytes, such as a job's id.
        """
        trap = Trap(name, when, nth, act, hold=hold, of=of)
        self._traps.append(trap)
        return trap

    def trap_for(self, passed: Round) -> Trap | None:
        """The first trap that this round springs; all that it concerns count it."""
        struck = [trap for trap in list(self._traps) if trap.strikes(passed)]
        return struck[0] if struck else None

    def wait_answered(self, pid: int, name: str, count: int = 1) -> None:
        """Return once a process has had so many answers to a statement, or will at once."""
        until(lambda: self.answered[pid, name] >= count, f"answer {count} to {name}")

    def clear(self) -> None:
        """Take all traps away and release what they hold."""
        traps, self._traps = self._traps, []
        for trap in traps:
            trap.release()

    async def _begin(self) -> None:
        path = str(self._folder / ".s.PGSQL.5432")
        self._server = await asyncio.start_unix_server(self._connected, path)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_Connection(self, (reader, writer)).carry())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def __enter__(self) -> Self:
        """Start it."""
        self._thread.start(self._begin, self._end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release what is held, end every connection."""
        self.clear()
        self._thread.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
