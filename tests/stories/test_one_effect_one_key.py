"""One effect, one key: every attempt of a step sends the same request under the same key.

What is repeated is repeated only where the provider is known to absorb it, within the time it
remembers keys; otherwise the job is held and says why.
"""

from __future__ import annotations

from itertools import pairwise
from uuid import UUID

import pytest

from tenure.base.keys import child_key, wire
from tenure.testing.emulators import Distance, Emulator, KeyRule, generic
from tenure.testing.emulators.faults import Kind as Fault
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.kinds import either, live
from tests.kit.pgproxy import Proxy, kill
from tests.kit.rows import ENDED, Row, Rows, providers
from tests.kit.worker import APP, Worker
from tests.stories.conftest import Start

_DAY = 86_400.0


def _killed_before_the_outcome(start: Start, proxy: Proxy, rows: Rows, automation: str) -> UUID:
    """A job whose worker was killed with the provider's answer in hand, before it was recorded."""
    trap = proxy.at("records/outcomes", "before", act=kill)
    job = rows.enqueue(automation, Order(4))
    worker = start(proxy.url)
    trap.wait_met()
    worker.kill()
    return job


_KEPT = {
    "bookings": (KeyRule(field="meta.key"), "base64url43"),
    "forms": (KeyRule(field="key"), "hex32"),
    "invoices": (KeyRule(query="requestid"), "uuid"),
}


@pytest.mark.parametrize("where", _KEPT)
def test_a_key_in_the_body_or_the_query_is_the_same_on_every_repeat(
    start: Start, proxy: Proxy, rows: Rows, clock: Clock, where: str
) -> None:
    """Killed between send and record: the same bytes leave again, and the provider knows them."""
    rule, form = _KEPT[where]
    with Emulator(generic(keys=rule)) as emulator:
        trap = proxy.at("records/outcomes", "before", act=kill)
        job = rows.enqueue("place", where)
        worker = start(proxy.url, more={"KIT_PLACES": emulator.url})
        trap.wait_met()
        worker.kill()
        clock.advance(20.0)
        start(more={"KIT_PLACES": emulator.url})
        rows.until(job, "succeeded")
        first, again = emulator.arrivals
        key = wire(child_key(job, "put"), form)
        assert first.key == again.key == key
        assert (first.replayed, again.replayed) == (False, True)
        assert len(emulator.effects) == 1
        sent, resent = rows.calls(job, "put")
        assert (sent["url"], bytes(sent["body"])) == (resent["url"], bytes(resent["body"]))
        assert sent["wire_key"] == key
        assert (key in sent["url"]) is (where == "invoices")
        assert (key.encode() in bytes(sent["body"])) is (where != "invoices")
        assert "dempotency" not in str(sent["headers"])


def _sends(rows: Rows, job: UUID, step: str) -> list[tuple[int, str]]:
    return [(call["send"], call["state"]) for call in rows.calls(job, step)]


def test_a_repeat_of_what_may_have_happened_is_the_same_request_under_the_same_key(
    start: Start, proxy: Proxy, rows: Rows, clock: Clock, payments: Emulator
) -> None:
    """Killed between send and record, at a provider that honours keys: one effect, one key."""
    job = _killed_before_the_outcome(start, proxy, rows, "charge")
    clock.advance(20.0)
    start()
    rows.until(job, "succeeded")
    first, again = [arrival for arrival in payments.arrivals if arrival.path == "/v1/charges"]
    assert first.key == again.key == child_key(job, "charge")
    assert (first.replayed, again.replayed) == (False, True)
    bodies = {bytes(call["body"]) for call in rows.calls(job, "charge")}
    assert bodies == {f"job={job}&n=4".encode()}
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]


