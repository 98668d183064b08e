"""A provider that asks to wait is left alone by all that would call it, not by the one it told."""

from __future__ import annotations

from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.rows import Rows
from tests.stories.conftest import Start


def test_a_throttle_keeps_other_automations_and_workers_away(
    start: Start, rows: Rows, clock: Clock, crm: Emulator
) -> None:
    """One job is told to wait an hour: neither another automation nor another worker calls."""
    crm.fault("throttle", path="/deals", method="POST", retry_after=3600.0)
    first = rows.enqueue("deal", Order(1))
    start()
    rows.until(first, "waiting")
    second = rows.enqueue("survey", Order(1))
    start()
    for n in range(4):
        rows.until(rows.enqueue("charge", Order(n)), "succeeded")
    assert [arrival.path for arrival in crm.arrivals] == ["/deals"]
    [budget] = rows.read(
        "select closed_until > tenure.clock() + interval '59 minutes' as closed, closed_by"
        "  from tenure.budgets where provider = 'crm'"
    )
    assert budget["closed"]
    assert budget["closed_by"].startswith("crm: 429")
    clock.advance(3601.0)
    for job in (first, second):
        assert rows.until(job, "succeeded")["failure_count"] == 0
