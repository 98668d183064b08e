"""Questions that jobs wait with, and what an answer does."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tenure.base.errors import NothingMatched, NotYet, Refused
from tenure.base.model import HandBack
from tenure.store import controls, gate, holds, memory, records
from tenure.store.database import Database
from tenure.store.holds import Happened
from tests.conftest import Clock
from tests.store.scene import Scene, question_of, said


def test_a_witness_outweighs_a_guess(database: Database, clock: Clock) -> None:
    """Who says that a call did not happen is refused where a worker has seen that it did."""
    scene = Scene(database)
    _, call = scene.in_doubt()
    clock.advance(60)
    seen = scene.outcome(call, "done", 201)
    assert records.testify(database, uuid4(), [seen]) == {call.send_id}
    [question] = holds.listed(database, limit=10)
    with pytest.raises(Refused, match="came back late"):
        holds.answer(database, question.id, None, actor="ann")


def test_open_questions_are_listed_with_what_they_take(database: Database, clock: Clock) -> None:
    """A question about a call says from when it can be answered; another can be at once."""
    scene = Scene(database)
    job, call = scene.in_doubt()
    other = scene.running()
    scene.hand_back(HandBack(other.id, other.fence, "hold", question="Really?"))
    doubt, plain = holds.listed(database)
    assert (doubt.job_id, doubt.automation, doubt.step) == (job.id, "lead", call.step)
    assert doubt.in_doubt
    assert doubt.not_before is not None
    assert (plain.question, plain.in_doubt, plain.not_before) == ("Really?", False, None)
    clock.advance(60)
    assert holds.listed(database)[0].not_before is None


def test_an_answer_is_not_taken_while_the_call_may_still_leave(
    database: Database, clock: Clock
) -> None:
    """Nobody can say what became of a call that may still leave; afterwards the answer is taken."""
    scene = Scene(database)
    job, _ = scene.in_doubt()
    number = question_of(database, job.id)
    with pytest.raises(NotYet, match="the call may still leave until 20"):
        holds.answer(database, number, None, actor="bob")
    assert scene.row(job.id)["state"] == "held"
    clock.advance(60)
    assert holds.answer(database, number, None, actor="bob") == job.id
    assert scene.row(job.id)["state"] == "ready"


def test_an_answered_call_can_no_longer_leave(database: Database) -> None:
    """What became of a call that was answered 500 can be said at once: it has left."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create-deal", "unknown", 500, why="500: no usable answer")
    scene.hand_back(
        HandBack(
            job.id, job.fence, "hold", question="Did it?", step=call.step, send_id=call.send_id
        )
    )
    [question] = holds.listed(database)
    assert (question.in_doubt, question.not_before) == (True, None)
    assert "not before" not in said(database, job.id, "wait")
    assert holds.answer(database, question.id, None, actor="bob") == job.id


def test_a_witness_of_an_answer_ends_the_wait_for_it(database: Database) -> None:
    """Evidence that a call was answered says as well that it can no longer leave."""
    scene = Scene(database)
    job, call = scene.in_doubt()
    assert holds.listed(database)[0].not_before is not None
    records.testify(database, uuid4(), [scene.outcome(call, "done", 201)])
    assert holds.listed(database)[0].not_before is None
    holds.answer(database, question_of(database, job.id), Happened(201), actor="bob")


def test_what_happened_is_done_and_never_sent_again(database: Database, clock: Clock) -> None:
    """Told that it happened, the job goes on with the response, and the gate admits no repeat."""
    scene = Scene(database)
    job, call = scene.in_doubt()
    clock.advance(60)
    happened = Happened(201, b'{"id": 7}')
    holds.answer(
        database, question_of(database, job.id), happened, actor="bob", reason="seen in crm"
    )
    send = memory.load(database, [job.id])[job.id].sends[call.step]
    assert (send.state, send.status, send.answer, send.told_by) == (
        "done",
        201,
        b'{"id": 7}',
        "operator",
    )
    again = scene.claim()
    assert (again.id, again.fence) == (job.id, 2)
    asked = scene.asked(again, call.step, send=2)
    [answer] = gate.ask(
        database, worker=scene.worker, lease=60, takes=[], reserve=0.0, calls=[asked]
    )
    assert answer.verdict == "known"


def test_what_did_not_happen_is_sent_again_under_the_same_key(
    database: Database, clock: Clock
) -> None:
    """Told that it did not happen, the job goes on, and the gate admits the same key once more."""
    scene = Scene(database)
    job, call = scene.in_doubt()
    clock.advance(60)
    holds.answer(database, question_of(database, job.id), None, actor="bob")
    assert memory.load(database, [job.id])[job.id].sends[call.step].state == "not_sent"
    again = scene.claim()
    asked = scene.asked(again, call.step, send=2)
    scene.admit(asked)
    assert asked.key == call.key


