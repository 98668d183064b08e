"""Leases: never shortened, never lost to a lock, and not held against a worker that came back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID, uuid4

import psycopg
import pytest

from tenure.base.model import Finish, Job, Step
from tenure.embedded import Embedded
from tenure.store import ends, leases, migrate, records, workers
from tenure.store.database import Database
from tests.conftest import Clock
from tests.kit.automations import Order, app
from tests.kit.facts import until
from tests.kit.hands import Hand
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.stories.conftest import Start, answers, stop_at_once


@pytest.fixture
def hand(database_url: str) -> Iterator[Hand]:
    """A worker by hand, with a lease of ten seconds."""
    hand = Hand(database_url, lease=10.0)
    yield hand
    hand.close()


def _claimed(rows: Rows, hand: Hand) -> Job:
    job = rows.enqueue("deal", Order())
    [claimed] = hand.claim(rows.job(job)["strand"])
    return claimed


def _renew(hand: Hand, job: Job, lease: float = 10.0) -> str:
    [renewal] = leases.renew(
        hand.database, worker=hand.worker, lease=lease, claims={job.id: job.fence}
    )
    return renewal.said


def _until(rows: Rows, id: UUID) -> datetime:
    found: datetime = rows.job(id)["leased_until"]
    return found


def test_a_row_locked_by_somebody_is_busy_and_not_lost(
    rows: Rows, hand: Hand, clock: Clock, database_url: str
) -> None:
    """A heartbeat does not wait for a lock, and does not take it for the end of the claim."""
    job = _claimed(rows, hand)
    clock.advance(5.0)
    with psycopg.connect(database_url) as conn:
        conn.execute("select from tenure.jobs where id = %s for update", [job.id])
        assert _renew(hand, job) == "busy"
    assert _renew(hand, job) == "renewed"


def test_a_claim_that_is_over_is_lost(rows: Rows, hand: Hand, database_url: str) -> None:
    """Another fence, another worker, no such job: each is told as lost."""
    job = _claimed(rows, hand)
    other = Hand(database_url)
    told = leases.renew(
        hand.database, worker=hand.worker, lease=10.0, claims={job.id: job.fence + 1, uuid4(): 1}
    )
    assert {renewal.said for renewal in told} == {"lost"}
    assert _renew(other, job) == "lost"
    other.close()


def test_renewal_never_shortens(rows: Rows, hand: Hand, clock: Clock) -> None:
    """Neither a heartbeat nor a gate with a shorter lease moves the end of a longer one."""
    job = _claimed(rows, hand)
    clock.advance(5.0)
    assert _renew(hand, job, lease=600.0) == "renewed"
    long = _until(rows, job.id)
    assert _renew(hand, job, lease=1.0) == "kept"
    hand.lease = 1.0
    assert hand.ask(job).verdict == "admitted"
    assert _until(rows, job.id) == long


def test_a_young_lease_is_left_alone(rows: Rows, hand: Hand, clock: Clock) -> None:
    """Only leases past a third of their length are written."""
    job = _claimed(rows, hand)
    first = _until(rows, job.id)
    clock.advance(3.0)
    assert _renew(hand, job) == "kept"
    assert _until(rows, job.id) == first
    clock.advance(0.5)
    assert _renew(hand, job) == "renewed"
    assert _until(rows, job.id) > first


def test_a_lapse_whose_worker_came_back_is_a_lost_lease(
    rows: Rows, hand: Hand, clock: Clock, database_url: str
) -> None:
    """It is counted and journalled, and nobody is blamed: the job runs beside others as before."""
    workers.arrive(
        hand.database, id=hand.worker, host="here", pid=1, kind="live", automations={"deal": "v1"}
    )
    job = _claimed(rows, hand)
    clock.advance(11.0)
    workers.touch(hand.database, hand.worker)
    other = Hand(database_url)
    [again] = other.claim(job.strand)
    other.close()
    assert (again.id, again.fence, again.crash_count) == (job.id, 2, 1)
    assert rows.job(job.id)["quarantine_crashes"] == 0
    assert [attempt["ended"] for attempt in rows.attempts(job.id)] == ["lost_lease"]
    assert rows.broken_counts() == []


def test_a_worker_that_slept_through_its_lease_takes_its_own_job_again(
    rows: Rows, hand: Hand, clock: Clock
) -> None:
    """A machine wakes and claims before it beats: nobody died, and no job is put apart."""
    job = _claimed(rows, hand)
    clock.advance(11.0)
    [again] = hand.claim(job.strand)
    assert (again.id, again.fence, again.strand) == (job.id, 2, job.strand)
    assert rows.job(job.id)["quarantine_crashes"] == 0
    assert [attempt["ended"] for attempt in rows.attempts(job.id)] == ["lost_lease"]
    assert rows.broken_counts() == []


def test_late_work_that_nobody_claimed_is_kept(rows: Rows, hand: Hand, clock: Clock) -> None:
    """A step and an end that come after the lease, before any other claim, are good."""
    job = _claimed(rows, hand)
    clock.advance(3600.0)
    kept = records.Kept(job.id, job.fence, Step("weigh", "step", None, "12"))
    assert records.steps(hand.database, hand.worker, [kept]) == {(job.id, "weigh")}
    done = ends.finish(hand.database, hand.worker, [Finish(job.id, job.fence, "succeeded", "12")])
    assert done.done == {job.id}
    assert (rows.job(job.id)["result"], rows.attempts(job.id)) == (12, [])


def test_a_suspended_worker_runs_its_jobs_to_their_ends(
    start: Start, rows: Rows, clock: Clock, meeting: Meeting
) -> None:
    """Frozen beyond all its leases and thawed, it ends what it had, and no job is blamed."""
    jobs = [rows.enqueue("stand", Order(n, "here")) for n in range(5)]
    worker = start(lease=5.0)
    meeting.wait_for("here", 5)
    worker.freeze()
    clock.advance(60.0)
    until(lambda: rows.states() == {"lost": 5}, "the leases have run out")
    worker.thaw()
    meeting.release("here")
    assert rows.until_ended(5) == {"succeeded": 5}
    assert {rows.job(job)["quarantine_crashes"] for job in jobs} == {0}
    assert worker.pids("quarantine") == []
    assert rows.broken_counts() == []


def test_a_lapse_in_a_database_outage_is_a_lost_lease(server: Embedded) -> None:
    """Nobody could renew while the server was away: the claim after it blames nobody."""
    database = Database(server.url)
    migrate.migrate(database)
    rows = Rows(database)
    rows.declare(app)
    former, later = Hand(server.url), Hand(server.url)
    job = _claimed(rows, former)
    stop_at_once(server)
    until(lambda: not answers(database), "the database has stopped")
    until(lambda: answers(database), "the database is back")
    Clock(server.url).advance(11.0)
    [again] = later.claim(job.strand)
    assert (again.id, again.fence, again.crash_count) == (job.id, 2, 1)
    assert [attempt["ended"] for attempt in rows.attempts(job.id)] == ["lost_lease"]
    for connection in (database, former.database, later.database):
        connection.close()
