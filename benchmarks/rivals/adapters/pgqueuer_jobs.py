"""PgQueuer over asyncpg and uvloop, with the autovacuum settings it recommends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

import asyncpg
import uvloop
from counting import Adapter, main
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries


class Jobs(Adapter):
    """Options: ``batch`` jobs a dequeue, ``dequeuers`` of them side by side."""

    async def setup(self) -> None:
        """Install, and set autovacuum as its own command does."""
        conn = await asyncpg.connect(self.url)
        queries = Queries(AsyncpgDriver(conn))
        await queries.install()
        await conn.execute(queries.qbe.build_optimize_autovacuum_query())
        await conn.close()

    async def enqueue(self, numbers: Sequence[int]) -> None:
        """One call for all."""
        conn = await asyncpg.connect(self.url)
        many = len(numbers)
        payloads = [str(n).encode() for n in numbers]
        await Queries(AsyncpgDriver(conn)).enqueue(["noop"] * many, payloads, [0] * many)
        await conn.close()

    async def work(
        self, handled: Callable[[], None], concurrency: int, stop: asyncio.Event
    ) -> None:
        """Several managers in one event loop."""
        batch = int(self.options["batch"])
        managers = []
        for _ in range(int(self.options["dequeuers"])):
            manager = PgQueuer(AsyncpgDriver(await asyncpg.connect(self.url)))

            @manager.entrypoint("noop")
            async def noop(job: object) -> None:
                del job
                handled()

            managers.append(manager)
        running = [
            asyncio.create_task(
                manager.run(
                    batch_size=batch,
                    max_concurrent_tasks=max(concurrency, 2 * batch),
                    dequeue_timeout=timedelta(seconds=30),
                )
            )
            for manager in managers
        ]
        await stop.wait()
        for manager in managers:
            manager.shutdown.set()
        await asyncio.gather(*running, return_exceptions=True)


if __name__ == "__main__":
    uvloop.install()
    main(Jobs)
