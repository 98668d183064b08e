"""The server's connections to the database: a few threads, each with one of its own.

Used by every endpoint.  Promises: no more connections than threads; nobody waits for one longer
than a few seconds; what may be repeated is repeated once when a connection turns out to be lost,
and what may not goes over a connection that has just proved itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tenure.base.errors import DatabaseUnavailable
from tenure.store import events
from tenure.store.database import Database

T = TypeVar("T")

SIZE = 8
_PATIENCE = 5.0  # seconds


class Connections:
    """Connections to one database, opened when first needed and again after they were lost."""

    def __init__(self, url: str, *, pooled: bool | None = None, size: int = SIZE) -> None:
        """Keep the address; ``pooled``: a transaction pooler is between."""
        self._url = url
        self._pooled = pooled
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="tenure-web")
        self._turns = asyncio.Semaphore(size)
        self._own = threading.local()
        self._opened: list[Database] = []

    async def run(self, act: Callable[[Database], T], *, repeatable: bool) -> T:
        """Do something with a connection, in its thread.

        ``repeatable``: doing it twice is doing it once.  Raises ``DatabaseUnavailable`` where the
        database does not answer, or every connection stays busy.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._turns.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(
                f"every connection to the database is busy ({_PATIENCE:g} s): none was to be had",
                hint="See what they wait for in pg_stat_activity.",
            ) from None
        loop = asyncio.get_running_loop()
        outcome = loop.run_in_executor(self._threads, self._carried_out, act, repeatable)
        # The turn ends with the act, not with the request: a caller who leaves takes no connection.
        outcome.add_done_callback(lambda _: self._turns.release())
        return await asyncio.shield(outcome)

    def _carried_out(self, act: Callable[[Database], T], repeatable: bool) -> T:  # noqa: FBT001 - run_in_executor passes by position
        database = self._database()
        if repeatable:
            return _twice(database, act)
        _twice(database, events.clock)
        return act(database)

    def _database(self) -> Database:
        own: Database | None = getattr(self._own, "database", None)
        if own is None:
            own = Database(self._url, name="tenure serve", pooled=self._pooled)
            self._own.database = own
            self._opened.append(own)
        return own

    def close(self) -> None:
        """Close every connection when what is under way has ended."""
        self._threads.shutdown()
        for database in self._opened:
            database.close()


def _twice(database: Database, act: Callable[[Database], T]) -> T:
    """Do it, and once more on a fresh connection where the one at hand was lost."""
    try:
        return act(database)
    except DatabaseUnavailable:
        return act(database)