def test_an_answer_without_an_outcome_on_record_is_one(database: Database, clock: Clock) -> None:
    """A send of which nothing at all was recorded gets its outcome from the operator."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create-deal", "sending")
    scene.hand_back(
        HandBack(
            job.id, job.fence, "hold", question="Did it?", step=call.step, send_id=call.send_id
        )
    )
    clock.advance(60)
    holds.answer(database, question_of(database, job.id), Happened(), actor="bob")
    send = memory.load(database, [job.id])[job.id].sends[call.step]
    assert (send.state, send.status, send.answer) == ("done", 200, None)


def test_an_answer_leaves_one_audit_row_with_what_was_known_before(
    database: Database, clock: Clock
) -> None:
    """Who answered what, why, and what the call's record was before, stands in one audit row."""
    scene = Scene(database)
    job, _ = scene.in_doubt(why="502: bad gateway")
    number = question_of(database, job.id)
    clock.advance(60)
    holds.answer(database, number, Happened(201), actor="bob", reason="seen", origin="cli")
    [row] = scene.audit(f"job:{job.id}")
    assert (row["actor"], row["act"], row["reason"], row["origin"]) == (
        "bob",
        "job.answer",
        "seen",
        "cli",
    )
    assert row["before"] == {"state": "unknown", "status": None, "why": "502: bad gateway"}
    assert row["after"] == {"question": number, "answer": "happened"}


def test_who_asks_is_on_record(database: Database, clock: Clock) -> None:
    """A call in doubt, a handler, an operator, too many crashes: each hold says which it is."""
    scene = Scene(database)
    crashed = scene.held_for_crashes(clock)
    doubtful, _ = scene.in_doubt()
    asking = scene.running()
    scene.hand_back(HandBack(asking.id, asking.fence, "hold", question="Really?"))
    running = scene.running()
    controls.hold(database, running.id, actor="ann", reason="look first.")
    scene.hand_back(HandBack(running.id, running.fence, "deferral"))
    waiting = scene.enqueue()
    controls.hold(database, waiting, actor="bob", reason="not today")
    found = database.execute("select job_id, kind, question from tenure.holds order by id")
    assert [(row["job_id"], row["kind"]) for row in found] == [
        (crashed.id, "crashes"),
        (doubtful.id, "doubt"),
        (asking.id, "handler"),
        (running.id, "operator"),
        (waiting, "operator"),
    ]
    assert [row["question"] for row in found[3:]] == [
        "Held by ann: look first. Go on?",
        "Held by bob: not today. Go on?",
    ]
    assert said(database, running.id, "wait").endswith(
        "Held by ann: look first. Go on? Answer it with: tenure hold answer 4 --go-on"
    )


def test_a_question_that_is_not_about_a_call_is_let_go_on(database: Database) -> None:
    """A job that its handler held goes on when somebody says so, at no cost in attempts."""
    scene = Scene(database)
    job = scene.running()
    scene.hand_back(HandBack(job.id, job.fence, "hold", question="Really?"))
    number = question_of(database, job.id)
    assert holds.go_on(database, number, actor="bob") == job.id
    again = scene.claim()
    assert (again.id, again.fence, again.failures) == (job.id, 2, 0)


def test_a_job_let_out_of_quarantine_is_not_held_at_its_next_crash(
    database: Database, clock: Clock
) -> None:
    """Let go on after its crashes, a job has all of them again before it is held."""
    scene = Scene(database)
    job = scene.held_for_crashes(clock)
    holds.go_on(database, question_of(database, job.id), actor="bob")
    scene.claim(quarantine=True)
    clock.advance(90)
    scene.worker = uuid4()
    scene.arrive()
    assert scene.claim(quarantine=True).id == job.id


def test_the_wrong_kind_of_answer_is_refused(database: Database, clock: Clock) -> None:
    """A call in doubt is not let go on unanswered; what is no call has not happened or not."""
    scene = Scene(database)
    job, _ = scene.in_doubt()
    other = scene.running()
    scene.hand_back(HandBack(other.id, other.fence, "hold", question="Really?"))
    clock.advance(60)
    with pytest.raises(Refused, match="is about a call that is in doubt"):
        holds.go_on(database, question_of(database, job.id), actor="bob")
    with pytest.raises(Refused, match="is not about a call in doubt"):
        holds.answer(database, question_of(database, other.id), Happened(), actor="bob")


def test_a_question_about_a_call_that_is_done_is_let_go_on(database: Database) -> None:
    """An author's question that names a call whose answer is known takes no answer about it."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create-deal", "done", 201)
    scene.hand_back(
        HandBack(job.id, job.fence, "hold", question="Odd.", step=call.step, send_id=call.send_id)
    )
    number = question_of(database, job.id)
    with pytest.raises(Refused, match="is not about a call in doubt"):
        holds.answer(database, number, None, actor="bob")
    assert holds.go_on(database, number, actor="bob") == job.id


def test_a_question_is_answered_once(database: Database, clock: Clock) -> None:
    """The second answer is refused, with the first one and who gave it."""
    scene = Scene(database)
    job, _ = scene.in_doubt()
    number = question_of(database, job.id)
    clock.advance(60)
    holds.answer(database, number, None, actor="bob")
    with pytest.raises(Refused, match=r"was answered at .* by bob: did_not"):
        holds.answer(database, number, Happened(), actor="eve")


def test_a_question_of_a_cancelled_job_needs_no_answer(database: Database) -> None:
    """A cancelled job asks nothing any more."""
    scene = Scene(database)
    job, _ = scene.in_doubt()
    number = question_of(database, job.id)
    controls.cancel(database, job.id, actor="bob")
    with pytest.raises(Refused, match="by bob: cancelled"):
        holds.answer(database, number, None, actor="bob")
    assert holds.listed(database) == []


def test_an_unknown_question_says_so(database: Database) -> None:
    """An answer to a question that nobody asked matches nothing."""
    with pytest.raises(NothingMatched, match=r"unknown question \(99\)"):
        holds.answer(database, 99, None, actor="bob")
    with pytest.raises(NothingMatched, match="no question of this job is open"):
        holds.of_job(database, uuid4())
