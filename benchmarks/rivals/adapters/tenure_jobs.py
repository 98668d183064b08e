"""Tenure, as ``tenure worker`` runs one process of live jobs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from counting import Adapter, main

from tenure import Context, Tenure
from tenure.base import settings
from tenure.store import automations, migrate
from tenure.store.database import Database
from tenure.worker.process import Process

_ENQUEUE = """
    select count(*) from (
        select (tenure.enqueue('noop', to_json(n))).job_id from unnest(%(numbers)b::int8[]) as n
    ) as made
"""


def _application(handled: Callable[[], None], concurrency: int) -> Tenure:
    app = Tenure()

    @app.automation
    async def noop(ctx: Context, n: int) -> None:
        del ctx, n
        handled()

    given = {"concurrency": concurrency}
    app.use(settings.load(given, environ=dict(os.environ), directory=Path.cwd()))
    return app


class Jobs(Adapter):
    """Claims with leases, heartbeats, fenced ends; finished rows are kept."""

    async def setup(self) -> None:
        """Migrate, declare, go live."""
        database = Database(self.url)
        migrate.migrate(database)
        for automation in _application(lambda: None, 1).automations.values():
            automations.declare(database, automation.declared, by="benchmark")
        database.connect().execute("update tenure.automations set stage = 'live'")
        database.close()

    async def enqueue(self, numbers: Sequence[int]) -> None:
        """One statement for all."""
        database = Database(self.url)
        database.connect().execute(_ENQUEUE, {"numbers": list(numbers)})
        database.close()

    async def work(
        self, handled: Callable[[], None], concurrency: int, stop: asyncio.Event
    ) -> None:
        """One process of live jobs."""
        app = _application(handled, concurrency)
        process = Process(app, url=self.url, kind="live", live=True, aside=lambda: None)
        running = asyncio.create_task(process.run(lambda: None))
        await stop.wait()
        process.stop()
        await running


if __name__ == "__main__":
    main(Jobs)
