"""A process never runs one job twice at once, not even where it claims its own job again."""

from __future__ import annotations

from tenure.store.database import Database
from tests.conftest import Clock
from tests.kit.facts import until
from tests.kit.kinds import either, live
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.kit.worker import Worker


@either("tests.worker.suspending:app")
def test_a_job_that_is_still_running_here_is_not_begun_again(
    database: Database, database_url: str, clock: Clock, meeting: Meeting, path: str
) -> None:
    """A worker that slept through its lease claims its job, and gives it back till its run ends."""
    rows = Rows(database)
    live(rows, path)
    job = rows.enqueue("clinging", "here")
    with Worker(
        database_url,
        path,
        environ=meeting.environ,
        lease=10.0,
    ) as worker:
        pid = worker.wait_ready()
        meeting.wait_for("here")
        worker.freeze(pid)
        clock.advance(11.0)
        worker.thaw()
        until(
            lambda: rows.job(job)["deferral_count"] or len(meeting.at("here")) > 1,
            "it was claimed again",
        )
        assert len(meeting.at("here")) == 1
        meeting.release("here")
        ended = rows.until(job, "succeeded")
        assert ended["fence"] >= 2
        assert (ended["failure_count"], ended["quarantine_crashes"]) == (0, 0)
        assert worker.stop() == 0
    assert rows.broken_counts() == []
