"""The heartbeat keeps beating, whatever its duties come to."""

from __future__ import annotations

from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.pgproxy import Proxy
from tests.kit.rows import Rows
from tests.stories.conftest import Start


def test_a_duty_that_fails_stops_no_heartbeat(start: Start, rows: Rows, meeting: Meeting) -> None:
    """A duty that the database refuses is said aloud; leases are renewed all the same."""
    rows.database.execute("drop function tenure.make_partitions")
    job = rows.enqueue("stand", Order(1, "here"))
    worker = start(lease=3.0)
    meeting.wait_for("here")
    until(lambda: worker.said("make_partitions"), "the duty has failed")
    seen = rows.job(job)["heartbeat_at"]
    until(lambda: rows.job(job)["heartbeat_at"] > seen, "the lease is renewed")
    assert rows.job(job)["state"] == "running"


def test_rows_that_came_before_their_partition_stay_in_the_default(
    start: Start, rows: Rows, clock: Clock
) -> None:
    """After months without a worker the present week is late; all weeks from then on are made."""
    clock.advance(90 * 86_400.0)
    job = rows.enqueue("stand", Order(1))
    start()
    rows.until(job, "succeeded")
    made = until(
        lambda: rows.read(
            "select c.relname from pg_class as c, tenure.clock() as at"
            " where c.relname = 'inputs_' || to_char(at + interval '14 days', 'IYYY\"w\"IW')"
        ),
        "the week after next has its partition",
    )
    assert len(made) == 1
    kept = rows.read("select tableoid::regclass::text as place from tenure.inputs")
    assert kept == [{"place": "tenure.inputs_kept"}]


def test_a_claim_that_has_just_ended_is_not_called_lost(
    start: Start, rows: Rows, proxy: Proxy
) -> None:
    """While the answer to its end is on the way, the heartbeat finds no row, and blames nobody."""
    ended = proxy.at("ends/finish", "after", hold=True)
    job = rows.enqueue("stand", Order(3))
    worker = start(proxy.url, lease=3.0)
    ended.wait_met()
    asked = proxy.at("leases/renew", "before", of=job.bytes)
    again = proxy.at("leases/renew", "before", 2, of=job.bytes)
    asked.wait_met()
    again.wait_met()  # by now the first one's answer was told
    ended.release()
    next_ = rows.enqueue("stand", Order(4))
    rows.until(next_, "succeeded")
    assert rows.job(job)["state"] == "succeeded"
    assert not worker.said("lost")
