"""An emulated provider inside a test's own process: a real HTTP server on a thread of its own.

The face of this room: tests start it, point a provider's base address at ``url``, and read
``arrivals``, ``effects`` and ``peak``.  It listens on the loopback address only.  Stopped and
started again, it has the same port, ledger, keys and objects, as a provider has after an outage.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from tenure.base import clock as stopwatch
from tenure.testing.emulators import peaks
from tenure.testing.emulators.faults import Fault, Kind, Plan
from tenure.testing.emulators.ledger import Arrival, By, Effect, Record
from tenure.testing.emulators.provider import Provider
from tenure.testing.emulators.relay import Relay
from tenure.testing.emulators.service import Service
from tenure.testing.emulators.thread import LoopThread
from tenure.testing.emulators.wire import WatchedReader

if TYPE_CHECKING:
    from types import TracebackType

    from tenure.testing.emulators.gates import Gate, When
    from tenure.testing.emulators.profile import Profile
    from tenure.testing.emulators.rules import Limit


_BACKLOG = 1_024  # connections that a crowd may open before the first of them is taken


class Emulator:
    """A provider of the given profile, listening once started or entered."""

    def __init__(
        self,
        profile: Profile,
        *,
        latency: float = 0.0,
        jitter: float = 0.0,
        seed: int = 0,
        faults: tuple[Plan, ...] = (),
        distance: float = 0.0,
        skew: float = 0.0,
        port: int = 0,
        clock: Callable[[], float] = stopwatch.now,
    ) -> None:
        """Describe the provider; all times are seconds.

        Every answer waits ``latency`` and up to ``jitter`` more, drawn from ``seed`` in the order
        of arrival.  ``distance`` is how long bytes travel one way.  ``skew`` is by how much its
        wall clock is ahead.  ``clock`` is what its limits and keys live by.
        """
        provider = self._provider = Provider(profile, clock, seed=seed)
        provider.latency, provider.jitter, provider.skew = latency, jitter, skew
        for plan in faults:
            provider.faults.plan(plan)
        self._service = Service(provider)
        self._distance = distance
        self._near_port, self._far_port = (0, port) if distance > 0 else (port, 0)
        self._relay: Relay | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = LoopThread(f"emulator-{profile.name}")

    @property
    def profile(self) -> Profile:
        """The rules and words of the provider."""
        return self._provider.profile

    @property
    def port(self) -> int:
        """Where clients connect to; chosen by the system unless given, known once started."""
        return self._far_port if self._distance > 0 else self._near_port

    @property
    def url(self) -> str:
        """The base address of the provider."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def near_url(self) -> str:
        """The same provider without its distance."""
        return f"http://127.0.0.1:{self._near_port}"

    def start(self) -> Self:
        """Listen; returns itself."""
        self._thread.start(self._begin, self._end)
        return self

    def stop(self) -> None:
        """Listen no more and break every connection off; a provider that is down."""
        self._thread.stop()

    @property
    def ledger(self) -> Record:
        """All arrivals and effects up to now."""
        return self._provider.ledger.record()

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """Every request whose head came in whole, in order."""
        return self.ledger.arrivals

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Every change that took place, in order."""
        return self.ledger.effects

    @property
    def connections(self) -> int:
        """How many connections clients have opened so far."""
        return self.ledger.connections

    def duplicates(self, by: By | None = None) -> tuple[Effect, ...]:
        """Effects beyond the first of each key, or of each identity that ``by`` finds."""
        return self.ledger.duplicates() if by is None else self.ledger.duplicates(by)

    def peak(self, limit: Limit | None = None) -> int:
        """The most units that arrived in one window of the limit, refused ones included.

        Any limit may be asked about; None is the profile's first one.
        """
        limit = limit or self._provider.limiter.limits[0]
        return peaks.peak(limit, self.ledger)

    def fault(
        self,
        kind: Kind,
        path: str | None = None,
        *,
        method: str | None = None,
        times: int | None = 1,
        skip: int = 0,
        status: int | None = None,
        retry_after: float | None = None,
        delay: float = 0.0,
        reset: bool = False,
        body: str | None = None,
    ) -> Fault:
        """Let the next ``times`` matching requests, after ``skip`` others, meet a fault.

        The kinds are those of ``faults``; the other arguments are those of ``Plan``.
        """
        return self._provider.faults.plan(
            Plan(kind, path, method, times, skip, status, retry_after, delay, reset, body)
        )

    def clear_faults(self) -> None:
        """Let no more requests meet any fault."""
        self._provider.faults.clear()

    def hold(
        self, path: str | None = None, *, method: str | None = None, when: When = "before"
    ) -> Gate:
        """Hold the requests on a path, before or after their effect, until the gate is released."""
        return self._provider.hold(path, method, when)

    def wait_for(self, fact: Callable[[Record], bool], timeout: float = 10.0) -> Record:
        """Block until the fact holds of the ledger; ``NotSeen`` after ``timeout`` seconds."""
        return self._provider.ledger.wait_for(fact, timeout)

    def advance(self, seconds: float) -> None:
        """Move the emulator's clock ahead: windows empty and keys are forgotten at once."""
        self._provider.advance(seconds)

    def set_limits(self, *limits: Limit) -> None:
        """Enforce other limits from now on, with empty windows."""
        self._provider.set_limits(limits)

    def seed(self, path: str, fields: dict[str, object]) -> None:
        """Put an object at a path, as if it had been there before the test."""
        self._provider.store.put(path, fields)

    def object(self, path: str) -> dict[str, object] | None:
        """The object at a path as it is now; None where there is none."""
        return self._provider.store.get(path)

    def close_idle(self) -> None:
        """End the connections without a request under way, as providers do after a while."""
        self._thread.call(self._service.close_idle)

    async def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._protocol, "127.0.0.1", self._near_port, backlog=_BACKLOG
        )
        self._near_port = self._server.sockets[0].getsockname()[1]
        if self._distance > 0:
            self._relay = Relay(("127.0.0.1", self._near_port), self._distance)
            self._far_port = await self._relay.open(self._far_port)

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        reader = WatchedReader()
        return asyncio.StreamReaderProtocol(
            reader, lambda _, writer: self._connected(reader, writer)
        )

    def _connected(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._service.serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._relay is not None:
            await self._relay.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

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
