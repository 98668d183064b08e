"""When a step's next send begins a new epoch, as the gate and a run's memory see it alike."""

from __future__ import annotations

from uuid import uuid4

import msgspec
import pytest

from tenure.base.keys import child_key
from tenure.base.model import CallState, HandBack, Job
from tenure.store import controls, gate, holds, memory, records
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene, question_of


@pytest.fixture
def scene(database: Database) -> Scene:
    """A worker, and an automation that is live."""
    return Scene(database)


def _verdict(scene: Scene, job: Job, send: int, epoch: int) -> str:
    """The gate's word on the next send of a step, in that epoch."""
    call = scene.asked(job, "create", policy="resend", send=send, epoch=epoch)
    [answer] = gate.ask(
        scene.database, worker=scene.worker, lease=60, takes=(), reserve=0.0, calls=[call]
    )
    return answer.verdict


def _next_epoch(scene: Scene, job: Job) -> int | None:
    return memory.load(scene.database, [job.id])[job.id].sends["create"].next_epoch


def _retried(scene: Scene, job: Job) -> Job:
    """The job failed, was retried and is claimed again."""
    scene.finish(job, "failed")
    controls.retry(scene.database, job.id, actor="bob", reason="mended")
    return scene.claim()


def _held(scene: Scene, job: Job, *, over: object = None) -> int:
    """The job is held; the number of its question."""
    send_id = getattr(over, "send_id", None)
    scene.hand_back(
        HandBack(job.id, job.fence, "hold", question="?", step="create", send_id=send_id)
    )
    return question_of(scene.database, job.id)


def test_what_was_refused_leaves_again_under_a_new_key_once_an_operator_retried_it(
    scene: Scene,
) -> None:
    """Not before, not under the old key, and not two epochs ahead."""
    job = scene.running()
    scene.called(job, "create", "refused", 422)
    assert _next_epoch(scene, job) is None
    assert [_verdict(scene, job, 2, epoch) for epoch in (0, 1)] == ["known", "known"]
    job = _retried(scene, job)
    assert _next_epoch(scene, job) == 1
    assert [_verdict(scene, job, 2, epoch) for epoch in (0, 2)] == ["known", "known"]
    assert _verdict(scene, job, 2, 1) == "admitted"
    [first, again] = scene.database.execute("select key, epoch from tenure.calls order by send")
    assert (first["key"], first["epoch"]) == (child_key(job.id, "create"), 0)
    assert (again["key"], again["epoch"]) == (child_key(job.id, "create", 1), 1)


def test_within_a_jobs_own_attempts_a_refusal_stays(scene: Scene) -> None:
    """A later claim of the same job meets it again; a second retry begins a third epoch."""
    job = scene.running()
    scene.called(job, "create", "refused", 422)
    job = _retried(scene, job)
    scene.called(job, "create", "refused", 422, send=2, epoch=1)
    scene.hand_back(HandBack(job.id, job.fence, "failure"))
    job = scene.claim()
    assert _next_epoch(scene, job) is None
    assert [_verdict(scene, job, 3, epoch) for epoch in (0, 1, 2)] == ["known"] * 3
    job = _retried(scene, job)
    assert [_verdict(scene, job, 3, epoch) for epoch in (0, 1)] == ["known", "known"]
    assert _verdict(scene, job, 3, 2) == "admitted"


def test_a_hold_that_is_let_go_on_lets_its_refusals_go_too(scene: Scene) -> None:
    """Whoever says go on has mended what was refused."""
    job = scene.running()
    scene.called(job, "create", "refused", 422)
    holds.go_on(scene.database, _held(scene, job), actor="bob")
    job = scene.claim()
    assert _verdict(scene, job, 2, 1) == "admitted"


def test_an_answer_about_one_call_leaves_refusals_of_others(scene: Scene, clock: Clock) -> None:
    """What became of a call in doubt says nothing of another that was refused."""
    job = scene.running()
    scene.called(job, "create", "refused", 422)
    other = scene.called(job, "other", "unknown", 502)
    clock.advance(50)
    holds.answer(scene.database, _held(scene, job, over=other), None, actor="bob")
    job = scene.claim()
    assert _verdict(scene, job, 2, 1) == "known"


def test_a_worker_whose_claim_is_over_begins_no_epoch(scene: Scene, clock: Clock) -> None:
    """The one that was refused is not the one that sends again."""
    job = scene.running()
    scene.called(job, "create", "refused", 422)
    mine = scene.worker
    now = _retried(scene, job)
    scene.worker = uuid4()
    assert _verdict(scene, now, 2, 1) == "lost"
    scene.worker = mine
    assert _verdict(scene, job, 2, 1) == "lost"
    assert _verdict(scene, now, 2, 1) == "admitted"


def test_what_is_done_has_no_other_epoch(scene: Scene) -> None:
    """Whatever an operator lets go on, what happened is never sent again under any key."""
    job = scene.running()
    scene.called(job, "create", "done", 201)
    job = _retried(scene, job)
    assert _next_epoch(scene, job) is None
    assert [_verdict(scene, job, 2, epoch) for epoch in (0, 1, 2)] == ["known"] * 3


