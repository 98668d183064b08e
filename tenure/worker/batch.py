"""Batches: what many jobs ask of the database, in few statements.

Used for everything a worker process writes.  A thread with a connection of its own takes all that
waits, runs one statement for it and answers each; what comes meanwhile rides on the next.
Promises: nothing waits for a timer; things of different keys do not wait for each other; an outage
is waited out and nothing that was put in is lost; a batch that fails is tried one by one, so that a
bad item harms itself alone.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from tenure.base.errors import DatabaseUnavailable
from tenure.store.database import Busy, Database, Unknown

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Waiter = tuple[Item, "asyncio.Future[Answer]"]

log = logging.getLogger("tenure.worker")

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0


def _no_key(_: object) -> Hashable:
    return None


class _Again:
    """What is locked by somebody else's open transaction: it waits, and nobody waits for it."""


class Batches(Generic[Item, Answer]):
    """Batches of one kind, run by threads with a connection each."""

    def __init__(
        self,
        name: str,
        url: str,
        act: Callable[[Database, list[Item]], Sequence[Answer]],
        *,
        pooled: bool | None = None,
        key: Callable[[Item], Hashable] = _no_key,
        threads: int = 1,
        limit: int = 100,
    ) -> None:
        """``act`` answers items of one key, in their order; at most ``limit`` at once."""
        self._name = name
        self._act = act
        self._key = key
        self._limit = limit
        self._waiting: OrderedDict[Hashable, deque[Waiter[Item, Answer]]] = OrderedDict()
        self._under_way: set[Hashable] = set()
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._work,
                args=(Database(url, name=f"tenure {name}", pooled=pooled),),
                name=f"tenure-{name}-{n}",
                daemon=True,
            )
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def put(self, item: Item) -> Answer:
        """Put an item in and wait for its answer."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._changed:
            self._waiting.setdefault(self._key(item), deque()).append((item, future))
            self._changed.notify()
        return await future

    def stop(self, seconds: float) -> None:
        """Finish what is in and end the threads; what an outage keeps in after that is given up."""
        with self._changed:
            self._stopped.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(seconds)

    def _work(self, database: Database) -> None:
        while (taken := self._take()) is not None:
            key, batch = taken
            try:
                answers = self._answered(database, [item for item, _ in batch])
            except Exception as error:  # noqa: BLE001 - told to whoever waits, below
                self._deliver([(future, error) for _, future in batch])
            else:
                self._told(batch, answers)
            finally:
                with self._changed:
                    self._under_way.discard(key)
                    self._changed.notify()
        database.close()

    def _told(
        self, batch: list[Waiter[Item, Answer]], answers: list[Answer | Exception | _Again]
    ) -> None:
        """Answer those that have one; what is locked by somebody comes again, behind the others."""
        said: list[tuple[asyncio.Future[Answer], Answer | Exception]] = []
        for waiter, answer in zip(batch, answers, strict=True):
            if isinstance(answer, _Again):
                with self._changed:
                    self._waiting[(_Again, id(waiter))] = deque([waiter])
            else:
                said.append((waiter[1], answer))
        self._deliver(said)

    def _take(self) -> tuple[Hashable, list[Waiter[Item, Answer]]] | None:
        """The next key's items, first come first served; None when stopped and empty."""
        with self._changed:
            while True:
                key = next((k for k in self._waiting if k not in self._under_way), _NOTHING)
                if key is not _NOTHING:
                    queue = self._waiting[key]
                    batch = [queue.popleft() for _ in range(min(len(queue), self._limit))]
                    if queue:
                        self._waiting.move_to_end(key)
                    else:
                        del self._waiting[key]
                    self._under_way.add(key)
                    return key, batch
                if self._stopped.is_set():
                    return None
                self._changed.wait()

    def _answered(self, database: Database, items: list[Item]) -> list[Answer | Exception | _Again]:
        """Answers for all, however long the database is away; a bad item harms itself alone."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return list(self._act(database, items))
            except (Unknown, DatabaseUnavailable) as error:
                if self._stopped.is_set():
                    raise
                if isinstance(error, DatabaseUnavailable):
                    database.close()
                log.warning("%s waits for the database: %s", self._name, error)
            except Exception as error:  # noqa: BLE001 - each to whom it belongs
                if len(items) > 1:
                    return [self._answered(database, [item])[0] for item in items]
                return [self._alone(error)]
            self._stopped.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _alone(self, error: Exception) -> Exception | _Again:
        """What one item gets that could not be done: another turn where somebody locks its row."""
        if isinstance(error, Busy) and not self._stopped.is_set():
            log.info("%s finds a row locked: %s", self._name, error)
            return _Again()
        return error

    def _deliver(
        self, answers: Sequence[tuple[asyncio.Future[Answer], Answer | Exception]]
    ) -> None:
        if not answers:
            return
        loop = answers[0][0].get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(_set, answers)


class _Nothing:
    """No key at all; None is one."""


_NOTHING = _Nothing()


def _set(answers: Sequence[tuple[asyncio.Future[Answer], Answer | Exception]]) -> None:
    for future, answer in answers:
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