def test_what_no_provider_absorbs_is_held_and_says_why(
    start: Start, proxy: Proxy, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """Killed between send and record, at one that honours none: the effect stands alone."""
    job = _killed_before_the_outcome(start, proxy, rows, "deal")
    clock.advance(20.0)
    start()
    rows.until(job, "held")
    [question] = rows.questions(job)
    for words in ("POST", "/deals", "crm", child_key(job, "deal")[:12], "absorb"):
        assert words in question["question"]
    assert len(crm.arrivals) == len(crm.effects) == 1


@pytest.mark.parametrize("happened", [True, False], ids=["it-happened", "it-did-not"])
def test_a_person_answers_what_became_of_a_call(
    start: Start, rows: Rows, clock: Clock, crm: Emulator, *, happened: bool
) -> None:
    """It happened: it is not sent again. It did not: it is, under its key. Either way once."""
    crm.fault("hang_after" if happened else "hang", path="/deals")
    job = rows.enqueue("deal", Order(4))
    start(call_timeout=1.0)
    rows.until(job, "held")
    assert len(crm.effects) == happened
    clock.advance(20.0)
    rows.answer(rows.questions(job)[0]["id"], happened=happened)
    ended = rows.until(job, "succeeded")
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]
    keys = {arrival.key for arrival in crm.arrivals if arrival.path == "/deals"}
    assert keys == {child_key(job, "deal")}
    states = [(1, "done")] if happened else [(1, "not_sent"), (2, "done")]
    assert _sends(rows, job, "deal") == states
    assert (ended["failure_count"], ended["deferral_count"]) == (0, 1)


def test_beyond_the_time_a_provider_remembers_keys_nothing_is_repeated(
    start: Start, proxy: Proxy, rows: Rows, clock: Clock, payments: Emulator
) -> None:
    """A key that may be forgotten by now would make a second effect: the job is held instead."""
    job = _killed_before_the_outcome(start, proxy, rows, "charge")
    clock.advance(_DAY)
    payments.advance(_DAY)
    start()
    rows.until(job, "held")
    assert "forgotten" in rows.questions(job)[0]["question"]
    assert len(payments.effects) == 1


def test_the_first_request_wins_over_what_a_re_run_builds(
    start: Start, proxy: Proxy, rows: Rows, clock: Clock, payments: Emulator
) -> None:
    """A re-run that builds another body sends the first one, and that is journalled."""
    job = _killed_before_the_outcome(start, proxy, rows, "fickle")
    clock.advance(20.0)
    start()
    rows.until(job, "succeeded")
    assert [arrival.replayed for arrival in payments.arrivals] == [False, True]
    first, again = rows.calls(job, "charge")
    assert bytes(first["body"]) == bytes(again["body"])
    assert [line["kind"] for line in rows.journal(job)] == ["drift"]


@pytest.mark.parametrize("fault", ["hang_after", "drop_after", "half_answer", "garbage"])
def test_an_answer_that_never_came_is_asked_for_again_under_its_key(
    start: Start, rows: Rows, clock: Clock, payments: Emulator, fault: Fault
) -> None:
    """Timeout, reset, half an answer, garbage: the effect is there once, and remembered."""
    payments.fault(fault, path="/v1/charges")
    job = rows.enqueue("charge", Order(4))
    start(call_timeout=1.0)
    until(lambda: rows.job(job)["failure_count"], "the first attempt is over")
    clock.advance(20.0)
    ended = rows.until(job, "succeeded")
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]
    assert _sends(rows, job, "charge") == [(1, "unknown"), (2, "done")]
    assert ended["failure_count"] == 1


@pytest.mark.parametrize("fault", ["hang_after", "drop_after", "error_after"])
def test_an_answer_that_never_came_is_held_where_no_key_is_honoured(
    start: Start, rows: Rows, crm: Emulator, fault: Fault
) -> None:
    """What may have happened is not sent again by itself, whatever kept its answer away."""
    crm.fault(fault, path="/deals")
    job = rows.enqueue("deal", Order(4))
    start(call_timeout=1.0)
    held = rows.until(job, "held")
    assert len(crm.arrivals) == len(crm.effects) == 1
    assert _sends(rows, job, "deal") == [(1, "unknown")]
    assert held["failure_count"] == 0


def _charges(payments: Emulator) -> list[tuple[str | None, bool]]:
    """The charges that arrived: under which key, and whether it was the key that answered."""
    return [(a.key, a.replayed) for a in payments.arrivals if a.path == "/v1/charges"]


