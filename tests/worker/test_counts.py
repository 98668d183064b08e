"""Each claim ends in exactly one way, and the counters say in which.

Always: fence = failures + crashes + deferrals + one where it is claimed + one where it succeeded;
and every end but a success at the first try has its attempt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import pytest

from tenure.base.model import Job
from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.hands import Hand, taken_from
from tests.kit.kinds import either, live
from tests.kit.meeting import Meeting
from tests.kit.odd import app
from tests.kit.rows import Row, Rows
from tests.kit.worker import Worker
from tests.stories.conftest import Start

_APP = "tests.kit.odd:app"


class Counts(NamedTuple):
    """A job's counters, and how its claims ended."""

    state: str
    fence: int
    failures: int
    crashes: int
    deferrals: int
    ends: tuple[str, ...]


@pytest.fixture
def odd(database: Database) -> Rows:
    """The automations that end in every way, live."""
    rows = Rows(database)
    rows.declare(app)
    return rows


@pytest.fixture
def hand(database_url: str) -> Iterator[Hand]:
    """A worker by hand."""
    hand = Hand(database_url)
    yield hand
    hand.close()


def _counts(odd: Rows, id: UUID) -> Counts:
    job = odd.job(id)
    ends = tuple(attempt["ended"] for attempt in odd.attempts(id))
    return Counts(
        job["state"],
        job["fence"],
        job["failure_count"],
        job["crash_count"],
        job["deferral_count"],
        ends,
    )


_WAYS = {
    "success": Counts("succeeded", 1, 0, 0, 0, ()),
    "error": Counts("succeeded", 2, 1, 0, 0, ("failure",)),
    "retry": Counts("succeeded", 2, 1, 0, 0, ("failure",)),
    "always": Counts("failed", 3, 3, 0, 0, ("failure",) * 3),
    "fail": Counts("failed", 1, 1, 0, 0, ("failure",)),
    "grouped fail": Counts("failed", 1, 1, 0, 0, ("failure",)),
    "defer": Counts("succeeded", 2, 0, 0, 1, ("deferral",)),
    "nap": Counts("waiting", 1, 0, 0, 1, ("deferral",)),
    "hold": Counts("held", 1, 0, 0, 1, ("hold",)),
}


@either(_APP)
def test_each_end_of_a_run_counts_once(odd: Rows, database_url: str, path: str) -> None:
    """Success, failures, signals, sleeps and holds, each with its counters and attempts."""
    live(odd, path)
    jobs = {way: odd.enqueue("ends", way) for way in _WAYS}
    with Worker(database_url, path):
        for way, counts in _WAYS.items():
            odd.until(jobs[way], counts.state)
    assert {way: _counts(odd, job) for way, job in jobs.items()} == _WAYS
    assert odd.broken_counts() == []


@either(_APP)
def test_a_retry_goes_on_counting_from_where_it_was(
    odd: Rows, database_url: str, path: str
) -> None:
    """A failed job comes back under its id; its counters go on, its attempts are new ones."""
    live(odd, path)
    failed, held = odd.enqueue("ends", "always"), odd.enqueue("ends", "hold")
    with Worker(database_url, path):
        odd.until(failed, "failed")
        odd.until(held, "held")
        for job in (failed, held):
            odd.read("select tenure.retry(%(id)s, 'again', 'test')", id=job)
        odd.until(held, "succeeded")
        until(lambda: odd.job(failed)["fence"] == 6, "three more attempts")
        odd.until(failed, "failed")
    assert _counts(odd, failed) == Counts("failed", 6, 6, 0, 0, ("failure",) * 6)
    assert _counts(odd, held) == Counts("succeeded", 2, 0, 0, 1, ("hold",))
    assert odd.broken_counts() == []


@pytest.mark.parametrize(
    ("act", "counts"),
    [
        ("cancel", Counts("cancelled", 1, 0, 0, 1, ("cancel",))),
        ("hold_job", Counts("held", 1, 0, 0, 1, ("hold",))),
    ],
)
def test_an_operators_act_is_taken_up_by_the_worker(
    start: Start, rows: Rows, meeting: Meeting, crm: Emulator, *, act: str, counts: Counts
) -> None:
    """A running job is asked; a heartbeat or the gate tells its worker, and it costs no attempt."""
    job = rows.enqueue("deal", Order(1, "here"))
    start()
    meeting.wait_for("here")
    before = rows.job(job)
    assert _act(rows, act, job) == "asked"
    assert rows.job(job)["fence"] == before["fence"]
    if act == "hold_job":  # it ends at its next call; a cancel unwinds it where it stands
        meeting.release("here")
    rows.until(job, counts.state)
    assert _counts(rows, job) == counts
    assert [effect.path for effect in crm.effects] == ["/deals"]
    assert rows.broken_counts() == []


def _act(odd: Rows, act: str, job: UUID) -> str:
    texts = {
        "cancel": "select tenure.cancel(%(id)s, 'test', 'test') as became",
        "hold_job": "select tenure.hold_job(%(id)s, 'test', 'test') as became",
    }
    return str(odd.one(texts[act], id=job)["became"])


def _lapsed(odd: Rows, hand: Hand, clock: Clock) -> Job:
    job = odd.enqueue("bystander", "")
    [claimed] = hand.claim(odd.job(job)["strand"])
    clock.advance(hand.lease + 1.0)
    return claimed


@pytest.mark.parametrize(
    ("act", "counts"),
    [
        ("cancel", Counts("cancelled", 1, 0, 1, 0, ("crash",))),
        ("hold_job", Counts("held", 1, 0, 1, 0, ("crash",))),
    ],
)
def test_a_lapse_found_by_an_operators_act_ends_the_claim(
    odd: Rows, hand: Hand, clock: Clock, act: str, counts: Counts
) -> None:
    """Cancel and hold of a job whose worker is gone count the crash that they find."""
    job = _lapsed(odd, hand, clock)
    assert _act(odd, act, job.id) == counts.state
    assert _counts(odd, job.id) == counts
    assert odd.broken_counts() == []


def test_a_lapse_found_by_a_claim_begins_the_next(
    odd: Rows, hand: Hand, clock: Clock, database_url: str
) -> None:
    """The crash is counted with the next claim, and again each time it runs alone and lapses."""
    job = _lapsed(odd, hand, clock)
    others = [Hand(database_url) for _ in range(4)]
    [first, *_] = [taken_from(others[0], odd.database, job.id)]
    assert first.fence == 2
    assert _counts(odd, job.id) == Counts("running", 2, 0, 1, 0, ("crash",))
    for n, other in enumerate(others[1:], start=2):
        clock.advance(other.lease + 1.0)
        other.claim(odd.job(job.id)["strand"], quarantine=True)
        assert odd.job(job.id)["crash_count"] == n
        assert odd.broken_counts() == []
    assert _counts(odd, job.id) == Counts("held", 4, 0, 4, 0, ("crash",) * 4)
    for other in others:
        other.close()


def test_claims_that_were_politely_taken_back_are_not_counted_as_claims(
    odd: Rows, database_url: str
) -> None:
    """claim_count finds trouble: it leaves out deferrals, and nothing else."""
    jobs: list[Row] = []
    with Worker(database_url, _APP):
        for way, expected in {"defer": 1, "error": 2, "success": 1}.items():
            id = odd.enqueue("ends", way)
            jobs.append(odd.until(id, "succeeded"))
            assert jobs[-1]["claim_count"] == expected
