"""Waiting is free: a wait beyond a moment costs no attempt, no worker slot, no connection."""

from __future__ import annotations

import pytest

from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.rows import Rows
from tests.stories.conftest import Start

_NINETY_DAYS = 90 * 86_400.0
_OURS = """
    select pid from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()
       and backend_type = 'client backend'
"""


def test_a_job_sleeps_ninety_days_and_remembers(
    start: Start, rows: Rows, clock: Clock, payments: Emulator
) -> None:
    """It holds nothing meanwhile, and goes on where it stopped with what it knew."""
    job = rows.enqueue("hibernate", Order(8))
    worker = start(concurrency=1)
    waiting = rows.until(job, "waiting")
    assert waiting["waiting_on"]["why"] == "sleep"
    assert waiting["worker_id"] is None
    clock.advance(_NINETY_DAYS)
    ended = rows.until(job, "succeeded")
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]
    assert payments.effects[1].body == f"charge={ended['result']}"
    assert (ended["failure_count"], ended["crash_count"], ended["deferral_count"]) == (0, 0, 1)
    assert ended["fence"] == 2
    later = rows.enqueue("charge", Order(1))
    rows.until(later, "succeeded")
    assert worker.stop() == 0


def test_a_hundred_sleepers_hold_no_slot_and_no_connection(start: Start, rows: Rows) -> None:
    """One slot is enough for a hundred jobs that wait, and the next job goes right through."""
    rows.read("select tenure.enqueue('nap', '{\"n\": 1}') from generate_series(1, 100)")
    start(concurrency=1)
    until(lambda: rows.states() == {"waiting": 100}, "all of them wait", 60.0)
    connections = len(rows.read(_OURS))
    job = rows.enqueue("stand", Order(4))
    rows.until(job, "succeeded")
    assert len(rows.read(_OURS)) == connections < 15
    assert rows.read(
        "select distinct failure_count, crash_count, deferral_count, worker_id from tenure.jobs"
    ) == [{"failure_count": 0, "crash_count": 0, "deferral_count": 1, "worker_id": None}]


def test_a_throttle_for_an_hour_costs_no_attempt_and_stops_nobody_else(
    start: Start, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """The lane is closed until then for all workers; jobs of other lanes go on."""
    crm.fault("throttle", path="/deals", retry_after=3600.0)
    jobs = [rows.enqueue("deal", Order(n)) for n in range(3)]
    start(concurrency=1)
    until(lambda: rows.states() == {"waiting": 3}, "all wait for the provider")
    other = rows.enqueue("charge", Order(1))
    rows.until(other, "succeeded")
    assert rows.states() == {"waiting": 3, "succeeded": 1}
    assert len(crm.arrivals) == 1
    clock.advance(3601.0)
    assert rows.until_ended(4) == {"succeeded": 4}
    assert (len(crm.effects), crm.duplicates()) == (6, ())
    assert {rows.job(job)["failure_count"] for job in jobs} == {0}


@pytest.mark.parametrize(("seconds", "deferrals"), [(0.3, 0), (30.0, 1)])
def test_a_moment_is_slept_on_the_lease_and_anything_longer_is_handed_back(
    start: Start, rows: Rows, clock: Clock, seconds: float, deferrals: int
) -> None:
    """Up to max_inline_wait a wait keeps its claim; beyond, it is a deferral at no cost."""
    job = rows.enqueue("doze", seconds)
    start(max_inline_wait=2.0)
    if deferrals:
        rows.until(job, "waiting")
        clock.advance(seconds)
    ended = rows.until(job, "succeeded")
    assert (ended["deferral_count"], ended["failure_count"]) == (deferrals, 0)
    assert ended["claim_count"] == 1
