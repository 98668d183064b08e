"""A worker whose claim is over cannot act: it settles nothing, records nothing, passes no gate.

A worker is frozen at a point between claim and settle, its lease runs out, another worker does the
job, and the first one is thawed: what it then does must change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest

from tenure.base.clock import now
from tenure.base.model import Finish, HandBack, Job, Outcome, Step
from tenure.store import ends, records
from tenure.store.database import Busy
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.hands import Hand, beside, taken_from
from tests.kit.pgproxy import Proxy, freeze
from tests.kit.rows import Rows
from tests.kit.worker import Worker
from tests.stories.conftest import Start

_LEASE = 10.0
# The send window of the kit's providers, and their calls' time beside it.
_WINDOW = 2.0
_TIMEOUT = 60.0


class Frozen(NamedTuple):
    """A worker that stands still over a job, and since when."""

    worker: Worker
    pid: int
    job: UUID
    since: float

    @property
    def id(self) -> str:
        """The worker's name in rows."""
        return self.worker.worker_id()


class Scene:
    """A job whose worker is frozen at a statement, and the worker that takes over."""

    def __init__(self, proxy: Proxy, rows: Rows, start: Start, clock: Clock) -> None:
        """Nothing has begun."""
        self._proxy, self._rows, self._start, self._clock = proxy, rows, start, clock

    def frozen_at(self, statement: str, when: str, automation: str = "charge") -> Frozen:
        """A job's worker frozen at its first pass of a statement."""
        trap = self._proxy.at(
            statement, "after" if when == "after" else "before", act=freeze, hold=True
        )
        worker = self._start(self._proxy.url, lease=_LEASE, call_timeout=_TIMEOUT)
        worker.wait_ready()
        job = self._rows.enqueue(automation, Order(5))
        pid = trap.wait_met().pid
        return Frozen(worker, pid, job, now())

    def taken_over(self, frozen: Frozen, *states: str) -> Worker:
        """Another worker, once it has brought the job to one of the states."""
        other = self._start(lease=60.0, call_timeout=_TIMEOUT)
        self._clock.advance(_LEASE + 1.0)
        until(lambda: self._rows.job(frozen.job)["crash_count"], "the lapse was found")
        self._clock.advance(_WINDOW + _TIMEOUT + 1.0)
        self._rows.until(frozen.job, *states)
        return other

    def thaw(self, frozen: Frozen) -> None:
        """Let the frozen worker go on, and its statement through."""
        frozen.worker.thaw()
        self._proxy.clear()

    def late(self, frozen: Frozen) -> None:
        """Wait until an admission from before the freeze is older than its send window."""
        until(lambda: now() > frozen.since + _WINDOW, "the admission is too old")


@pytest.fixture
def scene(proxy: Proxy, rows: Rows, start: Start, clock: Clock) -> Scene:
    """A scene of the test's own."""
    return Scene(proxy, rows, start, clock)


def _paths(emulator: Emulator) -> list[str]:
    return [arrival.path for arrival in emulator.arrivals]


def test_frozen_before_the_gate_it_is_refused_and_sends_nothing(
    scene: Scene, proxy: Proxy, rows: Rows, payments: Emulator
) -> None:
    """With its connection open and its claim over, it asks the gate and is refused."""
    frozen = scene.frozen_at("gate/gate", "before")
    assert payments.connections == 1
    scene.taken_over(frozen, "succeeded")
    scene.thaw(frozen)
    proxy.wait_answered(frozen.pid, "gate/gate")
    assert frozen.worker.stop() == 0
    assert _paths(payments) == ["/v1/charges", "/v1/refunds"]
    assert all(str(call["worker_id"]) != frozen.id for call in rows.calls(frozen.job))
    assert rows.evidence(frozen.job) == []


def test_frozen_after_the_gate_it_drops_what_it_was_admitted_for(
    scene: Scene, proxy: Proxy, rows: Rows, payments: Emulator
) -> None:
    """Its admission is older than the send window: nothing leaves, and it says so as evidence."""
    frozen = scene.frozen_at("gate/gate", "after")
    scene.taken_over(frozen, "succeeded")
    scene.late(frozen)
    scene.thaw(frozen)
    proxy.wait_answered(frozen.pid, "records/testify")
    assert frozen.worker.stop() == 0
    assert _paths(payments) == ["/v1/charges", "/v1/refunds"]
    [told] = rows.evidence(frozen.job)
    assert (told["state"], str(told["worker_id"])) == ("not_sent", frozen.id)
    states = [(call["send"], call["state"]) for call in rows.calls(frozen.job, "charge")]
    assert states == [(1, "sending"), (2, "done")]


