"""Gates: places where requests stand still until a test lets them go.

Opened by ``Emulator.hold`` and by hanging faults.  Tests release from their own threads; requests
wait on the emulator's event loop.  A gate shares the ledger's condition, so whoever waits for a
fact also sees requests reach it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Literal, Self

from tenure.testing.emulators.errors import NotSeen
from tenure.testing.emulators.rules import covers

if TYPE_CHECKING:
    from types import TracebackType

    from tenure.testing.emulators.ledger import Ledger
    from tenure.testing.emulators.message import Head

When = Literal["before", "after"]

_Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[bool]"]


class Gate:
    """Holds requests on a path, ``before`` or ``after`` their effect, until released.

    As a context manager it releases all at its end.  A client that gives up does not take its
    request away: as at a slow provider, the effect comes when the gate opens.
    """

    def __init__(
        self, ledger: Ledger, path: str | None, method: str | None = None, when: When = "before"
    ) -> None:
        """Stand closed on the path; None is every path, every method."""
        self.path = path
        self.method = method
        self.when = when
        self.arrived = 0
        self._ledger = ledger
        self._open = False
        self._waiters: deque[_Waiter] = deque()

    @property
    def waiting(self) -> int:
        """How many requests stand at the gate now."""
        return len(self._waiters)

    def concerns(self, head: Head) -> bool:
        """Whether this request must pass here."""
        return self.method in (None, head.method) and covers(self.path, head.path)

    def release(self, count: int | None = None) -> None:
        """Let ``count`` waiting requests go, oldest first; None opens the gate for good."""
        with self._ledger.changed:
            self._open = self._open or count is None
            for _ in range(len(self._waiters) if count is None else count):
                if not self._waiters:
                    break
                loop, waiter = self._waiters.popleft()
                loop.call_soon_threadsafe(_wake, waiter)
            self._ledger.touch()

    def wait_arrived(self, count: int = 1, timeout: float = 10.0) -> None:
        """Block until ``count`` requests in all have reached the gate; raises ``NotSeen``."""
        with self._ledger.changed:
            if not self._ledger.changed.wait_for(lambda: self.arrived >= count, timeout):
                raise never_arrived(self.path, self.arrived, count, timeout)

    async def passed(self, gone: asyncio.Event | None = None) -> bool:
        """Wait on the event loop until let go; False if ``gone``, the client leaving, is first."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        with self._ledger.changed:
            self.arrived += 1
            self._ledger.touch()
            if self._open:
                return True
            self._waiters.append((loop, waiter))
        watch = None if gone is None else loop.create_task(_left(gone, waiter))
        try:
            return await waiter
        finally:
            if watch is not None:
                watch.cancel()
            with self._ledger.changed:
                if (loop, waiter) in self._waiters:
                    self._waiters.remove((loop, waiter))

    def __enter__(self) -> Self:
        """The gate itself, closed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Open for good, whatever happened."""
        self.release()


def never_arrived(path: str | None, arrived: int, count: int, timeout: float) -> NotSeen:
    """The error of a wait at a gate that came to nothing."""
    return NotSeen(
        f"{arrived} of {count} requests reached the gate at {path or 'any path'} in {timeout:g} s",
        hint="Look at the emulator's arrivals: was the request sent, and to this path?",
    )


def _wake(waiter: asyncio.Future[bool]) -> None:
    if not waiter.done():
        waiter.set_result(True)


async def _left(gone: asyncio.Event, waiter: asyncio.Future[bool]) -> None:
    await gone.wait()
    if not waiter.done():
        waiter.set_result(False)
