"""Jobs that were claimed ahead of a slot and never begun go back with those that were."""

from __future__ import annotations

from tenure.store.database import Database
from tests.kit import odd
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.kit.worker import Worker

_SLOTS = 4


def test_what_was_claimed_ahead_and_not_begun_is_handed_back(
    database: Database, database_url: str, meeting: Meeting
) -> None:
    """A worker whose jobs are short holds a batch more than it runs; a drain frees all of them."""
    rows = Rows(database)
    rows.declare(odd.app)
    rows.read("select tenure.enqueue('ends', '\"success\"') from generate_series(1, 200)")
    with Worker(
        database_url,
        "tests.kit.odd:app",
        environ=meeting.environ,
        concurrency=_SLOTS,
        drain=0.5,
        lease=60.0,
    ) as worker:
        assert rows.until_ended(200) == {"succeeded": 200}
        jobs = [rows.enqueue("bystander", "here") for _ in range(3 * _SLOTS)]
        meeting.wait_for("here", _SLOTS)
        until(lambda: rows.states().get("running") == 2 * _SLOTS, "a batch is claimed ahead")
        assert worker.stop() == 0
    back = [rows.job(job) for job in jobs]
    assert {(job["state"], job["failure_count"], job["crash_count"]) for job in back} == {
        ("ready", 0, 0)
    }
    assert sorted(job["deferral_count"] for job in back) == [0] * _SLOTS + [1] * 2 * _SLOTS
    assert rows.broken_counts() == []
