"""So many jobs of an automation at once: exactly, over all workers, whatever happens to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import UUID, uuid4

import pytest

from tenure.base.model import Claimed, Declared, Finish, HandBack, Strand
from tenure.store import automations, claims, ends, leases
from tenure.store.database import Busy, Database
from tests.conftest import Clock
from tests.kit import bounded
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.kit.worker import Worker
from tests.store.scene import said


class Crew:
    """Workers by hand of one limited automation."""

    def __init__(self, database: Database, limit: int | None, *, lane: str = "free") -> None:
        """Live, with a limit."""
        self.database = database
        self.limit(limit, lane=lane)
        database.execute("update tenure.automations set stage = 'live'")

    def limit(self, limit: int | None, *, lane: str = "free") -> None:
        """Declare it anew."""
        declared = Declared(name="one", version="1", concurrency=limit, lane=lane)
        automations.declare(self.database, declared, by="test")

    def enqueue(self, jobs: int = 1, priority: int = 5) -> list[UUID]:
        """So many jobs."""
        rows = self.database.execute(
            "select (tenure.enqueue('one', 'null', priority => %(priority)s)).job_id"
            " from generate_series(1, %(jobs)s)",
            {"jobs": jobs, "priority": priority},
        )
        return [row["job_id"] for row in rows]

    def due(self, *, live: bool = True, quarantine: bool = False) -> list[Strand]:
        """The strands that a worker would claim from."""
        return claims.dispatch(
            self.database, automations=["one"], live=live, quarantine=quarantine, after=0
        )

    def claim(
        self, worker: UUID, most: int = 10, *, live: bool = True, quarantine: bool = False
    ) -> Claimed:
        """What a worker gets."""
        strands = self.due(live=live, quarantine=quarantine)
        return claims.claim(
            self.database,
            worker=worker,
            lease=60.0,
            quotas={strand.id: min(most, strand.room or most) for strand in strands},
            quarantine=quarantine,
            limited={strand.id for strand in strands if strand.limited},
        )

    def finish(self, worker: UUID, claimed: Claimed) -> None:
        """Its jobs succeed."""
        told = [Finish(job.id, job.fence, "succeeded") for job in claimed.jobs]
        assert len(ends.finish(self.database, worker, told).done) == len(told)

    def slots(self, *, live: bool = True) -> list[UUID | None]:
        """Who has which slot."""
        rows = self.database.execute(
            "select job_id from tenure.slots where live = %(live)s order by slot", {"live": live}
        )
        return [row["job_id"] for row in rows]


def test_eight_workers_and_a_limit_of_one_never_overlap(
    database: Database, database_url: str
) -> None:
    """A thousand jobs, claimed by whoever is quickest: two are never claimed at once."""
    Crew(database, 1).enqueue(1000)
    running, overlaps, done = [0], [0], [0]
    lock = threading.Lock()

    def work() -> None:
        own = Database(database_url, name="crew")
        crew, worker = Crew.__new__(Crew), uuid4()
        crew.database = own
        while done[0] < 1000:
            try:
                claimed = crew.claim(worker)
            except Busy:
                continue
            if not claimed.jobs:
                continue
            with lock:
                running[0] += len(claimed.jobs)
                overlaps[0] += running[0] > 1
            found = own.execute("select count(*) as n from tenure.jobs where worker_id is not null")
            with lock:
                overlaps[0] += found[0]["n"] > 1
                running[0] -= len(claimed.jobs)
                done[0] += len(claimed.jobs)
            crew.finish(worker, claimed)
        own.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [row] = database.execute("select count(*) as n from tenure.finished_jobs")
    assert (row["n"], overlaps[0]) == (1000, 0)
    assert Crew(database, 1).slots() == [None]


def test_a_claim_takes_no_more_than_there_are_slots(database: Database) -> None:
    """The strand is offered again as soon as one is free, and not before."""
    crew, first, second = Crew(database, 3), uuid4(), uuid4()
    crew.enqueue(10)
    mine = crew.claim(first, 2)
    theirs = crew.claim(second, 10)
    assert (len(mine.jobs), len(theirs.jobs)) == (2, 1)
    assert crew.due() == []
    crew.finish(first, mine)
    assert [strand.room for strand in crew.due()] == [2]
    assert len(crew.claim(second).jobs) == 2


@pytest.mark.parametrize("ended", ["failure", "deferral", "hold"])
def test_every_end_of_a_claim_frees_its_slot(database: Database, ended: str) -> None:
    """What goes on later holds nobody up meanwhile."""
    crew, worker = Crew(database, 1), uuid4()
    crew.enqueue(2)
    [job] = crew.claim(worker).jobs
    back = HandBack(job.id, job.fence, ended, 60.0)  # type: ignore[arg-type]  # one of its words
    ends.hand_back(database, worker, [back])
    assert crew.slots() == [None]
    assert len(crew.claim(worker).jobs) == 1


@pytest.mark.parametrize("act", ["cancel", "hold_job"])
def test_an_operators_act_on_a_lost_job_frees_its_slot(
    database: Database, clock: Clock, act: str
) -> None:
    """A worker that died and nobody else, and the limit is its own again."""
    crew = Crew(database, 1)
    crew.enqueue(1)
    [job] = crew.claim(uuid4()).jobs
    clock.advance(61)
    text = (
        "select tenure.cancel(%(job)s, 'gone')"
        if act == "cancel"
        else "select tenure.hold_job(%(job)s, 'gone')"
    )
    database.execute(text, {"job": job.id})
    assert crew.slots() == [None]


def test_a_lost_job_keeps_its_slot_until_it_is_claimed_again(
    database: Database, clock: Clock
) -> None:
    """Whoever waits, however urgent, gets none of it; the lost job itself takes it and goes on.

    Its worker might still be alive and renew the lease: two would run.
    """
    crew, worker = Crew(database, 1), uuid4()
    crew.enqueue(1)
    [job] = crew.claim(worker).jobs
    crew.enqueue(3, priority=0)
    assert crew.due() == []
    clock.advance(61)
    assert leases.renew(database, worker=worker, lease=60.0, claims={job.id: job.fence})
    assert crew.due() == []
    clock.advance(61)
    [strand] = crew.due()
    assert strand.room == 1
    found = crew.claim(uuid4())
    assert (found.jobs, found.aside) == ((), (job.id,))
    assert (crew.slots(), crew.due()) == ([job.id], [])
    other = uuid4()
    again = crew.claim(other, quarantine=True)
    assert [found.id for found in again.jobs] == [job.id]
    crew.finish(other, again)
    assert len(crew.claim(other).jobs) == 1


def test_live_and_other_jobs_are_counted_apart(database: Database) -> None:
    """A dry run holds up nothing that acts."""
    crew, worker = Crew(database, 1), uuid4()
    crew.enqueue(2)
    database.execute("update tenure.automations set stage = 'dry_run'")
    crew.enqueue(2)
    assert len(crew.claim(worker).jobs) == 1
    assert len(crew.claim(worker, live=False).jobs) == 1
    assert (crew.due(), crew.due(live=False)) == ([], [])


def test_a_limit_lowered_while_jobs_run_takes_hold_as_they_end(database: Database) -> None:
    """What runs goes on; nothing is claimed until fewer run than the new limit."""
    crew, worker = Crew(database, 4), uuid4()
    crew.enqueue(20)
    running = list(crew.claim(worker).jobs)
    assert len(running) == 4
    crew.limit(2)
    for _ in range(3):
        assert crew.due() == []
        job = running.pop(0)
        ends.finish(database, worker, [Finish(job.id, job.fence, "succeeded")])
    [strand] = crew.due()
    assert strand.room == 1
    assert len(crew.claim(worker).jobs) == 1
    assert len(crew.slots()) == 2


def test_a_limit_raised_or_given_up_is_in_force_at_once(database: Database) -> None:
    """More slots, or none and no limit."""
    crew, worker = Crew(database, 1), uuid4()
    crew.enqueue(20)
    assert len(crew.claim(worker).jobs) == 1
    crew.limit(3)
    assert len(crew.claim(worker).jobs) == 2
    crew.limit(None)
    assert [strand.limited for strand in crew.due()] == [False]
    assert len(crew.claim(worker).jobs) == 10


def test_many_ends_at_once_keep_a_lowered_limit(database: Database) -> None:
    """Settled in one statement, slots that go and slots that stay add up to the limit."""
    crew, worker = Crew(database, 5), uuid4()
    crew.enqueue(20)
    running = crew.claim(worker)
    crew.limit(2)
    crew.finish(worker, running)
    assert crew.slots() == [None, None]


def test_a_job_that_is_kept_out_says_by_whom(database: Database) -> None:
    """State and cause; it names who has the slot."""
    crew = Crew(database, 1)
    first, second = crew.enqueue(2)
    [job] = crew.claim(uuid4()).jobs
    other = second if job.id == first else first
    [row] = database.execute("select state from tenure.all_jobs where id = %(id)s", {"id": other})
    assert row["state"] == "waiting"
    told = said(database, other, "state", "wait")
    assert "until another job of its automation ends." in told
    assert (
        f"Concurrency 1 of one is full: held by job {job.id} (running since T). It goes on when one"
        " of them ends." in told
    )


@pytest.fixture
def begin(database_url: str, meeting: Meeting) -> Iterator[Callable[[], Worker]]:
    """Starts workers that know the automations with a limit; ends them all."""
    with ExitStack() as stack:

        def begun() -> Worker:
            worker = Worker(
                database_url, "tests.kit.bounded:app", environ=meeting.environ, lease=3.0
            )
            return stack.enter_context(worker)

        yield begun


def test_a_killed_worker_blocks_no_limit(
    rows: Rows, meeting: Meeting, begin: Callable[[], Worker]
) -> None:
    """Kill -9 with a limit of one, and others in line: the lost one ends, then they do."""
    rows.declare(bounded.app)
    first = rows.enqueue("single", Order(1, "first"))
    worker = begin()
    meeting.wait_for("first")
    others = [rows.enqueue("single", Order(n, "others")) for n in (2, 3)]
    until(lambda: rows.job(others[0])["state"] == "waiting", "it is kept out")
    worker.kill()
    meeting.release("first")
    meeting.release("others")
    begin()
    for job in (first, *others):
        rows.until(job, "succeeded")
    assert rows.broken_counts() == []
    assert {row["job_id"] for row in rows.read("select job_id from tenure.slots")} == {None}
