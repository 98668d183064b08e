"""A lease and a time limit of an automation's own, from its declaration to its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tenure import Backoff, Context, Tenure
from tenure.base import leases
from tenure.base.errors import ConfigurationError
from tenure.testing.emulators import Emulator
from tests.kit import bounded
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker
from tests.stories.conftest import Start

_APP = "tests.kit.bounded:app"


@pytest.fixture
def rows(rows: Rows) -> Rows:
    """With the automations that have settings of their own."""
    rows.declare(bounded.app)
    return rows


@pytest.fixture
def begin(database_url: str, crm: Emulator, meeting: Meeting) -> Iterator[Start]:
    """Starts workers that know those; ends them all."""
    environ = {**providers(crm=crm.url), **meeting.environ}
    with ExitStack() as stack:

        def begun(**settings: float) -> Worker:
            worker = Worker(database_url, _APP, environ=environ, settings=settings)
            return stack.enter_context(worker)

        yield begun


def _left(rows: Rows, job: object) -> float:
    """Seconds of lease after the latest beat."""
    row = rows.one(
        "select extract(epoch from leased_until - heartbeat_at)::float8 as left"
        " from tenure.jobs where id = %(id)s",
        id=job,
    )
    return float(row["left"])


def test_each_claim_has_the_lease_of_its_automation(
    begin: Start, rows: Rows, meeting: Meeting
) -> None:
    """Claimed together, beaten each in its own time, one shorter and one longer than the worker's.

    The worker's own beat comes every minute: what is renewed earlier is renewed by the rule.
    """
    jobs = {name: rows.enqueue(name, Order(1, name)) for name in ("brief", "lasting")}
    begin(lease=200.0, heartbeat=60.0, margin=1.0)
    for name in jobs:
        meeting.wait_for(name)
    assert _left(rows, jobs["lasting"]) == pytest.approx(600, abs=5)
    assert _left(rows, jobs["brief"]) == pytest.approx(3, abs=1)
    first = rows.job(jobs["brief"])["leased_until"]
    later = until(
        lambda: (at := rows.job(jobs["brief"])["leased_until"]) > first and at, "it is renewed"
    )
    until(lambda: rows.job(jobs["brief"])["leased_until"] > later, "and again")
    assert rows.job(jobs["brief"])["fence"] == 1
    for name, job in jobs.items():
        meeting.release(name)
        rows.until(job, "succeeded")


def test_a_short_lease_is_found_soon_after_its_worker_died(
    begin: Start, rows: Rows, meeting: Meeting
) -> None:
    """However long the worker's own lease is."""
    job = rows.enqueue("brief", Order(1, "here"))
    first = begin(lease=200.0, heartbeat=60.0)
    meeting.wait_for("here")
    first.kill()
    second = begin(lease=200.0, heartbeat=0.5)
    meeting.release("here")
    rows.until(job, "succeeded")
    assert rows.job(job)["crash_count"] == 1
    second.stop()


def test_a_handler_that_takes_too_long_is_stopped(begin: Start, rows: Rows) -> None:
    """Each attempt fails with its time, the last one for good; nothing else is lost."""
    job = rows.enqueue("punctual", Order(1))
    begin()
    rows.until(job, "failed")
    assert [attempt["error_class"] for attempt in rows.attempts(job)] == ["TimedOut", "TimedOut"]
    row = rows.job(job)
    assert (row["error"], row["failure_count"]) == ("timed out after 500 ms", 2)
    assert rows.broken_counts() == []


def test_nothing_runs_again_before_a_late_handler_has_ended(
    begin: Start, rows: Rows, crm: Emulator, meeting: Meeting
) -> None:
    """It ignores its limit for longer than its lease: its calls are refused, its lease lasts."""
    job = rows.enqueue("deaf", Order(1, "late"))
    begin(lease=2.0, heartbeat=0.3, margin=0.5)
    begin(lease=2.0, heartbeat=0.3, margin=0.5)
    assert meeting.wait_for("late")[0].brought == "Suspend"
    claimed = rows.job(job)["claimed_at"]
    until(
        lambda: rows.one(
            "select tenure.now() > %(at)s::timestamptz + interval '5 s' as later", at=claimed
        )["later"],
        "two leases have passed",
    )
    row = rows.job(job)
    assert (row["state"], row["fence"], row["crash_count"]) == ("running", 1, 0)
    assert crm.arrivals == ()
    meeting.release("late")
    rows.until(job, "failed")
    first = rows.attempts(job)[0]
    assert (first["ended"], first["error_class"]) == ("failure", "TimedOut")
    assert first["error"] == "timed out after 500 ms"
    assert first["ended_at"] > claimed


def test_the_rule_leaves_room_for_two_missed_beats() -> None:
    """Whatever the lease and the settings, three beats come before the margin begins."""
    for lease in (leases.LEAST, 10.0, 60.0, leases.MOST):
        beat, margin = leases.heartbeat(lease, 15.0), leases.margin(lease, 10.0)
        assert 3 * beat <= lease - margin
        assert 0 < margin <= 10


async def _idle(ctx: Context) -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"lease": 0}, "the lease is 0"),
        ({"lease": 2.9}, "the lease is 2.9"),
        ({"lease": 86_401}, "the lease is 86401"),
        ({"lease": "60s"}, "the lease is '60s'"),
        ({"timeout": 0}, "the timeout is 0"),
        ({"timeout": -5}, "the timeout is -5"),
        ({"timeout": float("inf")}, "the timeout is inf"),
        ({"expires": -1}, "the expiry is -1"),
        ({"priority": 10}, "the priority is 10"),
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"max_attempts": 2.5}, "max_attempts is 2.5"),
        ({"max_attempts": True}, "max_attempts is True"),
        ({"tags": [""]}, "a tag is ''"),
        ({"tags": [7]}, "a tag is 7"),
    ],
)
def test_what_could_not_work_is_refused_where_it_is_declared(
    asked: dict[str, object], said: str
) -> None:
    """In one line, with what was given."""
    with pytest.raises(ConfigurationError, match=said) as refused:
        Tenure().automation(**asked)(_idle)  # type: ignore[call-overload]  # as authors err
    assert "\n" not in refused.value.message


def test_what_is_declared_stands_in_the_row(rows: Rows) -> None:
    """Doors, SQL and people read it there."""
    app = Tenure()
    app.automation(
        name="own", lease=30, timeout=20, expires=60, backoff=Backoff(base=1.0), tags=["a"]
    )(_idle)
    rows.declare(app)
    row = rows.one(
        "select lease, timeout, expires, backoff ->> 'base' as base, tags"
        " from tenure.automations where name = 'own'"
    )
    assert dict(row) == {"lease": 30, "timeout": 20, "expires": 60, "base": "1.0", "tags": ["a"]}
