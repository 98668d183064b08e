"""A job is re-run, not resumed: what it was given once it is given again."""

from __future__ import annotations

import json

from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.kinds import either, live
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.kit.worker import APP
from tests.stories.conftest import Start


@either(APP)
def test_a_re_run_is_given_what_the_first_run_was_given(
    start: Start, rows: Rows, meeting: Meeting, clock: Clock, path: str
) -> None:
    """Time, uuids, chance, steps and decisions are the same in another process, a day later."""
    live(rows, path)
    job = rows.enqueue("recall", Order(1))
    first = start(app=path, lease=5.0)
    [before] = meeting.wait_for("given")
    first.kill()
    clock.advance(86_400.0)
    start(app=path)
    _, again = meeting.wait_for("given", 2)
    assert again.pid != before.pid
    assert json.loads(again.brought) == json.loads(before.brought)
    meeting.release("given")
    ended = rows.until(job, "succeeded")
    given = json.loads(before.brought)
    assert ended["result"] == given
    assert given[1] != given[2]
    assert given[0] <= given[4]
    assert given[5] == str(before.pid)


@either(APP)
def test_a_step_given_other_arguments_keeps_its_first_result_and_says_so(
    start: Start, rows: Rows, meeting: Meeting, clock: Clock, path: str
) -> None:
    """What differs between two runs is journalled, by the step's name."""
    live(rows, path)
    job = rows.enqueue("recall", Order(1))
    first = start(app=path, lease=5.0)
    [before] = meeting.wait_for("given")
    first.kill()
    clock.advance(60.0)
    meeting.release("given")
    start(app=path)
    rows.until(job, "succeeded")
    assert rows.steps(job)["weighed"]["result"] == 2 * before.pid
    [line] = rows.journal(job)
    assert (line["kind"], line["detail"]) == ("drift", {"step": "weighed"})


@either(APP)
def test_a_read_is_remembered_where_it_has_a_name(
    start: Start, rows: Rows, clock: Clock, crm: Emulator, path: str
) -> None:
    """A re-run makes a nameless read again, and a named one never."""
    live(rows, path)
    job = rows.enqueue("look", Order(1))
    start(app=path)
    rows.until(job, "waiting")
    clock.advance(61.0)
    assert rows.until(job, "succeeded", "failed")["state"] == "succeeded"
    assert [arrival.path for arrival in crm.arrivals] == ["/named", "/nameless", "/nameless"]
    assert len([call for call in rows.calls(job) if call["safe"]]) == 3


@either(APP)
def test_a_cancel_lets_a_call_under_way_end_and_keeps_its_answer(
    start: Start, rows: Rows, crm: Emulator, path: str
) -> None:
    """The handler is unwound at once, the call is carried to its end, and then the job ends."""
    live(rows, path)
    job = rows.enqueue("deal", Order(1))
    with crm.hold("/deals", when="after") as gate:
        start(app=path)
        gate.wait_arrived()
        seen = rows.one("select last_seen from tenure.workers")["last_seen"]
        rows.read("select tenure.cancel(%(id)s, 'test', 'test')", id=job)
        until(
            lambda: rows.one("select last_seen from tenure.workers")["last_seen"] > seen,
            "its worker has heard of it",
        )
        assert rows.job(job)["state"] == "running"
    rows.until(job, "cancelled")
    assert [(call["step"], call["state"]) for call in rows.calls(job)] == [("deal", "done")]
    assert [effect.path for effect in crm.effects] == ["/deals"]
    assert rows.broken_counts() == []
