"""The threads in which ``def`` handlers run: as many as a process has slots, and no more.

Used by the runner.  Promises: a thread is started when none is idle, and is used again and again;
it is named after the job that it runs; none of them keeps its process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_IDLE = "tenure-idle"


class Threads:
    """The threads of one process."""

    def __init__(self, most: int) -> None:
        """None is started yet; whoever asks for more than ``most`` at once waits for one."""
        self._most = most
        self._count = 0
        self._idle = threading.Semaphore(0)
        self._acts: SimpleQueue[tuple[str, Callable[[], None]]] = SimpleQueue()

    def run(self, name: str, act: Callable[[], T]) -> asyncio.Future[T]:
        """Run something in a thread of that name; the asking event loop hears of its end."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()

        def acted() -> None:
            try:
                future.set_result(act())
            except BaseException as error:  # noqa: BLE001 - told to whoever waits for it
                future.set_exception(error)

        self._acts.put((name, acted))
        if not self._idle.acquire(blocking=False) and self._count < self._most:
            self._count += 1
            # A daemon: what an author's code waits for must not keep the process from ending.
            threading.Thread(target=self._work, name=_IDLE, daemon=True).start()
        return asyncio.wrap_future(future)

    def _work(self) -> None:
        thread = threading.current_thread()
        while True:
            name, act = self._acts.get()
            thread.name = name
            act()
            del act
            thread.name = _IDLE
            self._idle.release()
