"""Old weeks are let go beside running jobs, and a long sleep forgets nothing."""

from __future__ import annotations

from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.rows import Rows
from tests.stories.conftest import Start

DAY = 86_400.0


def test_a_job_that_sleeps_ninety_days_runs_on(
    start: Start, rows: Rows, payments: Emulator, clock: Clock
) -> None:
    """Its week is let go under it; it remembers, sends nothing twice, and goes in its time."""
    job, brief = rows.enqueue("hibernate", Order(7)), rows.enqueue("stand", Order(1))
    start()
    rows.until(job, "waiting")
    rows.until(brief, "succeeded")
    for days in (40, 49):
        clock.advance(days * DAY)
        until(lambda: _no_week_is_over(rows), "old weeks are let go")
        assert not _kept(rows, brief)
        assert rows.job(job)["state"] == "waiting"
    clock.advance(2 * DAY)
    ended = rows.until(job, "succeeded")
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]
    assert ended["claim_count"] == 1
    assert {call["step"] for call in rows.calls(job)} == {"before", "after"}
    clock.advance(31 * DAY)
    until(lambda: not _kept(rows, job), "it is gone in its time")


def _no_week_is_over(rows: Rows) -> bool:
    old = "select name from tenure.weeks() where week < tenure.now() - interval '37 days'"
    return not rows.read(old)


def _kept(rows: Rows, job: object) -> bool:
    return bool(
        rows.read(
            "select id from tenure.all_jobs where id = %(id)s"
            " union all select job_id from tenure.inputs where job_id = %(id)s"
            " union all select job_id from tenure.steps where job_id = %(id)s"
            " union all select job_id from tenure.calls where job_id = %(id)s",
            id=job,
        )
    )
