"""The grace of a drain is the bound: whatever a handler does, its process ends with it."""

from __future__ import annotations

import pytest

from tenure.base.clock import now
from tenure.store.database import Database
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.odd import app
from tests.kit.rows import Rows
from tests.kit.worker import Worker

_GRACE = 2.0
# What comes after the grace: what was recorded is written, and the process says goodbye.
_AFTER = 4.0


@pytest.mark.parametrize("automation", ["stubborn", "blocker", "spinner"])
def test_a_process_ends_with_its_grace_whatever_a_handler_does(
    database: Database, database_url: str, meeting: Meeting, automation: str
) -> None:
    """One that refuses to be cancelled, one that blocks the loop, one that computes for ever."""
    rows = Rows(database)
    rows.declare(app)
    job = rows.enqueue(automation, "here")
    with Worker(
        database_url, "tests.kit.odd:app", environ=meeting.environ, drain=_GRACE, lease=60.0
    ) as worker:
        meeting.wait_for("here")
        began = now()
        assert worker.stop() == 0
        assert now() - began < _GRACE + _AFTER
        until(lambda: worker.said("did not end within the 2 s of their grace"))
        assert worker.said(str(job))
        assert not worker.said("killed")
    assert rows.job(job)["state"] == "running"  # its lease runs out
    assert rows.read("select stopped_at from tenure.workers")[0]["stopped_at"] is not None
    assert rows.broken_counts() == []
