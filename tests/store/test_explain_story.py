"""What a job did, and what running it again would send."""

from __future__ import annotations

import json
from typing import get_args
from uuid import uuid4

import psycopg
import pytest

from tenure.base.clock import now
from tenure.base.keys import child_key
from tenure.base.model import CallState, HandBack, Outcome, Policy, Step
from tenure.flow.run import Why
from tenure.store import controls, explain, holds, records
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene, question_of, said


def test_a_succeeded_job_says_when_and_that_nothing_is_left(database: Database) -> None:
    """A succeeded job says when, how long it took, who ran it, and that no retry is taken."""
    scene = Scene(database)
    job = scene.running()
    scene.called(job, "create-deal", "done", 201)
    scene.finish(job, "succeeded")
    assert said(database, job.id, "state", "wait") == (
        f"Succeeded at T, N after it was made, in claim 1 by worker {scene.worker} (pid 4711 on "
        "host-1)."
    )
    assert said(database, job.id, "retry", "replay") == (
        "A retry would be refused: it has ended as succeeded.\n"
        "A replay would be a new job with new keys: it would have these effects a second time: "
        "create-deal (POST /deals to crm)."
    )


def test_a_failed_job_says_why_and_what_a_retry_would_send(database: Database) -> None:
    """A failed job says its error, and of each call whether a retry sends it again, and how."""
    scene = Scene(database)
    job = scene.running()
    scene.remember(job, Step("big-deal", "decision", None, "true"))
    called: list[tuple[str, CallState, int | None, Policy, str | None]] = [
        ("a-done", "done", 201, "hold", None),
        ("b-refused", "refused", 422, "hold", None),
        ("c-throttled", "throttled", 429, "resend", None),
        ("d-unsent", "not_sent", None, "hold", "no connection"),
        ("e-unknown", "unknown", 502, "resend", "502: bad gateway"),
        ("f-open", "sending", None, "hold", None),
    ]
    keys = {
        step: scene.called(job, step, state, status, policy=policy, why=why).key[:12]
        for step, state, status, policy, why in called
    }
    scene.finish(job, "failed", error_class="CallRefused", error="crm refused POST /deals\nTrace")
    assert said(database, job.id, "state", "wait") == (
        "Failed for good at T (failures: 1): CallRefused: crm refused POST /deals"
    )
    assert said(database, job.id, "step") == "Decision big-deal: yes, at T in claim 1."
    head, *calls = said(database, job.id, "retry").splitlines()
    assert head == (
        "A retry would run it again from its first line under the same id and the same keys, "
        f"but for what was refused (tenure retry {job.id}). Remembered steps, decisions and "
        "sleeps: 1; calls: 6:"
    )
    name = "(POST /deals to crm)"
    assert "\n".join(calls) == (
        f"a-done {name}: not sent again; its answer (201) is remembered.\n"
        f"b-refused {name}: refused (422) under the key {keys['b-refused']}; sent again under a "
        f"new key {child_key(job.id, 'b-refused', 1)[:12]}, as you corrected it.\n"
        f"c-throttled {name}: sent again under the same key {keys['c-throttled']}; crm did not act "
        "on it.\n"
        f"d-unsent {name}: sent, under the same key {keys['d-unsent']}; nothing of it ever left.\n"
        f"e-unknown {name}: in doubt; sent again under the same key {keys['e-unknown']} while crm "
        "remembers it (first sent N ago), else held with a question.\n"
        f"f-open {name}: in doubt; not sent again, but held with a question, as crm is not known "
        f"to absorb a repeat under the key {keys['f-open']}."
    )
    assert said(database, job.id, "replay") == (
        "A replay would be a new job with new keys: it would have these effects a second time: "
        "a-done (POST /deals to crm), e-unknown (POST /deals to crm), f-open (POST /deals to crm)."
    )


