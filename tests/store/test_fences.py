"""Whoever is not the current claim of a job writes nothing in its name, whatever it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import msgspec
import pytest

from tenure.base.model import Finish, HandBack, Job, Outcome, Step
from tenure.store import ends, gate, leases, records
from tenure.store.database import Database
from tests.conftest import Clock
from tests.kit.facts import until
from tests.kit.hands import beside
from tests.store.scene import Scene


class Pen:
    """Writes in a job's name over a connection, as some worker under some fence."""

    def __init__(self, scene: Scene, database: Database, worker: UUID, job: Job) -> None:
        """``job`` as that worker knows it: its fence is the one that is shown."""
        self.scene, self.database, self.worker, self.job = scene, database, worker, job

    def finish(self) -> bool:
        """Settle it."""
        end = Finish(self.job.id, self.job.fence, "succeeded", "1")
        return bool(ends.finish(self.database, self.worker, [end]).done)

    def hand_back(self) -> bool:
        """Let it go on later."""
        end = HandBack(self.job.id, self.job.fence, "failure", 1.0)
        return bool(ends.hand_back(self.database, self.worker, [end]).done)

    def hold(self) -> bool:
        """Hold it for a person."""
        end = HandBack(self.job.id, self.job.fence, "hold", question="Shall it?")
        return bool(ends.hand_back(self.database, self.worker, [end]).done)

    def steps(self) -> bool:
        """Remember a step."""
        kept = records.Kept(self.job.id, self.job.fence, Step("weigh", "step", None, "1"))
        return bool(records.steps(self.database, self.worker, [kept]))

    def journal(self) -> bool:
        """Add to its story."""
        line = records.Entry(self.job.id, self.job.fence, "log", "said")
        return bool(records.journal(self.database, self.worker, [line]))

    def outcomes(self) -> bool:
        """Say what came of its call."""
        [call] = self.scene.database.execute("select step, send, send_id from tenure.calls")
        outcome = Outcome(
            job=self.job.id,
            fence=self.job.fence,
            send_id=call["send_id"],
            step=call["step"],
            send=call["send"],
            state="done",
        )
        return bool(records.outcomes(self.database, self.worker, [outcome]))

    def calls(self) -> bool:
        """Record a read."""
        call = msgspec.structs.replace(self.scene.asked(self.job, "look"), safe=True, policy="safe")
        closed = records.Closed(call, (), 0.1, self.scene.outcome(call, "done", 200))
        return bool(records.calls(self.database, self.worker, [closed]))

    def gate(self) -> bool:
        """Ask for another call."""
        [answer] = gate.ask(
            self.database,
            worker=self.worker,
            lease=60,
            takes=(),
            reserve=0.0,
            calls=[self.scene.asked(self.job, "another")],
        )
        return answer.verdict == "admitted"

    def renew(self) -> bool:
        """Keep the lease."""
        [renewal] = leases.renew(
            self.database, worker=self.worker, lease=600, claims={self.job.id: self.job.fence}
        )
        return renewal.said == "renewed"


ACTS: dict[str, Callable[[Pen], bool]] = {
    act.__name__: act
    for act in (
        Pen.finish,
        Pen.hand_back,
        Pen.hold,
        Pen.steps,
        Pen.journal,
        Pen.outcomes,
        Pen.calls,
        Pen.gate,
        Pen.renew,
    )
}
# What would wait for the row behind a claim; a heartbeat passes over it, and says busy.
WAITING = {name: act for name, act in ACTS.items() if name != "renew"}

_ROWS = (
    "jobs",
    "finished_jobs",
    "attempts",
    "steps",
    "calls",
    "outcomes",
    "journal",
    "holds",
    "dues",
)


def everything(database: Database) -> dict[str, list[str]]:
    """Every row that a claim could have written, as text."""
    return {
        name: [
            row["line"]
            for row in database.execute(
                f"select t::text as line from tenure.{name} as t order by 1"  # noqa: S608 - names from above
            )
        ]
        for name in _ROWS
    }


@pytest.fixture
def scene(database: Database) -> Scene:
    """A worker with one job."""
    return Scene(database)


@pytest.fixture
def other(database_url: str) -> Iterator[Database]:
    """A connection of another worker."""
    other = Database(database_url, name="another worker")
    yield other
    other.close()


def _claimed_twice(scene: Scene, clock: Clock) -> Job:
    """A job that its worker claimed again when its lease had run out, with a call under way."""
    scene.running()
    clock.advance(61)
    job = scene.claim()
    assert job.fence == 2
    scene.admit(scene.asked(job, "create"))
    return job


@pytest.mark.parametrize("who", ["another-worker", "a-former-fence"])
@pytest.mark.parametrize("act", ACTS)
def test_only_the_current_claim_writes(scene: Scene, clock: Clock, act: str, who: str) -> None:
    """The right worker under a former fence, or another under the right one: not a row changes."""
    job = _claimed_twice(scene, clock)
    worker, fence = (uuid4(), job.fence) if who == "another-worker" else (scene.worker, 1)
    stranger = Pen(scene, scene.database, worker, msgspec.structs.replace(job, fence=fence))
    before = everything(scene.database)
    assert ACTS[act](stranger) is False
    assert everything(scene.database) == before
    assert ACTS[act](Pen(scene, scene.database, scene.worker, job)) is True


@pytest.mark.parametrize("act", WAITING)
def test_behind_an_uncommitted_claim_a_former_one_waits_and_writes_nothing(
    scene: Scene, clock: Clock, other: Database, act: str
) -> None:
    """Until a claim that finds the lapse is committed the former worker waits; then it is late."""
    job = scene.running()
    scene.admit(scene.asked(job, "create"))
    former = Pen(scene, other, scene.worker, job)
    other.execute("select 1 as one")
    clock.advance(61)
    scene.worker = uuid4()
    with scene.database.transaction():
        scene.turn()
        wrote = beside(lambda: ACTS[act](former))
        until(lambda: wrote.done() or _waits(scene.database), "it waits for the job's row")
        assert not wrote.done()
        before = everything(scene.database)
    assert wrote.result(20.0) is False
    assert everything(scene.database) == before


def _waits(database: Database) -> bool:
    return bool(
        database.execute(
            "select pid from pg_stat_activity where application_name = 'another worker'"
            " and wait_event_type = 'Lock'"
        )
    )
