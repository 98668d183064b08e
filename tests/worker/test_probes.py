"""A probe asks the provider what became of a send of which nobody knows, and its answer decides."""

from __future__ import annotations

from uuid import UUID

import pytest

from tenure.base.keys import child_key
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.pgproxy import Proxy, kill
from tests.kit.rows import Row, Rows
from tests.stories.conftest import Start

_SETTLE = 3.0


def _sends(rows: Rows, job: UUID, step: str) -> list[tuple[int, str, str]]:
    return [(call["send"], call["state"], call["told_by"]) for call in rows.calls(job, step)]


def _asked(crm: Emulator) -> int:
    return sum(1 for arrival in crm.arrivals if arrival.method == "GET")


def _later(rows: Rows, clock: Clock, job: UUID, *states: str) -> Row:
    """The job in one of the states; whenever it waits, the database's clock goes on at once."""

    def found() -> Row | None:
        row = rows.job(job)
        if row["state"] == "waiting":
            clock.advance(15.0)
        return row if row["state"] in states else None

    return until(found, f"job {job} is {' or '.join(states)}", 60.0)


def test_a_probe_is_asked_only_when_the_send_can_no_longer_leave(
    start: Start, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """The job waits, uncharged, until nothing can arrive any more and what did can be seen."""
    crm.fault("drop_after", path="/deals", method="POST")
    job = rows.enqueue("probed", Order(4))
    start()
    waiting = rows.until(job, "waiting", "held", "succeeded")
    assert (waiting["state"], waiting["waiting_on"]["why"]) == ("waiting", "in doubt")
    [call] = rows.calls(job, "deal")
    settled = (waiting["leased_until"] - call["send_until"]).total_seconds()
    assert settled > _SETTLE - 0.5
    assert _asked(crm) == 0
    clock.advance(20.0)
    ended = rows.until(job, "succeeded")
    assert _asked(crm) == 1
    assert (ended["failure_count"], ended["deferral_count"]) == (0, 1)


def test_a_claim_that_finds_a_send_open_waits_before_it_asks(
    start: Start, rows: Rows, proxy: Proxy, clock: Clock, crm: Emulator
) -> None:
    """Killed between send and record: the next claim waits for send_until and for the settling."""
    trap = proxy.at("records/outcomes", "before", act=kill)
    job = rows.enqueue("probed", Order(4))
    worker = start(proxy.url, call_timeout=60.0)
    trap.wait_met()
    worker.kill()
    clock.advance(10.0)
    start(call_timeout=60.0)
    waiting = rows.until(job, "waiting", "held", "succeeded")
    assert (waiting["state"], waiting["waiting_on"]["why"]) == ("waiting", "in doubt")
    assert _asked(crm) == 0
    clock.advance(70.0)
    rows.until(job, "succeeded")
    assert _sends(rows, job, "deal") == [(1, "done", "probe")]
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]


@pytest.mark.parametrize("happened", [True, False], ids=["it-happened", "it-did-not"])
def test_what_a_probe_tells_decides(
    start: Start, rows: Rows, clock: Clock, crm: Emulator, *, happened: bool
) -> None:
    """It happened: done, with its answer. It did not: sent again under its key. Either way once."""
    crm.fault("drop_after" if happened else "drop_before", path="/deals", method="POST")
    job = rows.enqueue("probed", Order(4))
    start()
    ended = _later(rows, clock, job, "succeeded", "held")
    assert ended["state"] == "succeeded"
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]
    assert ended["result"] == crm.effects[0].effect_id
    first = (1, "done" if happened else "not_sent", "probe")
    assert _sends(rows, job, "deal") == ([first] if happened else [first, (2, "done", "worker")])
    posts = {a.key for a in crm.arrivals if a.path == "/deals" and a.method == "POST"}
    assert posts == {child_key(job, "deal")}
    [look] = [call for call in rows.calls(job) if call["safe"]]
    assert look["budgets"] != []


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("cannot", "1 deals look like it"),
        ("raise", "ValueError: the CRM speaks in riddles"),
        ("change", "changes something"),
    ],
)
def test_what_a_probe_cannot_tell_is_a_question(
    start: Start, rows: Rows, clock: Clock, crm: Emulator, *, way: str, words: str
) -> None:
    """Unsure, broken or about to change something: the job is held, and says what was seen."""
    crm.fault("drop_after", path="/deals", method="POST")
    job = rows.enqueue("probed", Order(4))
    start(more={"KIT_PROBE": way})
    _later(rows, clock, job, "held")
    [question] = rows.questions(job)
    assert words in question["question"]
    assert question["step"] == "deal"
    assert len(crm.effects) == 1


@pytest.mark.parametrize("failures", [2, None], ids=["twice", "for-ever"])
def test_a_probe_that_gets_no_answer_is_asked_again_a_few_times(
    start: Start, rows: Rows, clock: Clock, crm: Emulator, failures: int | None
) -> None:
    """A provider that is down says nothing yet; one that stays down is a person's affair."""
    crm.fault("drop_after", path="/deals", method="POST")
    crm.fault("error_before", path="/deals", method="GET", status=503, times=failures)
    job = rows.enqueue("probed", Order(4))
    start()
    ended = _later(rows, clock, job, "succeeded", "held")
    assert ended["state"] == ("succeeded" if failures else "held")
    assert _asked(crm) == (3 if failures else 6)
    assert ended["failure_count"] == 0
    assert len([effect for effect in crm.effects if effect.path == "/deals"]) == 1


def test_a_probe_that_is_throttled_waits_like_any_call(
    start: Start, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """Its budget closes for all, the job gives its slot back, and the probe is asked later."""
    crm.fault("drop_after", path="/deals", method="POST")
    crm.fault("throttle", path="/deals", method="GET", retry_after=30.0)
    job = rows.enqueue("probed", Order(4))
    start()
    ended = _later(rows, clock, job, "succeeded", "held")
    assert (ended["state"], ended["failure_count"]) == ("succeeded", 0)
    assert _sends(rows, job, "deal") == [(1, "done", "probe")]


def test_a_worker_that_dies_while_it_asks_loses_nothing(
    start: Start, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """The next claim asks anew."""
    crm.fault("drop_after", path="/deals", method="POST")
    job = rows.enqueue("probed", Order(4))
    worker = start()
    rows.until(job, "waiting")
    with crm.hold("/deals", method="GET", when="before") as gate:
        clock.advance(20.0)
        gate.wait_arrived()
        worker.kill()
    clock.advance(20.0)
    start()
    ended = _later(rows, clock, job, "succeeded", "held")
    assert (ended["state"], ended["crash_count"]) == ("succeeded", 1)
    assert _sends(rows, job, "deal") == [(1, "done", "probe")]
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]


def test_a_plain_function_asks_in_a_thread(
    start: Start, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """A `def` probe is given its calls as a `def` handler is."""
    crm.fault("drop_after", path="/notes", method="POST")
    job = rows.enqueue("probed", Order(4))
    start()
    _later(rows, clock, job, "succeeded", "held")
    assert _sends(rows, job, "note") == [(1, "done", "probe")]
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]
