"""Every job explains itself: what happened, what it waits for, until when, and what comes next.

The jobs here were brought to their states by real workers, providers and people; what is said of
them is what anybody reads with one query.
"""

from __future__ import annotations

import re
from uuid import UUID

from tenure.base.keys import child_key
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.stories.conftest import Start

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def _told(rows: Rows, job: UUID) -> dict[str, list[str]]:
    """What is said of a job, by part; every one of it a sentence."""
    found = rows.read(
        "select part, sentence from tenure.explain where job_id = %(id)s order by position", id=job
    )
    told: dict[str, list[str]] = {}
    for row in found:
        assert row["sentence"], row
        told.setdefault(row["part"], []).append(row["sentence"])
    assert found[0]["part"] == "state"
    assert len(told["state"]) == 1
    assert {"state", "job", "retry", "replay"} <= told.keys()
    return told


def test_a_job_that_succeeded_tells_what_it_did(start: Start, rows: Rows) -> None:
    """Its steps, its calls with key and answer, who ran it, and that a replay does it all again."""
    job = rows.enqueue("charge", Order(1))
    worker = start()
    rows.until(job, "succeeded")
    told = _told(rows, job)
    assert told["state"][0].startswith("Succeeded at ")
    assert f"worker {worker.worker_id()}" in told["state"][0]
    assert any("Step weigh" in line for line in told["step"])
    assert any(
        "Call charge" in line and child_key(job, "charge")[:12] in line and "done" in line
        for line in told["call"]
    )
    assert "second time" in told["replay"][0]
    assert "wait" not in told


def test_a_job_that_waits_says_for_what_and_until_when(
    start: Start, rows: Rows, crm: Emulator
) -> None:
    """A sleep and a provider that asked for patience: since, until, by whom, and how it ends."""
    crm.fault("throttle", path="/deals", retry_after=3600.0)
    sleeper, throttled = rows.enqueue("nap", Order(1)), rows.enqueue("deal", Order(1))
    start()
    until(lambda: rows.states() == {"waiting": 2}, "both wait")
    for job, words in ((sleeper, "sleeps"), (throttled, "crm asked to wait (throttled)")):
        told = _told(rows, job)
        assert told["state"][0].startswith("Waiting since ")
        [wait] = [line for line in told["wait"] if words in line]
        assert len(_INSTANT.findall(wait)) == 2
        assert wait.endswith("It ends by itself.")
        assert "No attempt was used" in told["attempt"][0]
    assert "nothing" not in _told(rows, throttled)["retry"][1]


def test_a_job_in_doubt_says_what_was_sent_and_how_to_answer(
    start: Start, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """What, when, to whom, under which key; the command that answers; what each answer leads to."""
    crm.fault("drop_after", path="/deals")
    job = rows.enqueue("deal", Order(1))
    start()
    rows.until(job, "held")
    told = _told(rows, job)
    [question] = rows.questions(job)
    asked = next(line for line in told["wait"] if line.startswith(f"Question {question['id']}"))
    for words in (f"{crm.url}/deals", "crm", child_key(job, "deal")[:12], "tenure hold answer"):
        assert words in asked
    assert "it happened: not sent again" in told["retry"][1]
    assert "refused until question" in told["retry"][0]
    clock.advance(60.0)
    rows.answer(question["id"], happened=True)
    rows.until(job, "succeeded")
    after = _told(rows, job)
    assert any("told by an operator" in line for line in after["call"])
    assert any("test" in line and "answer" in line for line in after["act"])


def test_a_job_that_failed_says_why_and_what_a_retry_meets(
    start: Start, rows: Rows, crm: Emulator
) -> None:
    """The refusal in the provider's words, and that a retry sends it again under a new key."""
    crm.fault("refuse", path="/notes", status=422, body='{"error": "no such deal"}')
    job = rows.enqueue("deal", Order(1))
    start()
    rows.until(job, "failed")
    told = _told(rows, job)
    assert "CallRefused" in told["state"][0]
    assert "no such deal" in told["state"][0]
    assert "same id and the same keys" in told["retry"][0]
    by_step = {line.split(" ")[0]: line for line in told["retry"][1:]}
    assert "not sent again; its answer (201) is remembered" in by_step["deal"]
    assert "refused (422)" in by_step["note"]
    assert child_key(job, "note", 1)[:12] in by_step["note"]
    assert "new key" in by_step["note"]


def test_a_job_says_who_runs_it_and_when_its_worker_is_gone(
    start: Start, rows: Rows, clock: Clock, meeting: Meeting
) -> None:
    """Running, lost, then ready for nobody: each says who has it, or that nobody knows it."""
    job = rows.enqueue("charge", Order(1, "here"))
    worker = start(lease=5.0)
    meeting.wait_for("here")
    told = _told(rows, job)
    assert told["state"][0].startswith("Running since ")
    assert worker.worker_id() in told["state"][0]
    assert "its lease ends at" in told["state"][0]
    worker.kill()
    clock.advance(70.0)
    lost = _told(rows, job)
    assert lost["state"][0].startswith("Lost since ")
    assert any("No living worker knows charge" in line for line in lost["wait"])
    assert any("not sent again" in line for line in lost["retry"])
    meeting.release("here")
    start()
    rows.until(job, "succeeded")
    assert any("went without a word" in line for line in _told(rows, job)["attempt"])


def test_a_job_that_a_person_stopped_says_who_and_why(
    start: Start, rows: Rows, meeting: Meeting
) -> None:
    """Cancelled and held: by whom, when, for which reason."""
    waiting, running = rows.enqueue("nap", Order(1)), rows.enqueue("stand", Order(1, "here"))
    start()
    meeting.wait_for("here")
    rows.until(waiting, "waiting")
    rows.read("select tenure.hold_job(%(id)s, 'look at it first', 'ada')", id=waiting)
    rows.read("select tenure.cancel(%(id)s, 'no longer wanted', 'ada')", id=running)
    rows.until(running, "cancelled")
    held, cancelled = _told(rows, waiting), _told(rows, running)
    assert held["state"][0].startswith("Held since ")
    assert any("ada" in line and "look at it first" in line for line in held["wait"])
    assert "by ada: no longer wanted" in cancelled["state"][0]
    assert any("ada: cancel (no longer wanted)" in line for line in cancelled["act"])


def test_a_job_that_nobody_knows_says_so(rows: Rows) -> None:
    """Ready, and ready for ever, unless somebody starts a worker: that is what it says."""
    job = rows.enqueue("stand", Order(1))
    told = _told(rows, job)
    assert told["state"][0].startswith("Ready since ")
    assert any(
        "No living worker knows stand" in line and "tenure worker" in line for line in told["wait"]
    )
