"""What belongs to a job ends with it: the author's own, and connections of an ORM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenure.store.database import Database
from tests.kit.facts import until
from tests.kit.rows import Rows
from tests.kit.worker import Worker

_SLOTS = 5


@pytest.fixture
def rows(database: Database) -> Rows:
    """The test's database."""
    return Rows(database)


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """Where what is called after a job says so."""
    return tmp_path / "said"


@pytest.fixture
def begin(database_url: str, rows: Rows) -> Iterator[Callable[..., Worker]]:
    """Starts the worker of a test, with its automations live."""
    workers: list[Worker] = []

    def begun(environ: dict[str, str] | None = None) -> Worker:
        worker = Worker(
            database_url, "tests.worker.with_orm:app", environ=environ, concurrency=_SLOTS
        )
        workers.append(worker.start())
        worker.wait_ready()
        rows.read("update tenure.automations set stage = 'live' returning name")
        return worker

    yield begun
    for worker in workers:
        worker.__exit__(None, None, None)


def _open(rows: Rows, name: str) -> int:
    found = rows.one(
        "select count(*) as n from pg_stat_activity"
        " where datname = current_database() and application_name = %(name)s",
        name=name,
    )
    return int(found["n"])


@pytest.mark.parametrize(
    ("automation", "name", "count"),
    [
        ("threaded", "orm", 1000),
        ("stepping", "orm", 20),
        ("awaiting", "orm", 20),
        ("session", "alchemy", 50),
    ],
)
def test_no_connection_of_an_orm_outlives_its_job(
    begin: Callable[..., Worker], rows: Rows, automation: str, *, name: str, count: int
) -> None:
    """A thousand jobs over Django, or over a thread's session: as many threads as slots, and none
    of their connections is left.
    """
    begin()
    rows.read(
        "select tenure.enqueue(%(name)s, n::text::json) from generate_series(1, %(count)s) as n",
        name=automation,
        count=count,
    )
    assert rows.until_ended(count, within=100.0) == {"succeeded": count}
    until(lambda: not _open(rows, name), "no connection is left")
    results = {row["result"] for row in rows.read("select result from tenure.finished_jobs")}
    assert len(results) <= _SLOTS or automation in {"stepping", "awaiting"}
    assert len(results) > 1 or automation != "awaiting"


@pytest.mark.parametrize("automation", ["ends", "ends_awaited"])
def test_it_is_called_after_each_run_however_it_ended(
    begin: Callable[..., Worker], rows: Rows, said: Path, automation: str
) -> None:
    """In the handler's thread or task, once a run; what it raises is logged and harms no job."""
    worker = begin({"KIT_SAID": str(said)})
    ways = {"succeed": "succeeded", "fail": "failed", "nap": "waiting"}
    jobs = {way: rows.enqueue(automation, way) for way in ways}
    for way, state in ways.items():
        assert rows.until(jobs[way], "succeeded", "failed", "waiting")["state"] == state
    thread = "ends {}" if automation == "ends" else "MainThread"
    called = [f"{thread.format(job)} after {job}" for job in jobs.values()]
    awaited = [f"loop after {job}" for job in jobs.values()]
    assert sorted(said.read_text().splitlines()) == sorted([*called, *awaited])
    until(lambda: worker.said("leave failed after a job"), "it is logged")
    assert worker.stop() == 0