def test_a_refusal_is_met_again_until_somebody_lets_the_job_go_on(database: Database) -> None:
    """A job that runs by itself meets its refusal again; once retried, it sends the call again."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create", "refused", 422)
    name = "create (POST /deals to crm)"
    met = "not sent again; its refusal (422) is remembered, and the handler meets it again."
    assert said(database, job.id, "retry").splitlines()[1] == f"{name}: {met}"
    scene.finish(job, "failed")
    controls.retry(database, job.id, actor="bob")
    again = f"refused (422) under the key {call.key[:12]}; sent again under a new key "
    assert said(database, job.id, "retry").splitlines()[1] == (
        f"{name}: {again}{child_key(job.id, 'create', 1)[:12]}, as you corrected it."
    )
    scene.claim()
    assert "as you corrected it" in said(database, job.id, "retry")


def test_what_a_provider_keeps_under_a_key_is_told(database: Database, clock: Clock) -> None:
    """A repeat would bring the kept answer again: held; and where it did not happen, a new key."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create", "unknown", 500, policy="resend", stored=True)
    name = "create (POST /deals to crm)"
    assert said(database, job.id, "retry").splitlines()[1] == (
        f"{name}: in doubt; not sent again, but held with a question, as crm keeps its answer "
        f"(500) under the key {call.key[:12]}."
    )
    scene.hand_back(
        HandBack(job.id, job.fence, "hold", question="?", step="create", send_id=call.send_id)
    )
    number = question_of(database, job.id)
    new = child_key(job.id, "create", 1)[:12]
    assert said(database, job.id, "retry").splitlines()[1] == (
        f"{name}: in doubt; the answer to question {number} decides: it happened: not sent again, "
        f"it did not: sent under a new key {new}, as crm keeps its answer under the key "
        f"{call.key[:12]}."
    )
    clock.advance(60)
    holds.answer(database, number, None, actor="bob")
    assert said(database, job.id, "retry").splitlines()[1] == (
        f"{name}: it did not happen, and crm keeps its answer (500) under the key {call.key[:12]}; "
        f"sent under a new key {new}."
    )


def test_what_a_probe_will_be_asked_is_told(database: Database) -> None:
    """A call whose provider can be asked says so, and what follows from each answer."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create", "unknown", 502, policy="probe")
    assert said(database, job.id, "retry").splitlines()[1] == (
        "create (POST /deals to crm): in doubt; its probe asks crm what became of it: it happened: "
        f"not sent again, it did not: sent under the same key {call.key[:12]}, it cannot tell: "
        "held with a question."
    )


def test_a_refusal_after_a_send_in_doubt_is_told_as_in_doubt(database: Database) -> None:
    """What was refused before its key was looked at tells nothing of the send before it."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create", "unknown", 502, policy="resend")
    scene.called(job, "create", "refused", 401, policy="resend", send=2)
    scene.finish(job, "failed")
    assert said(database, job.id, "retry").splitlines()[1] == (
        "create (POST /deals to crm): refused (401) while an earlier send is in doubt; sent again "
        f"under the same key {call.key[:12]} while crm remembers it (first sent N ago), else held "
        "with a question."
    )


@pytest.mark.parametrize("why", get_args(Why))
def test_every_kind_of_wait_has_its_sentence(database: Database, why: str) -> None:
    """Whatever a job waits for, the attempt that ended in it says so in words of its own."""
    scene = Scene(database)
    job = scene.running()
    waits = json.dumps({"why": why, "step": "s", "provider": "crm", "budget": "main"})
    scene.hand_back(HandBack(job.id, job.fence, "deferral", 60.0, waits=waits))
    found = said(database, job.id, "attempt")
    words = found.partition("handed it back at T: ")[2].removesuffix(". No attempt was used.")
    assert len(words.split()) > 3
    [row] = database.execute("select tenure.said_wait('{}') as nothing")
    assert words != row["nothing"]


def test_a_wait_of_no_known_kind_is_not_let_in(database: Database) -> None:
    """A reason that has no sentence cannot be stored."""
    scene = Scene(database)
    job = scene.running()
    with pytest.raises(psycopg.errors.CheckViolation, match="a_wait_is_of_a_known_kind"):
        scene.hand_back(HandBack(job.id, job.fence, "deferral", waits='{"why": "odd"}'))


def test_a_cancelled_job_says_by_whom(database: Database) -> None:
    """A cancelled job says when, by whom and why."""
    scene = Scene(database)
    job = scene.enqueue()
    controls.cancel(database, job, actor="bob", reason="wrong customer")
    assert said(database, job, "state", "wait") == "Cancelled at T by bob: wrong customer."
    assert said(database, job, "retry") == "A retry would be refused: it has ended as cancelled."


def test_an_open_send_says_until_when_it_may_leave(database: Database, clock: Clock) -> None:
    """A call without an outcome says until when it may still leave, or could."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create-deal", "sending", policy="resend")
    assert "no outcome yet; it may still leave until T. Key" in said(database, job.id, "call")
    assert said(database, job.id, "retry").splitlines()[1] == (
        "create-deal (POST /deals to crm): in doubt, and may still leave until T; sent again under "
        f"the same key {call.key[:12]} while crm remembers it (first sent N ago), else held with "
        "a question."
    )
    clock.advance(40)
    assert "in doubt: no outcome is on record, and it could leave until T. Key" in said(
        database, job.id, "call"
    )


def test_evidence_is_told_and_counted_in(database: Database) -> None:
    """What a worker saw after its claim was over is told, and a retry goes by it."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create-deal", "sending")
    records.testify(database, scene.worker, [scene.outcome(call, "done", 201)])
    assert said(database, job.id, "call").splitlines()[1] == (
        f"Evidence on a send: worker {scene.worker} (pid 4711 on host-1) saw done (201) at T, "
        "after its claim was over."
    )
    assert said(database, job.id, "retry").splitlines()[1] == (
        "create-deal (POST /deals to crm): not sent again; its answer (201) is remembered."
    )


