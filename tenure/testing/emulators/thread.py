"""An event loop in a thread of its own, for servers that run inside a test's process.

Used by ``Emulator`` and ``Distance``.  It promises that ``start`` returns once the server listens,
or raises what kept it from doing so, and that after ``stop`` nothing of it runs any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from tenure.testing.emulators.errors import EmulatorError, NotRunning

_STOP_WITHIN = 10.0  # seconds; only a callback that blocks the loop could take longer


class LoopThread:
    """Runs ``begin`` on a new event loop in a daemon thread, and ``end`` when stopped."""

    def __init__(self, name: str) -> None:
        """Stand ready under the name that the thread will bear."""
        self._name = name
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halt: asyncio.Event | None = None

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._thread is not None

    def start(
        self, begin: Callable[[], Awaitable[None]], end: Callable[[], Awaitable[None]]
    ) -> None:
        """Run ``begin`` in the thread and return when it is through; raises what it raised."""
        if self._thread is not None:
            raise EmulatorError(f"{self._name} is running already", hint="Stop it first.")
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main(begin, end, ready)), name=self._name, daemon=True
        )
        self._thread.start()
        try:
            ready.result()
        except BaseException:
            self._thread = None
            raise

    def stop(self) -> None:
        """Run ``end`` in the thread and wait for the thread; stopped already, do nothing."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._call(self._halt.set if self._halt else None)
        thread.join(_STOP_WITHIN)
        if thread.is_alive():
            raise NotRunning(
                f"{self._name} did not stop within {_STOP_WITHIN:g} s: its event loop is blocked",
                hint="Look for a clock or a listener of the test that does not return.",
            )

    def call(self, callback: Callable[[], object]) -> None:
        """Run the callback on the loop soon; raises ``NotRunning`` where there is none."""
        if self._thread is None:
            raise NotRunning(
                f"{self._name} is not running", hint="Start it, or use it as a context manager."
            )
        self._call(callback)

    def _call(self, callback: Callable[[], object] | None) -> None:
        if self._loop is not None and callback is not None:
            self._loop.call_soon_threadsafe(callback)

    async def _main(
        self,
        begin: Callable[[], Awaitable[None]],
        end: Callable[[], Awaitable[None]],
        ready: Future[None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._halt = asyncio.Event()
        try:
            await begin()
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits in start()
            ready.set_exception(error)
            return
        ready.set_result(None)
        await self._halt.wait()
        await end()
