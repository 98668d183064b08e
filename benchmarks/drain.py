"""How many jobs that do nothing one worker process gets through, claim and settle included."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psycopg

from benchmarks.ground import database, postmaster, processor_seconds
from benchmarks.nothing import ENQUEUE, app
from tenure import Tenure
from tenure.base import clock, settings
from tenure.store import automations
from tenure.worker.process import Process


def measure(url: str, *, jobs: int = 20_000) -> dict[str, object]:
    """Jobs a second, and processor seconds for a thousand of them on either side."""
    with database(url) as own:
        app.use(settings.load({"concurrency": 100}, environ=dict(os.environ), directory=Path.cwd()))
        for automation in app.automations.values():
            automations.declare(own, automation.declared, by="bench")
        conn = own.connect()
        conn.execute("update tenure.automations set stage = 'live'")
        conn.execute(ENQUEUE, {"jobs": jobs})
        conn.execute("vacuum analyze tenure.jobs")
        server = postmaster(own)
        before, mine, began = processor_seconds(server), os.times(), clock.now()
        asyncio.run(_drain(app, own.url))
        seconds, now = clock.now() - began, os.times()
        client = now.user + now.system - mine.user - mine.system
        return {
            "jobs": jobs,
            "jobs_per_second": round(jobs / seconds),
            "client_cpu_s_per_1000": round(client / jobs * 1000, 3),
            "server_cpu_s_per_1000": round((processor_seconds(server) - before) / jobs * 1000, 3),
        }


async def _drain(app: Tenure, url: str) -> None:
    process = Process(app, url=url, kind="live", live=True, aside=lambda: None)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(process.run(lambda: None))
    watcher = asyncio.create_task(asyncio.to_thread(_watch, url, loop, done))
    await done.wait()
    process.stop()
    await asyncio.gather(running, watcher)


def _watch(url: str, loop: asyncio.AbstractEventLoop, done: asyncio.Event) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        left = True
        while left:
            row = conn.execute("select exists (select from tenure.jobs), pg_sleep(0.05)").fetchone()
            left = bool(row and row[0])
    loop.call_soon_threadsafe(done.set)
