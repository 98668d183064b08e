"""The demo's judgement: each promise can be broken, and then it says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from uuid import UUID, uuid4

import msgspec
import pytest

from tenure.cli.demo import summary
from tenure.cli.demo.crash import Crash
from tenure.cli.demo.events import Delivery, Replay, Victim
from tenure.cli.demo.ledgers import Ledgers, Seen
from tenure.cli.demo.outcome import Outcome
from tenure.cli.demo.sender import Told
from tenure.store.tour import Calls, Made

_JOB = uuid4()
_EVENTS = {name: uuid4() for name in ("evt_refund", "msg_lead")}
_REFUND = Delivery(
    0.0, "stripe", "evt_refund", "charge.refunded", b"", effects=("stripe/charges evt_refund",)
)
_LEAD = Delivery(0.0, "leads", "msg_lead", "lead", b"", effects=("hubspot/contacts lead_1",))
_FORGED = Delivery(0.0, "stripe", "evt_forged", "charge.refunded", b"", signed="aged")


def _seen(name: str, limit: int, peak: int) -> Seen:
    return Seen(name, limit, peak, 1.0, "all", requests=2, throttled=0, repeated=0, effects=1)


def _made(event: UUID, state: str = "succeeded", why: str | None = None, id: UUID = _JOB) -> Made:
    return Made(id, event, "refund", "live", state, why)


def _good() -> Outcome:
    """All is as it should be."""
    return Outcome(
        postgres=18,
        workers=2,
        seconds=3.0,
        replay=Replay((_REFUND, _LEAD, _FORGED), Victim("evt_refund", "/v1/charges/ch_1"), 0),
        told=[
            Told(_REFUND, 200, "accepted", _EVENTS["evt_refund"], 1),
            Told(_LEAD, 200, "accepted", _EVENTS["msg_lead"], 1),
            Told(_LEAD, 200, "duplicate", _EVENTS["msg_lead"], 0),
            Told(_FORGED, 401, "stale"),
        ],
        jobs=[_made(_EVENTS["evt_refund"]), _made(_EVENTS["msg_lead"], id=uuid4())],
        calls=[Calls("stripe", "done", 2, 1), Calls("resend", "suppressed", 1, 0)],
        ledgers=Ledgers(
            (_seen("stripe", 25, 25), _seen("hubspot", 100, 3)),
            Counter(["stripe/charges evt_refund", "hubspot/contacts lead_1"]),
        ),
        crash=Crash(4711, "w", _JOB, "refund", "/v1/charges/ch_1", "k"),
        explained=[],
        questions=[],
        answered=[],
        moves=[],
    )


def _changed(**fields: object) -> Outcome:
    return msgspec.structs.replace(_good(), **fields)


def _with_effects(*names: str) -> Outcome:
    ledgers = _good().ledgers
    return _changed(ledgers=Ledgers(ledgers.seen, Counter([*ledgers.effects, *names])))


def _without_effect(name: str) -> Outcome:
    ledgers = _good().ledgers
    left = Counter({it: count for it, count in ledgers.effects.items() if it != name})
    return _changed(ledgers=Ledgers(ledgers.seen, left))


def _with_told(*more: Told) -> Outcome:
    return _changed(told=[*_good().told, *more])


def _with_job(state: str, why: str | None = None) -> Outcome:
    first, second = _good().jobs
    return _changed(jobs=[first, msgspec.structs.replace(second, state=state, why=why)])


def test_a_demo_in_which_all_is_well_says_so() -> None:
    """Where every number is as promised, no promise is broken."""
    outcome = _good()
    assert outcome.broken == []
    told = summary.as_json(outcome)
    assert (told["ok"], told["events"], told["duplicates"], told["lost"]) == (True, 2, 0, 0)
    assert told["workers_killed"] == 1


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (lambda: _with_job("ready"), "Nothing accepted is lost"),
        (lambda: _with_job("lost"), "Nothing accepted is lost"),
        (lambda: _with_job("waiting"), "Nothing accepted is lost"),
        (lambda: _changed(jobs=_good().jobs[:1]), "Nothing accepted is lost"),
        (lambda: _without_effect("hubspot/contacts lead_1"), "Nothing accepted is lost"),
        (lambda: _with_effects("hubspot/contacts lead_1"), "One effect, one key"),
        (
            lambda: _changed(ledgers=Ledgers((_seen("resend", 5, 6),), _good().ledgers.effects)),
            "No provider sees more than its limit",
        ),
        (
            lambda: _with_told(Told(_FORGED, 200, "accepted", uuid4(), 1)),
            "Nothing enters unasked",
        ),
        (lambda: _with_told(Told(_LEAD, 401, "bad_signature")), "Nothing enters unasked"),
        (lambda: _with_told(Told(_LEAD, 0, "unanswered")), "Nothing enters unasked"),
        (
            lambda: _with_told(Told(_LEAD, 200, "accepted", _EVENTS["msg_lead"], 1)),
            "Nothing enters unasked",
        ),
        (
            lambda: _with_told(Told(_LEAD, 200, "duplicate", uuid4(), 0)),
            "Nothing enters unasked",
        ),
        (lambda: _changed(crash=None), "A worker that dies takes nothing with it"),
        (
            lambda: _with_effects("stripe/charges evt_refund"),
            "A worker that dies takes nothing with it",
        ),
        (
            lambda: _changed(jobs=[_made(_EVENTS["evt_refund"], "held"), _good().jobs[1]]),
            "A worker that dies takes nothing with it",
        ),
        (lambda: _with_effects("resend/emails evt_forged"), "A dry run changes nothing"),
        (lambda: _changed(calls=[]), "A dry run changes nothing"),
    ],
)
def test_each_promise_can_be_broken(spoiled: Callable[[], Outcome], promise: str) -> None:
    """Whatever is not as promised makes the demo fail, under the name of that promise."""
    outcome = spoiled()
    assert promise in [broken.promise for broken in outcome.broken]
    assert summary.as_json(outcome)["ok"] is False


def test_a_job_that_waits_with_a_reason_or_is_held_is_not_lost() -> None:
    """Held and waiting jobs stand with their reason: nothing of them is lost."""
    assert not _with_job("held").lost
    assert not _with_job("waiting", why="budget").lost
    assert not _with_job("failed").lost
