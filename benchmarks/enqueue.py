"""What it costs to make jobs, one by one, many at once, by many writers; and how soon one starts.

Each writer commits every job by itself, as an application does.  ``nobody_idle`` is a worker that
has enough to do, ``one_idle`` the worst that can be: one that stays idle, so that each enqueue
calls it.  ``start`` is from the job's creation to its claim by a real worker that was idle.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator, Sequence
from typing import LiteralString

import psycopg

from benchmarks.ground import database, quantiles
from benchmarks.idle import start
from benchmarks.nothing import app
from tenure.base import clock
from tenure.store import automations, jobs, workers
from tenure.store.database import Database, Row

WRITERS = 16
_STUCK_SECONDS = 60.0
_SINGLE = "select from tenure.enqueue('nothing', %(n)s::text::json)"
_ALONE = (
    "select count(*) from generate_series(1, %(n)s) as n, tenure.enqueue('nothing', to_json(n))"
)


def measure(url: str, *, many: int = 10_000, starts: int = 40) -> dict[str, object]:
    """Jobs a second and WAL bytes a job; milliseconds until an idle worker has claimed one."""
    with database(url) as own:
        for automation in app.automations.values():
            automations.declare(own, automation.declared, by="bench")
        own.connect().execute("update tenure.automations set stage = 'live'")
        found: dict[str, object] = {}
        with _rated(own, found, "single", 2_000):
            for n in range(2_000):
                own.execute(_SINGLE, {"n": str(n)})
        with _rated(own, found, "single_in_one_transaction", 2_000), own.transaction():
            for n in range(2_000):
                own.execute(_SINGLE, {"n": str(n)})
        with _rated(own, found, "in_a_loop_of_sql", many):
            own.execute(_ALONE, {"n": many})
        batch = jobs.batch(jobs.wanted("nothing", ""), [str(n) for n in range(many)], None)
        with _rated(own, found, "many", many):
            jobs.enqueue_many(own, batch)
        keys = [f"key-{n}" for n in range(many)]
        keyed = jobs.batch(jobs.wanted("nothing", ""), [str(n) for n in range(many)], keys)
        with _rated(own, found, "many_with_keys", many):
            jobs.enqueue_many(own, keyed)
        found |= _crowded(own, many)
        own.execute("truncate tenure.jobs, tenure.inputs, tenure.dues, tenure.unique_keys")
        found["start"] = _starts(own, starts)
        return found


@contextlib.contextmanager
def _rated(own: Database, found: dict[str, object], name: str, count: int) -> Iterator[None]:
    before, began = _wal(own), clock.now()
    yield
    seconds = clock.now() - began
    found[name] = {
        "jobs_per_second": round(count / seconds),
        "wal_bytes_per_job": round((_wal(own) - before) / count),
    }


def _wal(own: Database) -> int:
    rows = own.execute("select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint as bytes")
    return int(rows[0]["bytes"])


def _crowded(own: Database, many: int) -> dict[str, object]:
    """Alternating rounds of writers while nobody, or somebody, is idle: the better of each."""
    worker = uuid.uuid4()
    workers.arrive(own, id=worker, host="bench", pid=1, kind="live", automations={"nothing": "v"})
    best = {"nobody_idle": 0, "one_idle": 0}
    for idle in (False, True) * 2:
        workers.rest(own, worker, idle=idle)
        workers.touch(own, worker)
        name = "one_idle" if idle else "nobody_idle"
        best[name] = max(best[name], round(many / _write(own.url, many // WRITERS)))
    workers.rest(own, worker, idle=False)
    return {f"writers_{WRITERS}_jobs_per_second": best}


def _write(url: str, each: int) -> float:
    ready = threading.Barrier(WRITERS + 1)

    def write() -> None:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(_SINGLE, {"n": "0"})
            ready.wait()
            for n in range(each):
                conn.execute(_SINGLE, {"n": str(n)})

    writers = [threading.Thread(target=write) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    ready.wait()
    began = clock.now()
    for writer in writers:
        writer.join()
    return clock.now() - began


def _starts(own: Database, count: int) -> dict[str, float]:
    worker = start(own.url)
    try:
        waits = []
        for n in range(count):
            _until(own, "select 1 from tenure.workers where idle and host <> 'bench'")
            job = own.execute(
                "select job_id from tenure.enqueue('nothing', %(n)s::text::json)", {"n": str(n)}
            )[0]["job_id"]
            text = (
                "select extract(epoch from claimed_at - created_at)::float as waited"
                " from tenure.finished_jobs where id = %(id)s"
            )
            waits.append(_until(own, text, id=job)[0]["waited"])
        return quantiles(waits)
    finally:
        worker.terminate()
        worker.communicate()


def _until(own: Database, text: LiteralString, **values: object) -> Sequence[Row]:
    deadline = clock.now() + _STUCK_SECONDS
    while not (rows := own.execute(text, values)):
        if clock.now() > deadline:
            raise RuntimeError("the worker does nothing")
        own.execute("select pg_sleep(0.005)")
    return rows
