"""What an operator does to a job: retry, cancel, hold."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from tenure.base.clock import now
from tenure.base.errors import NothingMatched, Refused
from tenure.base.model import HandBack, Step
from tenure.store import claims, controls, explain, memory
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene, question_of


def counts(scene: Scene, job: UUID) -> tuple[str, int, int, int, int]:
    """State, fence, failures, crashes and deferrals of a job."""
    row = scene.row(job)
    return (
        row["state"],
        row["fence"],
        row["failure_count"],
        row["crash_count"],
        row["deferral_count"],
    )


def failed(scene: Scene, *, key: str | None = None) -> UUID:
    """A job that has failed once."""
    scene.enqueue(key=key)
    job = scene.claim()
    scene.finish(job, "failed", error_class="ValueError", error="no")
    return job.id


def test_a_failed_job_is_retried_under_its_id_and_claimed_at_once(database: Database) -> None:
    """A retried job is back under its id, its finished row is gone, and a worker claims it."""
    scene = Scene(database)
    job = failed(scene)
    assert controls.retry(database, job, actor="bob", reason="mended") == "failed"
    assert counts(scene, job) == ("ready", 1, 1, 0, 0)
    assert database.execute("select 1 from tenure.finished_jobs") == []
    claimed = scene.claim()
    assert (claimed.id, claimed.fence, claimed.failures) == (job, 2, 0)


def test_a_retried_job_remembers_what_it_did(database: Database) -> None:
    """Steps and calls of a failed job are remembered by its retry, which so sends nothing twice."""
    scene = Scene(database)
    job = scene.running()
    scene.remember(job, Step("fetch", "step", None, '{"a": 1}'))
    scene.called(job, "create-deal", "done", 201)
    scene.finish(job, "failed", error_class="ValueError", error="no")
    controls.retry(database, job.id, actor="bob")
    remembered = memory.load(database, [job.id])[job.id]
    assert remembered.steps["fetch"].result == '{"a": 1}'
    assert remembered.sends["create-deal"].state == "done"


def test_a_retry_takes_its_unique_key_again(database: Database) -> None:
    """A retried job holds its unique key again, so that the same key makes no second job."""
    scene = Scene(database)
    job = failed(scene, key="deal-7")
    controls.retry(database, job, actor="bob")
    assert scene.enqueue(key="deal-7") == job


def test_a_retry_is_refused_where_another_job_holds_the_key(database: Database) -> None:
    """A retry whose unique key another job holds is refused with that job's id."""
    scene = Scene(database)
    job = failed(scene, key="deal-7")
    holder = scene.enqueue(key="deal-7")
    with pytest.raises(Refused, match=rf"its unique key \(deal-7\) is held by job {holder}"):
        controls.retry(database, job, actor="bob")
    assert scene.row(job)["state"] == "failed"
    assert scene.audit(f"job:{job}") == []


def test_a_held_job_is_retried_and_its_question_closed(database: Database) -> None:
    """A job that its handler held is ready again after a retry, and asks nothing any more."""
    scene = Scene(database)
    job = scene.running()
    scene.hand_back(HandBack(job.id, job.fence, "hold", question="Go on?"))
    assert controls.retry(database, job.id, actor="bob") == "held"
    assert counts(scene, job.id) == ("ready", 1, 0, 0, 1)
    [row] = database.execute("select answer, answered_by from tenure.holds")
    assert (row["answer"], row["answered_by"]) == ("retried", "bob")


def test_a_retry_is_refused_while_a_call_is_in_doubt(database: Database) -> None:
    """A job held over a call that may have happened is not retried before somebody answers."""
    scene = Scene(database)
    job, _ = scene.in_doubt()
    number = question_of(database, job.id)
    with pytest.raises(Refused, match=rf"in doubt \(question {number}\)") as refused:
        controls.retry(database, job.id, actor="bob")
    assert refused.value.hint == (
        f"Answer it first: tenure hold answer {number} --happened, or --did-not"
    )


@pytest.mark.parametrize("status", ["succeeded", "cancelled"])
def test_what_has_ended_well_is_not_retried(database: Database, status: str) -> None:
    """A succeeded or cancelled job is not retried: it would run again for nothing."""
    scene = Scene(database)
    job = scene.running()
    scene.finish(job, "succeeded" if status == "succeeded" else "cancelled")
    with pytest.raises(Refused, match=f"has ended \\({status}\\)"):
        controls.retry(database, job.id, actor="bob")


