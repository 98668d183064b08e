"""An idle worker is woken by what is committed for it, and finds it by itself where it is not."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest

from tests.kit.facts import until
from tests.kit.rows import Rows
from tests.kit.worker import Worker

# So long that no job of a test was found by looking.
_NEVER = 60.0
# What a test may take on a machine that has other things to do; the benchmark has the measure.
_SOON = 0.5


def _idle(rows: Rows) -> Callable[[], bool]:
    return lambda: bool(rows.read("select id from tenure.workers where idle"))


def test_an_idle_worker_starts_a_job_as_soon_as_it_is_committed(
    rows: Rows, database_url: str
) -> None:
    """Long before it would have looked."""
    waits = []
    with Worker(database_url, poll=_NEVER) as worker:
        worker.wait_ready()
        for _ in range(5):
            until(_idle(rows), "the worker is idle")
            job = rows.until(rows.enqueue("doze", 0), "succeeded")
            waits.append((job["claimed_at"] - job["created_at"]).total_seconds())
    assert statistics.median(waits) < _SOON


def test_a_job_committed_while_it_goes_to_rest_is_not_overlooked(
    rows: Rows, database_url: str
) -> None:
    """Between its last look and its word that it is idle nobody would call: it looks once more."""
    with Worker(database_url, poll=_NEVER) as worker:
        worker.wait_ready()
        for _ in range(30):
            rows.until(rows.enqueue("doze", 0), "succeeded")


@pytest.mark.parametrize("between", ["none", "transaction"])
def test_nothing_relies_on_the_call(rows: Rows, database_url: str, between: str) -> None:
    """Behind a pooler nobody listens; where nobody calls, a worker looks once in a poll."""
    with Worker(database_url, poll=0.2, environ={"TENURE_POOLER": between}) as worker:
        worker.wait_ready()
        until(_idle(rows), "the worker is idle")
        made = rows.one(
            "select (tenure.enqueue('doze', '0')).job_id"
            " from set_config('tenure.wake', 'off', true) as declined"
        )
        rows.until(made["job_id"], "succeeded")


def test_it_listens_again_after_its_connection_was_lost(rows: Rows, database_url: str) -> None:
    """A new connection hears calls as the first one did."""
    with Worker(database_url, poll=_NEVER) as worker:
        worker.wait_ready()
        until(_idle(rows), "the worker is idle")
        rows.read(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'tenure claim' and datname = current_database()"
        )
        until(lambda: worker.said("claiming waits for the database"), "it has noticed")
        rows.read("update tenure.workers set idle = false returning id")
        until(_idle(rows), "the worker is idle again")
        rows.until(rows.enqueue("doze", 0), "succeeded")
