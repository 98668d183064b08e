"""Awa with its queue-storage engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import awa
from counting import Adapter, main


@dataclass
class Noop:
    """Does nothing."""

    i: int


class Jobs(Adapter):
    """One queue, twenty connections."""

    def __init__(self, url: str, options: dict[str, str]) -> None:
        """Its driver wants a host beside the socket's folder, which then counts."""
        super().__init__(url.replace("@/", "@localhost/"), options)

    async def setup(self) -> None:
        """Install, and choose the engine as a fresh installation does."""
        client = awa.AsyncClient(self.url)
        await client.migrate()
        transaction = await client.transaction()
        await transaction.fetch_one("select awa.storage_auto_finalize_if_fresh('awa')")
        await transaction.commit()
        await client.close()

    async def enqueue(self, numbers: Sequence[int]) -> None:
        """One call for all."""
        client = awa.AsyncClient(self.url, max_connections=2)
        await client.enqueue_many_copy([Noop(n) for n in numbers], queue="q")
        await client.close()

    async def work(
        self, handled: Callable[[], None], concurrency: int, stop: asyncio.Event
    ) -> None:
        """One process."""
        client = awa.AsyncClient(self.url, max_connections=20)

        @client.task(Noop, queue="q")
        async def noop(job: object) -> None:
            del job
            handled()

        await client.start([("q", concurrency)])
        await stop.wait()
        await client.shutdown(timeout_ms=2000)


if __name__ == "__main__":
    main(Jobs)