def test_what_has_not_ended_is_not_retried(database: Database) -> None:
    """A job that is ready or running is not retried: its next claim comes anyway."""
    scene = Scene(database)
    job = scene.enqueue()
    with pytest.raises(Refused, match="has not ended"):
        controls.retry(database, job, actor="bob")


def test_an_unclaimed_job_is_cancelled_at_once(database: Database) -> None:
    """A job that nobody runs is cancelled in the act, its fence as it was and its key free."""
    scene = Scene(database)
    job = scene.enqueue(key="deal-7")
    assert controls.cancel(database, job, actor="bob", reason="wrong") == "cancelled"
    assert counts(scene, job) == ("cancelled", 0, 0, 0, 0)
    assert scene.enqueue(key="deal-7") != job


def test_a_held_job_is_cancelled_and_its_question_closed(database: Database) -> None:
    """A held job is cancelled in the act, and nobody is asked about it any more."""
    scene = Scene(database)
    job, _ = scene.in_doubt()
    assert controls.cancel(database, job.id, actor="bob") == "cancelled"
    assert counts(scene, job.id) == ("cancelled", 1, 0, 0, 1)
    assert database.execute("select 1 from tenure.holds where answer is null") == []


def test_a_running_job_is_asked_to_stop(database: Database) -> None:
    """A job that somebody runs keeps its claim; its worker hears of the cancel."""
    scene = Scene(database)
    job = scene.running()
    assert controls.cancel(database, job.id, actor="bob") == "asked"
    row = scene.row(job.id)
    assert (row["state"], row["request"], row["fence"]) == ("running", "cancel", 1)


def test_a_lost_job_is_cancelled_with_its_crash_counted(database: Database, clock: Clock) -> None:
    """A job whose lease ran out is cancelled in the act; how its claim ended is on record."""
    scene = Scene(database)
    job = scene.running()
    clock.advance(90)
    assert controls.cancel(database, job.id, actor="bob") == "cancelled"
    assert counts(scene, job.id) == ("cancelled", 1, 0, 1, 0)
    [attempt] = database.execute("select fence, ended, worker_id from tenure.attempts")
    assert (attempt["fence"], attempt["ended"]) == (1, "crash")
    assert attempt["worker_id"] == scene.worker


def test_an_unclaimed_job_is_held_at_once(database: Database) -> None:
    """A job that nobody runs is held in the act, and no claim finds it."""
    scene = Scene(database)
    job = scene.enqueue()
    assert controls.hold(database, job, actor="bob", reason="look first.") == "held"
    assert counts(scene, job) == ("held", 0, 0, 0, 0)
    [row] = database.execute("select question from tenure.holds")
    assert row["question"] == "Held by bob: look first. Go on?"
    strands = claims.dispatch(database, automations=["lead"], live=True, quarantine=False, after=0)
    quotas = {strand.id: 10 for strand in strands}
    claimed = claims.claim(database, worker=scene.worker, lease=60, quotas=quotas, quarantine=False)
    assert claimed.rows == 0


def test_a_running_job_is_asked_to_be_held(database: Database) -> None:
    """A job that somebody runs keeps its claim; who asked is told with the question."""
    scene = Scene(database)
    job = scene.running()
    assert controls.hold(database, job.id, actor="bob", reason="look first") == "asked"
    assert scene.row(job.id)["request"] == "hold"
    scene.hand_back(HandBack(job.id, job.fence, "hold"))
    told = [line.sentence for line in explain.sentences(database, job.id) if line.part == "wait"]
    assert "Held by bob: look first. Go on? Answer it with:" in told[0]


def test_a_lost_job_is_held_with_its_crash_counted(database: Database, clock: Clock) -> None:
    """A job whose lease ran out is held in the act; its former worker can no longer end it."""
    scene = Scene(database)
    job = scene.running()
    clock.advance(90)
    assert controls.hold(database, job.id, actor="bob", reason="look") == "held"
    assert counts(scene, job.id) == ("held", 1, 0, 1, 0)


