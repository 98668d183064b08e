"""Oban for Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import psycopg
from counting import Adapter, main
from oban import Oban, worker
from oban.schema import install_sql

_told: list[Callable[[], None]] = []


@worker(queue="q")
class Noop:
    """Does nothing."""

    async def process(self, job: object) -> None:
        """Say that it was here."""
        del job
        _told[0]()


class Jobs(Adapter):
    """One queue."""

    async def setup(self) -> None:
        """Install."""
        async with await psycopg.AsyncConnection.connect(self.url) as conn:
            await conn.execute(install_sql())

    async def enqueue(self, numbers: Sequence[int]) -> None:
        """One call for all."""
        pool = await Oban.create_pool(dsn=self.url, min_size=1, max_size=2)
        await Oban(pool=pool).enqueue_many(*[Noop.new({"i": n}) for n in numbers])
        await pool.close()

    async def work(
        self, handled: Callable[[], None], concurrency: int, stop: asyncio.Event
    ) -> None:
        """One process."""
        _told.append(handled)
        pool = await Oban.create_pool(dsn=self.url, min_size=2, max_size=10)
        async with Oban(pool=pool, queues={"q": concurrency}):
            await stop.wait()


if __name__ == "__main__":
    main(Jobs)