def test_a_refused_call_that_was_mended_leaves_under_a_new_key_once(
    start: Start, rows: Rows, payments: Emulator
) -> None:
    """Refused, mended, retried: the old key keeps its refusal, the new one has the one effect."""
    payments.fault("refuse", path="/v1/charges", status=402)
    job = rows.enqueue("mended", Order(4))
    worker = start()
    rows.until(job, "failed")
    worker.stop()
    rows.retry(job)
    start(more={"KIT_AMOUNT": "5"})
    rows.until(job, "succeeded")
    keys = [child_key(job, "charge"), child_key(job, "charge", 1)]
    assert _charges(payments) == [(keys[0], False), (keys[1], False)]
    first, again = rows.calls(job, "charge")
    assert (bytes(first["body"]), bytes(again["body"])) == (b"amount=0", b"amount=5")
    assert [(call["send"], call["epoch"], call["state"]) for call in (first, again)] == [
        (1, 0, "refused"),
        (2, 1, "done"),
    ]
    assert [effect.path for effect in payments.effects] == ["/v1/customers", "/v1/charges"]
    assert _sends(rows, job, "customer") == [(1, "done")]


def test_a_failure_that_its_key_keeps_is_not_asked_for_for_ever(
    start: Start, rows: Rows, clock: Clock, payments: Emulator
) -> None:
    """The repeat brings it back: a person is asked; it did not happen: a new key, one effect."""
    payments.fault("error_before", path="/v1/charges")
    job = rows.enqueue("charge", Order(4))
    start()
    rows.until(job, "held")
    [question] = rows.questions(job)
    assert "keeps that answer" in question["question"]
    old, new = child_key(job, "charge"), child_key(job, "charge", 1)
    assert _charges(payments) == [(old, False), (old, True)]
    clock.advance(20.0)
    rows.answer(question["id"], happened=False)
    rows.until(job, "succeeded")
    assert _charges(payments) == [(old, False), (old, True), (new, False)]
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]


# A handler that must wait, whatever its author wrote around the call.


def _hurried(rows: Rows, clock: Clock, job: UUID) -> Row:
    """The job once it has ended; whenever it waits, the database's clock goes on at once."""

    def ended() -> Row | None:
        found = rows.job(job)
        if found["state"] == "waiting":
            clock.advance(2.5)
        return found if found["state"] in ENDED else None

    return until(ended, "the job has ended", 60.0)


@either(APP)
@pytest.mark.parametrize("automation", ["tangle", "greedy"])
def test_a_wait_unwinds_gather_task_group_finally_and_bare_except(
    start: Start, rows: Rows, clock: Clock, crm: Emulator, *, automation: str, path: str
) -> None:
    """However a handler is written around a call that waits, its re-runs have each effect once."""
    live(rows, path)
    job = rows.enqueue(automation, Order(1))
    start(app=path, max_inline_wait=0.1, lease=60.0)
    ended = _hurried(rows, clock, job)
    paths = {
        "tangle": ["/gathered"] * 2 + ["/grouped"] * 2 + ["/guarded", "/last"],
        "greedy": ["/first", "/second"],
    }[automation]
    assert ended["state"] == "succeeded"
    assert ended["result"] == ([201] * 6 if automation == "tangle" else 1)
    assert [effect.path for effect in crm.effects] == paths
    assert crm.duplicates() == ()
    assert ended["failure_count"] == 0
    assert ended["deferral_count"] >= len(paths) - 1
    assert rows.broken_counts() == []


def test_every_call_leaves_through_a_narrow_budget_to_a_provider_far_away(
    rows: Rows, crm: Emulator, database_url: str
) -> None:
    """One a second, 400 ms away, no keys: each call leaves once, and none is held or lost."""
    jobs = [rows.enqueue("far", Order(n)) for n in range(5)]
    with (
        Distance(crm.url, 0.4) as distance,
        Worker(database_url, environ=providers(crm=distance.url), lease=30.0),
    ):
        assert rows.until_ended(len(jobs)) == {"succeeded": 5}
    assert len(crm.effects) == 5
    assert crm.duplicates() == ()
    admitted = sorted(call["admitted_at"] for job in jobs for call in rows.calls(job))
    apart = [(later - one).total_seconds() for one, later in pairwise(admitted)]
    assert min(apart) > 1.0