def test_what_leaves_within_the_send_window_is_the_one_effect(
    scene: Scene,
    proxy: Proxy,
    rows: Rows,
    start: Start,
    clock: Clock,
    *,
    crm: Emulator,
    hand: Hand,
) -> None:
    """Thawed in time it sends what it was admitted for, and only testifies; nobody repeats it."""
    for _ in range(5):  # a busy machine may be too slow to thaw it in time
        frozen = scene.frozen_at("gate/gate", "after", "deal")
        clock.advance(_LEASE + 1.0)
        taken_from(hand, rows.database, frozen.job)
        scene.thaw(frozen)
        proxy.wait_answered(frozen.pid, "records/testify")
        assert frozen.worker.stop() == 0
        if [told["state"] for told in rows.evidence(frozen.job)] == ["done"]:
            break
    else:
        pytest.fail("nothing left in time, ever")
    clock.advance(hand.lease + 1.0)
    start(lease=60.0, call_timeout=_TIMEOUT)
    rows.until(frozen.job, "succeeded")
    body = f'{{"job":"{frozen.job}","n":5}}'
    assert [effect.body for effect in crm.effects if effect.path == "/deals"].count(body) == 1
    [call] = rows.calls(frozen.job, "deal")
    assert (call["state"], call["told_by"]) == ("done", "evidence")


def test_frozen_in_the_middle_of_a_call_it_can_only_testify(
    scene: Scene, proxy: Proxy, rows: Rows, start: Start, payments: Emulator
) -> None:
    """Its answer comes when its claim is over: evidence is all that it leaves."""
    worker = start(proxy.url, lease=_LEASE, call_timeout=_TIMEOUT)
    pid = worker.wait_ready()
    with payments.hold("/v1/charges", when="after") as gate:
        job = rows.enqueue("charge", Order(5))
        gate.wait_arrived()
        worker.freeze(pid)
    frozen = Frozen(worker, pid, job, now())
    scene.taken_over(frozen, "succeeded")
    scene.thaw(frozen)
    proxy.wait_answered(pid, "records/testify")
    assert worker.stop() == 0
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]
    assert [told["state"] for told in rows.evidence(job)] == ["done"]
    states = [(call["send"], call["state"]) for call in rows.calls(job, "charge")]
    assert states == [(1, "sending"), (2, "done")]


def test_a_stale_outcome_goes_in_as_evidence(
    scene: Scene, proxy: Proxy, rows: Rows, crm: Emulator
) -> None:
    """The outcome of a call whose claim is over changes nothing; it is kept beside."""
    frozen = scene.frozen_at("records/outcomes", "before", "deal")
    scene.taken_over(frozen, "held")
    scene.thaw(frozen)
    proxy.wait_answered(frozen.pid, "records/testify")
    assert frozen.worker.stop() == 0
    [call] = rows.calls(frozen.job)
    assert (call["state"], call["open"]) == ("sending", True)
    assert [told["state"] for told in rows.evidence(frozen.job)] == ["done"]
    assert rows.job(frozen.job)["state"] == "held"
    assert len(crm.effects) == 1


def test_a_stale_step_is_not_recorded(
    scene: Scene, proxy: Proxy, rows: Rows, payments: Emulator
) -> None:
    """What it computed is not remembered, and what would have followed is not sent."""
    frozen = scene.frozen_at("records/steps", "before")
    scene.taken_over(frozen, "succeeded")
    scene.thaw(frozen)
    proxy.wait_answered(frozen.pid, "records/steps")
    assert frozen.worker.stop() == 0
    assert rows.steps(frozen.job)["weigh"]["fence"] == rows.job(frozen.job)["fence"]
    assert _paths(payments) == ["/v1/charges", "/v1/refunds"]
    assert proxy.answered[frozen.pid, "gate/gate"] == 0


def test_a_stale_settle_changes_no_row(scene: Scene, proxy: Proxy, rows: Rows) -> None:
    """The job has ended under another claim, and stays as it ended."""
    frozen = scene.frozen_at("ends/finish", "before")
    scene.taken_over(frozen, "succeeded")
    before = rows.job(frozen.job)
    scene.thaw(frozen)
    proxy.wait_answered(frozen.pid, "ends/finish")
    assert frozen.worker.stop() == 0
    assert rows.job(frozen.job) == before
    assert str(before["worker_id"]) != frozen.id
    assert frozen.worker.said("the claim was over before it ended")
    assert rows.broken_counts() == []


# One job, a claim and a stale question at the gate, in both orders.


@pytest.fixture
def hand(database_url: str) -> Iterator[Hand]:
    """Another worker, by hand."""
    hand = Hand(database_url)
    yield hand
    hand.close()


@pytest.fixture
def former(database_url: str) -> Iterator[Hand]:
    """A worker, by hand, whose claim will be over."""
    former = Hand(database_url)
    yield former
    former.close()


def _strand(rows: Rows, job: UUID) -> int:
    return int(rows.job(job)["strand"])


