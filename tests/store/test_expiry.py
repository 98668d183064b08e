"""A job that nobody has claimed by the time it expires is cancelled, and says so."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tenure.base.errors import ConfigurationError, Refused
from tenure.base.model import Claimed, Declared, HandBack
from tenure.store import automations, chores, claims, events, jobs
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene, said


@pytest.fixture
def scene(database: Database) -> Scene:
    """A live automation, and a worker."""
    return Scene(database)


def _made(scene: Scene, *, after: float | None = None, delay: float | None = None) -> UUID:
    order = jobs.wanted("lead", "{}", expires=after, delay=delay)
    return jobs.enqueue(scene.database, order).job_id


def _claim(scene: Scene) -> Claimed:
    strands = claims.dispatch(
        scene.database, automations=["lead"], live=True, quarantine=False, after=0
    )
    quotas = {strand.id: 10 for strand in strands}
    return claims.claim(
        scene.database, worker=scene.worker, lease=60, quotas=quotas, quarantine=False
    )


def _duties(scene: Scene) -> None:
    while chores.do_one(scene.database, uuid4()):
        pass


def test_a_claim_takes_no_job_that_has_expired(scene: Scene, clock: Clock) -> None:
    """It finds it, leaves it unclaimed and uncounted, and it ends as cancelled."""
    late, kept = _made(scene, after=60), _made(scene, after=600)
    clock.advance(61)
    found = _claim(scene)
    assert ([job.id for job in found.jobs], found.expired) == ([kept], (late,))
    assert claims.expire(scene.database, found.expired) == 1
    row = scene.row(late)
    assert (row["state"], row["fence"], row["claim_count"]) == ("cancelled", 0, 0)
    assert row["error_class"] == "Expired"
    assert said(scene.database, late, "state") == (
        "Cancelled at T: it expired at T, and nobody had claimed it."
    )


def test_what_nobody_asks_for_expires_all_the_same(scene: Scene, clock: Clock) -> None:
    """A chore cancels it, its unique key goes free, and one that is due later stays."""
    order = jobs.wanted("lead", "{}", key="k", expires=60.0)
    first = jobs.enqueue(scene.database, order).job_id
    ahead = _made(scene, after=60, delay=3600)
    _duties(scene)
    assert scene.row(first)["state"] == "ready"
    clock.advance(61)
    _duties(scene)
    assert scene.row(first)["state"] == "cancelled"
    assert scene.row(ahead)["state"] == "waiting"
    assert jobs.enqueue(scene.database, order).created


def test_a_first_claim_ends_the_expiry(scene: Scene, clock: Clock) -> None:
    """A job that was claimed in time waits, fails and is claimed again for as long as it needs."""
    _made(scene, after=60)
    job = scene.claim()
    scene.hand_back(HandBack(job.id, job.fence, "deferral", 120.0, waits='{"why": "sleep"}'))
    clock.advance(121)
    _duties(scene)
    assert [again.id for again in _claim(scene).jobs] == [job.id]


def test_a_held_job_does_not_expire_while_it_is_held(scene: Scene, clock: Clock) -> None:
    """It waits for a person; when it goes on, it is too late for it."""
    job = _made(scene, after=60)
    scene.database.execute("select tenure.hold_job(%(job)s, 'look')", {"job": job})
    clock.advance(61)
    _duties(scene)
    assert scene.row(job)["state"] == "held"
    scene.database.execute("select tenure.retry(%(job)s)", {"job": job})
    _duties(scene)
    clock.advance(6)
    _duties(scene)
    assert scene.row(job)["state"] == "cancelled"


def test_an_automation_has_an_expiry_of_its_own(scene: Scene, clock: Clock) -> None:
    """It counts from when a job is due; what is said at the enqueue wins."""
    declared = Declared(name="lead", version="v1", expires=30.0)
    automations.declare(scene.database, declared, by="test")
    first, second = scene.enqueue(), _made(scene, after=90)
    ahead = _made(scene, delay=3600)
    rows = {
        row["id"]: row["left"]
        for row in scene.database.execute(
            "select id, expires_at - leased_until as left from tenure.jobs"
        )
    }
    assert rows == {
        first: timedelta(seconds=30),
        second: timedelta(seconds=90),
        ahead: timedelta(seconds=30),
    }
    assert "It expires at T (in N): if nobody has claimed it by then it is cancelled." in said(
        scene.database, first, "wait"
    )
    clock.advance(31)
    _duties(scene)
    assert (scene.row(first)["state"], scene.row(second)["state"]) == ("cancelled", "ready")


def test_a_delay_counts_from_the_databases_clock(scene: Scene, clock: Clock) -> None:
    """A job made with a delay is claimed when it is over, not before."""
    clock.advance(7200)
    job = _made(scene, delay=600)
    assert _claim(scene).rows == 0
    assert (scene.row(job)["leased_until"] - scene.row(job)["created_at"]) == pytest.approx(
        timedelta(seconds=600), abs=timedelta(seconds=1)
    )
    clock.advance(601)
    assert [found.id for found in _claim(scene).jobs] == [job]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"delay": -1}, "the delay is -1"),
        ({"delay": "10s"}, "the delay is '10s'"),
        ({"delay": float("inf")}, "the delay is inf"),
        ({"expires": 0}, "the expiry is 0"),
        ({"expires": float("nan")}, "the expiry is nan"),
        ({"priority": 10}, "the priority is 10"),
        ({"priority": True}, "the priority is True"),
        ({"tags": ["a", ""]}, "a tag is ''"),
        ({"tags": ["a\0b"]}, r"a tag is 'a\\x00b'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(asked: dict[str, object], said: str) -> None:
    """The error names what was given."""
    with pytest.raises(ConfigurationError, match=said) as refused:
        jobs.wanted("lead", "{}", **asked)  # type: ignore[arg-type]  # what no type checker would let through
    assert "\n" not in refused.value.message


def test_a_time_and_a_delay_exclude_each_other(scene: Scene) -> None:
    """In code and in SQL."""
    at = events.clock(scene.database)
    with pytest.raises(ConfigurationError, match="a job is due once"):
        jobs.wanted("lead", "{}", at=at, delay=5)
    text = "select tenure.enqueue('lead', at => tenure.now(), delay => '5 s')"
    with pytest.raises(Refused, match="a job is due once"):
        scene.database.execute(text)


def test_sql_refuses_what_could_never_be_claimed(scene: Scene) -> None:
    """A job that would expire before it is due, or be due beyond reach."""
    with pytest.raises(Refused, match="nobody could claim it"):
        scene.database.execute(
            "select tenure.enqueue('lead', delay => '1 h', expires => tenure.now() + '1 min')"
        )
    with pytest.raises(Refused, match="out of reach"):
        scene.database.execute("select tenure.enqueue('lead', delay => '-1 s')")


def test_tags_and_priority_are_the_automations_unless_given(scene: Scene) -> None:
    """From the declaration to the row, or from the enqueue."""
    declared = Declared(name="lead", version="v1", priority=3, tags=("a", "b"))
    automations.declare(scene.database, declared, by="test")
    own = scene.enqueue()
    order = jobs.wanted("lead", "{}", priority=0, tags=["c"])
    given = jobs.enqueue(scene.database, order).job_id
    assert (scene.row(own)["priority"], scene.row(own)["tags"]) == (3, ["a", "b"])
    assert (scene.row(given)["priority"], scene.row(given)["tags"]) == (0, ["c"])
