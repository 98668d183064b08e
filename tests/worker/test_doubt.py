"""What is in doubt waits; what has come is on record before anything follows from it."""

from __future__ import annotations

from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.pgproxy import Proxy, kill
from tests.kit.rows import Rows
from tests.stories.conftest import Start

# Seconds: long enough that a call may still be on its way when its worker's lease has run out.
_TIMEOUT = 60.0


def test_a_send_in_doubt_waits_until_it_can_no_longer_leave(
    start: Start, rows: Rows, proxy: Proxy, clock: Clock, payments: Emulator
) -> None:
    """The next claim hands the job back until then, uncharged; only after that it is sent again."""
    trap = proxy.at("records/outcomes", "before", act=kill)
    job = rows.enqueue("charge", Order(4))
    worker = start(proxy.url, call_timeout=_TIMEOUT)
    trap.wait_met()
    worker.kill()
    clock.advance(10.0)
    start(call_timeout=_TIMEOUT)
    waiting = rows.until(job, "waiting", "succeeded")
    assert waiting["state"] == "waiting"
    assert waiting["waiting_on"]["why"] == "in doubt"
    assert (waiting["worker_id"], waiting["failure_count"]) == (None, 0)
    assert [arrival.path for arrival in payments.arrivals] == ["/v1/charges"]
    clock.advance(_TIMEOUT)
    ended = rows.until(job, "succeeded")
    assert [arrival.replayed for arrival in payments.arrivals] == [False, True, False]
    assert (ended["failure_count"], ended["crash_count"], ended["deferral_count"]) == (0, 1, 1)


def test_nothing_goes_on_before_the_outcome_is_on_record(
    start: Start, rows: Rows, proxy: Proxy, crm: Emulator
) -> None:
    """While the outcome of a call is not committed its handler sends nothing more; others do."""
    trap = proxy.at("records/outcomes", "before", hold=True)
    job = rows.enqueue("deal", Order(1))
    start(proxy.url)
    trap.wait_met()
    for n in range(5):
        rows.until(rows.enqueue("stand", Order(n)), "succeeded")
    assert [arrival.path for arrival in crm.arrivals] == ["/deals"]
    assert [(call["step"], call["state"]) for call in rows.calls(job)] == [("deal", "sending")]
    assert rows.job(job)["state"] == "running"
    proxy.clear()
    rows.until(job, "succeeded")
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]
