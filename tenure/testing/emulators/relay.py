"""Distance: a TCP relay that makes whatever stands behind it seem far away.

Used by emulators with a ``distance`` and by tests, in front of anything that speaks TCP.  Every
chunk leaves ``one_way`` seconds after it came, in order, in both directions; a connection is taken
at once, as the system does that itself, but nothing reaches the other side before that time.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from tenure.testing.emulators.thread import LoopThread

if TYPE_CHECKING:
    from types import TracebackType

_CHUNK = 65_536
_UNDER_WAY = 1_024  # chunks in one direction, before the sender is slowed down as by a full pipe

_Chunk = tuple[float, "bytes | None"]  # when it is due, and bytes, or b"" for FIN, None for RST


class Relay:
    """The relay on an event loop; ``Distance`` gives it a thread."""

    def __init__(
        self, target: tuple[str, int], one_way: float, *, jitter: float = 0.0, seed: int = 0
    ) -> None:
        """Stand ready in front of the target; ``jitter`` is added to a chunk, at most, by lot."""
        self.one_way = one_way
        self.jitter = jitter
        self._target = target
        self._random = random.Random(seed)  # noqa: S311 - a test's lot, the same every time
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._whole = asyncio.Event()
        self._whole.set()

    async def open(self, port: int = 0) -> int:
        """Listen on the loopback address; returns the port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        """Listen no more and end every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Let nothing through: what comes is kept, nobody is told."""
        self._whole.clear()

    def mend(self) -> None:
        """Let everything through again, what was kept first."""
        self._whole.set()

    def sever(self) -> None:
        """End every connection there is, in both directions, at once."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            await self._carried(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _carried(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        outward: asyncio.Queue[_Chunk] = asyncio.Queue(_UNDER_WAY)
        listening = asyncio.create_task(self._listen(reader, outward))
        far: asyncio.StreamWriter | None = None
        try:
            await self._until(asyncio.get_running_loop().time() + self.one_way)
            far_reader, far = await asyncio.open_connection(  # noqa: TID251 - a relay has two ends
                *self._target
            )
            self._writers.add(far)
            inward: asyncio.Queue[_Chunk] = asyncio.Queue(_UNDER_WAY)
            await asyncio.gather(
                self._speak(far, outward),
                self._listen(far_reader, inward),
                self._speak(writer, inward),
            )
        except OSError:
            pass  # the far side is not there or broke off; closing the near one tells the client
        finally:
            listening.cancel()
            if far is not None:
                self._writers.discard(far)
                far.transport.abort()

    async def _listen(self, reader: asyncio.StreamReader, queue: asyncio.Queue[_Chunk]) -> None:
        """Stamp every chunk with the time at which it is due on the other side."""
        loop = asyncio.get_running_loop()
        chunk: bytes | None = b"-"
        while chunk:
            try:
                chunk = await reader.read(_CHUNK)
            except OSError:
                chunk = None
            delay = self.one_way + self._random.uniform(0.0, self.jitter)
            # A later chunk with an earlier time waits in the queue: order goes before punctuality.
            await queue.put((loop.time() + delay, chunk))

    async def _speak(self, writer: asyncio.StreamWriter, queue: asyncio.Queue[_Chunk]) -> None:
        """Write every chunk when it is due."""
        while True:
            due, chunk = await queue.get()
            await self._until(due)
            if chunk is None:
                writer.transport.abort()
                return
            if not chunk:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(chunk)
            await writer.drain()

    async def _until(self, due: float) -> None:
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
        await self._whole.wait()


class Distance:
    """A relay in a thread of its own, in front of a URL or of a (host, port) pair."""

    def __init__(
        self,
        target: str | tuple[str, int],
        one_way: float,
        *,
        jitter: float = 0.0,
        seed: int = 0,
        port: int = 0,
    ) -> None:
        """Stand ready; seconds are one way, so an answer takes twice as long."""
        self._target = _place(target) if isinstance(target, str) else target
        self._one_way, self._jitter, self._seed = one_way, jitter, seed
        self.port = port
        self._thread = LoopThread(f"distance-{one_way:g}")
        self._relay: Relay | None = None

    @property
    def url(self) -> str:
        """Where clients connect to; known once started."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Listen; returns itself."""
        self._thread.start(self._begin, self._end)
        return self

    def stop(self) -> None:
        """Listen no more and end every connection."""
        self._thread.stop()

    def cut(self) -> None:
        """Let nothing through, and tell nobody: a cable pulled out."""
        self._thread.call(self._running().cut)

    def mend(self) -> None:
        """Let everything through again, what was kept first."""
        self._thread.call(self._running().mend)

    def sever(self) -> None:
        """End every connection there is at once."""
        self._thread.call(self._running().sever)

    def _running(self) -> Relay:
        if self._relay is None:
            self._thread.call(lambda: None)  # raises what there is to say
            raise AssertionError("a running relay is there")
        return self._relay

    async def _begin(self) -> None:
        relay = Relay(self._target, self._one_way, jitter=self._jitter, seed=self._seed)
        self.port = await relay.open(self.port)
        self._relay = relay

    async def _end(self) -> None:
        if self._relay is not None:
            await self._relay.close()

    def __enter__(self) -> Self:
        """Start, if that was not done."""
        return self if self._thread.running else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80