def test_a_dry_run_says_that_it_sent_nothing(database: Database) -> None:
    """A suppressed call is told as what it is; whether a replay sends it is for today's stage."""
    scene = Scene(database, stage="dry_run")
    job = scene.running()
    call = scene.asked(job, "create-deal")
    outcome = Outcome(
        job=job.id,
        fence=job.fence,
        send_id=call.send_id,
        step=call.step,
        send=1,
        state="suppressed",
        status=200,
    )
    records.calls(database, scene.worker, [records.Closed(call, [], 0.0, outcome)])
    assert "suppressed, a stand-in answered (200). Key" in said(database, job.id, "call")
    assert said(database, job.id, "replay") == (
        "A replay would be a new job in mode dry_run, as lead now stands: it would send nothing "
        "that changes anything."
    )
    database.execute("update tenure.automations set stage = 'live'")
    assert said(database, job.id, "replay") == (
        "A replay would be a new job with new keys: it would have these effects for the first "
        "time: create-deal (POST /deals to crm)."
    )


def test_the_journal_and_the_timeline_tell_the_story(database: Database) -> None:
    """Journal lines are told, and the timeline has every moment in order."""
    scene = Scene(database)
    job = scene.running()
    entry = records.Entry(job.id, job.fence, "log", "looked up ann")
    records.journal(database, scene.worker, [entry])
    scene.called(job, "create-deal", "done", 201)
    scene.finish(job, "succeeded")
    assert said(database, job.id, "journal") == "T log: looked up ann"
    assert [moment.what for moment in explain.timeline(database, job.id)] == [
        "made",
        "claimed",
        "log",
        "call",
        "done",
        "succeeded",
    ]


def test_a_long_story_is_cut_where_it_is_oldest(database: Database) -> None:
    """Of a journal of hundreds of lines the newest 200 are told, and where the others are."""
    scene = Scene(database)
    job = scene.enqueue()
    database.execute(
        "insert into tenure.journal (job_id, kind, said)"
        " select %(job)s, 'log', 'line ' || g from generate_series(1, 250) as g",
        {"job": job},
    )
    lines = said(database, job, "journal").splitlines()
    assert len(lines) == 201
    assert lines[0] == "Earlier lines are in tenure.journal."
    assert lines[1] == "T log: line 51"
    assert lines[-1] == "T log: line 250"


def test_an_unknown_job_has_no_sentences(database: Database) -> None:
    """Of a job that does not exist, nothing is said."""
    assert explain.sentences(database, uuid4()) == []
    assert explain.timeline(database, uuid4()) == []


def test_one_job_among_many_is_explained_at_once(database: Database) -> None:
    """A job among a hundred thousand is found by its id alone, and explained within a second."""
    scene = Scene(database)
    database.execute(
        "insert into tenure.jobs (leased_until, strand, home, mode, automation, version, lane,"
        " created_by) select tenure.now() - interval '1 ms' * g, s.id, s.id, 'live', 'lead', 'v1',"
        " 'free', 'ann' from generate_series(1, 50000) as g, tenure.strands as s"
        " where s.live and not s.quarantine"
    )
    database.execute(
        "insert into tenure.finished_jobs (id, created_at, home, fence, failure_count,"
        " crash_count, deferral_count, quarantine_crashes, failure_base, quarantine_base, priority,"
        " status, mode, automation, version, lane, created_by)"
        " select tenure.uuid7(), tenure.now(), 1, 1, 0, 0, 0, 0, 0, 0, 5, 'succeeded', 'live',"
        " 'lead', 'v1', 'free', 'ann' from generate_series(1, 50000)"
    )
    database.execute("analyze tenure.jobs, tenure.finished_jobs")
    job = scene.enqueue()
    plan = database.execute(
        "explain select * from tenure.explain where job_id = %(job)s", {"job": job}
    )
    told = "\n".join(row["QUERY PLAN"] for row in plan)
    assert "Seq Scan on jobs" not in told
    assert "Seq Scan on finished_jobs" not in told
    began = now()
    assert "more than 1000 jobs are ahead of it." in said(database, job, "state")
    assert now() - began < 1.0