@pytest.mark.parametrize("state", ["unknown", "not_sent", "throttled", "overloaded", "sending"])
def test_what_was_not_refused_keeps_its_key(scene: Scene, clock: Clock, state: CallState) -> None:
    """What may have happened, or never arrived, goes under the one key it has."""
    job = scene.running()
    scene.called(job, "create", state, policy="resend")
    job = _retried(scene, job)
    clock.advance(50)
    assert _verdict(scene, job, 2, 1) == "known"
    assert _verdict(scene, job, 2, 0) == "admitted"


def test_a_refusal_settles_no_earlier_send_that_is_in_doubt(scene: Scene) -> None:
    """A credential refused on the way says nothing of what the first send did: same key."""
    job = scene.running()
    scene.called(job, "create", "unknown", 502, policy="resend")
    scene.called(job, "create", "refused", 401, policy="resend", send=2)
    job = _retried(scene, job)
    assert _next_epoch(scene, job) == 0
    assert _verdict(scene, job, 3, 1) == "known"
    assert _verdict(scene, job, 3, 0) == "admitted"


def test_a_refusal_that_the_provider_keeps_settles_them(scene: Scene) -> None:
    """What comes back from under the key is what became of every send under it."""
    job = scene.running()
    scene.called(job, "create", "unknown", 502, policy="resend")
    scene.called(job, "create", "refused", 402, policy="resend", send=2, stored=True)
    job = _retried(scene, job)
    assert _verdict(scene, job, 3, 1) == "admitted"


def test_a_persons_answer_settles_them(scene: Scene, clock: Clock) -> None:
    """Sends before one that a person answered for are in doubt no more."""
    job = scene.running()
    scene.called(job, "create", "unknown", 502, policy="resend")
    call = scene.called(job, "create", "unknown", 502, policy="resend", send=2)
    clock.advance(50)
    holds.answer(scene.database, _held(scene, job, over=call), None, actor="bob")
    job = scene.claim()
    scene.called(job, "create", "refused", 422, policy="resend", send=3)
    job = _retried(scene, job)
    assert _verdict(scene, job, 4, 0) == "known"
    assert _verdict(scene, job, 4, 1) == "admitted"


@pytest.mark.parametrize("stored", [True, False])
def test_what_did_not_happen_gets_a_new_key_where_the_old_one_keeps_its_failure(
    scene: Scene, clock: Clock, *, stored: bool
) -> None:
    """The same key would bring the same failure; where nothing is kept, it stays the one key."""
    job = scene.running()
    call = scene.called(job, "create", "unknown", 500, policy="resend", stored=stored)
    assert _verdict(scene, job, 2, 1) == "known"
    clock.advance(50)
    holds.answer(scene.database, _held(scene, job, over=call), None, actor="bob")
    job = scene.claim()
    assert _verdict(scene, job, 2, int(not stored)) == "known"
    assert _verdict(scene, job, 2, int(stored)) == "admitted"


def test_a_refusal_that_came_as_evidence_counts_as_one(scene: Scene) -> None:
    """It is adopted first; then it is a refusal like others, kept under its key or not."""
    job = scene.running()
    call = scene.called(job, "create", "sending")
    seen = scene.outcome(call, "refused", 402, stored=True)
    records.testify(scene.database, uuid4(), [seen])
    sent = memory.load(scene.database, [job.id])[job.id].sends["create"]
    assert (sent.state, sent.testified, sent.stored, sent.next_epoch) == (
        "refused",
        True,
        True,
        None,
    )


def test_sql_and_python_give_a_step_the_same_key(scene: Scene) -> None:
    """In every epoch, whatever its name is written in."""
    job = scene.enqueue()
    for step in ("create", "line-ä-日本", "a:b"):
        for epoch in (0, 1, 12):
            [row] = scene.database.execute(
                "select tenure.child_key(%(job)s, %(step)s, %(epoch)s) as key",
                {"job": job, "step": step, "epoch": epoch},
            )
            assert row["key"] == child_key(job, step, epoch)


def test_a_probe_finds_out_what_was_unknown_and_nothing_else(scene: Scene) -> None:
    """What is unknown becomes what it tells; what is known stays; a witness outweighs it."""
    job = scene.running()
    calls = {
        "unknown": scene.called(job, "unknown", "unknown", 500),
        "done": scene.called(job, "done", "done", 201),
        "witnessed": scene.called(job, "witnessed", "sending"),
    }
    seen = scene.outcome(calls["witnessed"], "done", 201)
    records.testify(scene.database, uuid4(), [seen])
    told = [
        msgspec.structs.replace(scene.outcome(call, "not_sent"), told_by="probe")
        for call in calls.values()
    ]
    assert len(records.outcomes(scene.database, scene.worker, told)) == len(calls)
    sends = memory.load(scene.database, [job.id])[job.id].sends
    assert {step: (send.state, send.status, send.told_by) for step, send in sends.items()} == {
        "unknown": ("not_sent", 500, "probe"),
        "done": ("done", 201, "worker"),
        "witnessed": ("done", 201, None),
    }
