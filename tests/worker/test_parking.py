"""A job that waits for a provider's budget waits in that provider's strand, not in its own lane."""

from __future__ import annotations

from tenure.testing.emulators import Emulator
from tests.kit.automations import Order
from tests.kit.rows import Rows
from tests.stories.conftest import Start


def test_a_job_that_waits_for_a_budget_is_parked_in_its_providers_strand(
    start: Start, rows: Rows, crm: Emulator
) -> None:
    """Its row stays due; the closed strand hides it, and its opening writes no job."""
    crm.fault("throttle", path="/far", retry_after=3600.0)
    job = rows.enqueue("far", Order(1))
    worker = start()
    rows.until(job, "waiting")
    [parked] = rows.read(
        "select s.lane, h.lane as home, j.leased_until <= tenure.clock() as due, j.worker_id,"
        "       s.closed_until > tenure.clock() + interval '30 minutes' as closed, s.closed_by"
        "  from tenure.jobs as j join tenure.strands as s on s.id = j.strand"
        "  join tenure.strands as h on h.id = j.home"
    )
    assert (parked["lane"], parked["home"]) == ("slow", "free")
    assert (parked["due"], parked["closed"], parked["worker_id"]) == (True, True, None)
    assert parked["closed_by"].startswith("slow")
    before = rows.job(job)
    rows.read(
        "update tenure.strands set closed_until = '-infinity' where lane = 'slow' returning id"
    )
    assert rows.job(job) == {**before, "state": "ready"}
    assert worker.stop() == 0