def test_a_held_or_ended_job_is_not_held(database: Database) -> None:
    """What is held already, about to be cancelled, or over, is not held."""
    scene = Scene(database)
    held = scene.enqueue()
    controls.hold(database, held, actor="bob", reason="look")
    with pytest.raises(Refused, match="is held already"):
        controls.hold(database, held, actor="bob", reason="look")
    stopping = scene.running()
    controls.cancel(database, stopping.id, actor="bob")
    with pytest.raises(Refused, match="is about to be cancelled"):
        controls.hold(database, stopping.id, actor="bob", reason="look")
    scene.finish(stopping, "cancelled")
    with pytest.raises(Refused, match=r"has ended \(cancelled\)"):
        controls.hold(database, stopping.id, actor="bob", reason="look")


def test_an_act_on_no_job_says_so(database: Database) -> None:
    """An act on a job that does not exist raises, and nothing is written."""
    nobody = uuid4()
    for act in (controls.retry, controls.cancel):
        with pytest.raises(NothingMatched, match=f"unknown job \\({nobody}\\)"):
            act(database, nobody, actor="bob")
    assert database.execute("select 1 from tenure.audit") == []


def test_each_act_leaves_one_audit_row(database: Database) -> None:
    """Retry, cancel and hold each leave who did it, why, from where, and what changed."""
    scene = Scene(database)
    job = failed(scene)
    controls.retry(database, job, actor="bob", reason="mended", origin="cli")
    controls.hold(database, job, actor="eve", reason="look")
    controls.cancel(database, job, actor="bob")
    told = [
        (row["actor"], row["act"], row["before"], row["after"], row["reason"], row["origin"])
        for row in scene.audit(f"job:{job}")
    ]
    assert told == [
        ("bob", "job.retry", {"status": "failed"}, {"status": "pending"}, "mended", "cli"),
        ("eve", "job.hold", {"status": "pending"}, {"status": "held"}, "look", "sql"),
        (
            "bob",
            "job.cancel",
            {"status": "held", "request": None},
            {"status": "cancelled"},
            None,
            "sql",
        ),
    ]


@contextlib.contextmanager
def before(database: Database, act: Callable[[Database], object]) -> Iterator[None]:
    """What the body does is not committed when another connection's act meets its lock."""
    other, observer = Database(database.url, name="tenure other"), Database(database.url)
    meets = (
        "select 1 from pg_stat_activity where application_name = 'tenure other'"
        " and datname = current_database() and wait_event_type = 'Lock'"
    )
    with ThreadPoolExecutor(1) as pool:
        with database.transaction():
            yield
            outcome = pool.submit(act, other)
            deadline = now() + 20
            while not observer.execute(meets):
                assert now() < deadline
                assert not outcome.done()
        with pytest.raises(Refused, match=r"has (not )?ended"):
            outcome.result(20)
    other.close()
    observer.close()


def test_of_two_retries_at_once_one_is_refused(database: Database) -> None:
    """A second retry waits for the first, and then finds a job that has not ended."""
    scene = Scene(database)
    job = failed(scene)
    with before(database, lambda other: controls.retry(other, job, actor="eve")):
        controls.retry(database, job, actor="bob")
    assert [row["actor"] for row in scene.audit(f"job:{job}")] == ["bob"]


def test_a_cancel_that_meets_the_end_of_a_job_comes_too_late(database: Database) -> None:
    """A cancel waits for a settle under way, and then finds a job that has ended."""
    scene = Scene(database)
    job = scene.running()
    with before(database, lambda other: controls.cancel(other, job.id, actor="eve")):
        scene.finish(job, "succeeded")
    assert scene.row(job.id)["state"] == "succeeded"


def test_an_act_in_plain_sql_is_done_in_the_callers_name(database: Database) -> None:
    """Called from SQL without an actor, an act stands in the name the session set."""
    scene = Scene(database)
    job = scene.enqueue()
    with database.transaction():
        database.execute("select set_config('tenure.actor', 'ann', true)")
        database.execute("select tenure.cancel(%(job)s)", {"job": job})
    [row] = scene.audit(f"job:{job}")
    assert (row["actor"], row["origin"]) == ("ann", "sql")