def test_a_gate_behind_a_claim_waits_and_is_refused(
    rows: Rows, clock: Clock, hand: Hand, former: Hand
) -> None:
    """While a claim of the job is not committed the former worker's gate waits; then it is lost."""
    job = rows.enqueue("deal", Order())
    [mine] = former.claim(_strand(rows, job))
    clock.advance(former.lease + 1.0)
    assert hand.claim(_strand(rows, job)) == ()
    apart = _strand(rows, job)
    with hand.database.transaction():
        [theirs] = hand.claim(apart, quarantine=True)
        asked = beside(lambda: former.ask(mine))
        until(lambda: former.waits(rows.database), "the gate waits for the job's row")
        assert not asked.done()
    assert asked.result(20.0).verdict == "lost"
    assert rows.calls(job) == []
    assert hand.ask(theirs).verdict == "admitted"


def test_a_claim_behind_a_gate_passes_over(
    rows: Rows, clock: Clock, hand: Hand, former: Hand
) -> None:
    """While a gate of the job is open no claim takes it, nor after: its lease is renewed."""
    job = rows.enqueue("deal", Order())
    strand = _strand(rows, job)
    [mine] = former.claim(strand)
    clock.advance(former.lease - 3.0)
    with former.database.transaction():
        assert former.ask(mine).verdict == "admitted"
        clock.advance(4.0)
        assert rows.job(job)["state"] == "lost"
        assert hand.claim(strand) == ()
    assert rows.job(job)["state"] == "running"
    assert hand.claim(strand) == ()
    assert rows.job(job)["worker_id"] == former.worker
    clock.advance(former.lease)
    assert former.ask(mine, "note").verdict == "lost"
    assert [call["step"] for call in rows.calls(job)] == ["deal"]


def test_a_lease_that_ran_out_refuses_the_gate_though_nobody_claimed(
    rows: Rows, clock: Clock, former: Hand
) -> None:
    """The gate needs an unexpired lease by the database's clock, not by the worker's."""
    job = rows.enqueue("deal", Order())
    [mine] = former.claim(_strand(rows, job))
    clock.advance(former.lease + 0.5)
    assert former.ask(mine).verdict == "lost"
    assert rows.calls(job) == []
    assert rows.job(job)["worker_id"] == former.worker


def _step(hand: Hand, job: Job) -> object:
    return records.steps(
        hand.database, hand.worker, [records.Kept(job.id, job.fence, Step("s", "step", None, "1"))]
    )


def _outcome(hand: Hand, job: Job) -> object:
    told = Outcome(job.id, job.fence, uuid4(), "deal", 1, "done", 200)
    return records.outcomes(hand.database, hand.worker, [told])


def _line(hand: Hand, job: Job) -> object:
    entry = records.Entry(job.id, job.fence, "log", "still here")
    return records.journal(hand.database, hand.worker, [entry])


def _finish(hand: Hand, job: Job) -> object:
    end = Finish(job.id, job.fence, "succeeded", "1")
    return ends.finish(hand.database, hand.worker, [end]).done


def _hand_back(hand: Hand, job: Job) -> object:
    end = HandBack(job.id, job.fence, "deferral", 1.0)
    return ends.hand_back(hand.database, hand.worker, [end]).done


@pytest.mark.parametrize("write", [_step, _outcome, _line, _finish, _hand_back])
def test_whatever_it_writes_behind_a_claim_waits_and_is_not_written(
    rows: Rows, clock: Clock, hand: Hand, former: Hand, write: Callable[[Hand, Job], object]
) -> None:
    """The row of the job is the fence: a write that meets a claim under way changes nothing."""
    job = rows.enqueue("deal", Order())
    [mine] = former.claim(_strand(rows, job))
    clock.advance(former.lease + 1.0)
    with hand.database.transaction():
        taken_from(hand, hand.database, job)
        written = beside(lambda: _patiently(lambda: write(former, mine)))
        until(lambda: former.waits(rows.database), "it waits for the job's row")
        assert not written.done()
    assert not written.result(20.0)
    assert (rows.steps(job), rows.calls(job), rows.journal(job)) == ({}, [], [])
    found = rows.job(job)
    assert (found["state"], found["fence"], found["worker_id"]) == ("running", 2, hand.worker)
    assert rows.read("select from tenure.outcomes") == []
    assert [attempt["ended"] for attempt in rows.attempts(job)] == ["crash"]


def _patiently(write: Callable[[], object]) -> object:
    while True:
        try:
            return write()
        except Busy:
            continue  # a worker asks again; waiting longer than a second is what this is about


@pytest.mark.parametrize("write", [_step, _outcome, _line, _finish, _hand_back])
def test_a_fence_alone_proves_no_claim(
    rows: Rows, hand: Hand, former: Hand, write: Callable[[Hand, Job], object]
) -> None:
    """After a failover a fence may have been given twice: the worker's name is asked for too."""
    job = rows.enqueue("deal", Order())
    [claimed] = hand.claim(_strand(rows, job))
    before = rows.job(job)
    assert not write(former, claimed)
    assert former.ask(claimed).verdict == "lost"
    assert rows.job(job) == before
    assert (rows.steps(job), rows.calls(job), rows.journal(job)) == ({}, [], [])
    assert write(hand, claimed)
