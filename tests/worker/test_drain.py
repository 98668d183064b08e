"""A worker that is told to stop hands back what it can, uncharged, and leaves the rest to lapse."""

from __future__ import annotations

import pytest

from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.kit import odd as odd_automations
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.kit.worker import Worker
from tests.stories.conftest import Start


def test_a_handler_that_does_not_end_in_time_is_unwound_and_handed_back(
    start: Start, rows: Rows, meeting: Meeting
) -> None:
    """After the grace it is cancelled where it stands; the job is due at once, at no cost."""
    job = rows.enqueue("stand", Order(3, "here"))
    worker = start(drain=3.0)
    meeting.wait_for("here")
    assert worker.stop() == 0
    back = rows.job(job)
    assert (back["state"], back["worker_id"], back["claimed_at"]) == ("ready", None, None)
    assert back["waiting_on"] == {"why": "shutdown"}
    assert (back["failure_count"], back["crash_count"], back["deferral_count"]) == (0, 0, 1)
    assert [attempt["ended"] for attempt in rows.attempts(job)] == ["deferral"]
    assert rows.broken_counts() == []
    meeting.release("here")
    start()
    assert rows.until(job, "succeeded")["claim_count"] == 1


def test_a_call_under_way_is_carried_to_its_end_and_recorded(
    start: Start, rows: Rows, meeting: Meeting, crm: Emulator
) -> None:
    """The answer is waited for and kept; what comes after it waits for the next worker."""
    job = rows.enqueue("deal", Order(3))
    with crm.hold("/deals", when="after") as gate:
        worker = start()
        gate.wait_arrived()
        worker.terminate()
        until(lambda: rows.read(_STOPPING), "its claims have stopped")
    assert worker.popen.wait(30.0) == 0
    assert [(call["step"], call["state"]) for call in rows.calls(job)] == [("deal", "done")]
    assert rows.job(job)["deferral_count"] == 1
    start()
    rows.until(job, "succeeded")
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]


# The claiming connection goes when a drain begins, and before any other.
_STOPPING = """
    select 1 as gone where not exists (
        select from pg_stat_activity
         where datname = current_database() and application_name = 'tenure claim')
"""


def test_what_was_claimed_and_not_begun_is_handed_back(
    start: Start, rows: Rows, meeting: Meeting
) -> None:
    """A claim that waits for a slot goes back with the others."""
    jobs = [rows.enqueue("stand", Order(n, "here")) for n in range(30)]
    worker = start(drain=3.0, concurrency=4)
    meeting.wait_for("here", 4)
    assert worker.stop() == 0
    assert rows.states() == {"ready": 30}
    assert {rows.job(job)["failure_count"] for job in jobs} == {0}
    assert rows.broken_counts() == []


def test_a_handler_that_refuses_to_end_is_left_to_lapse_and_named(
    database: Database, database_url: str, meeting: Meeting
) -> None:
    """Its claim stays until its lease runs out, and the log says which job it was."""
    rows = Rows(database)
    rows.declare(odd_automations.app)
    job = rows.enqueue("stubborn", "here")
    with Worker(
        database_url,
        "tests.kit.odd:app",
        environ=meeting.environ,
        drain=0.5,
        lease=60.0,
    ) as worker:
        meeting.wait_for("here")
        worker.terminate()
        until(lambda: worker.said(f"(stubborn {job})"), "it says so")
    assert rows.job(job)["state"] == "running"
    assert rows.attempts(job) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_a_worker_stops_with_all_of_its_processes(start: Start, rows: Rows, processes: int) -> None:
    """Each process says on its row that it has stopped, and none is left."""
    worker = start(processes=processes)
    until(lambda: len(worker.pids()) == processes, "all are ready")
    assert worker.stop() == 0
    found = rows.read("select stopped_at from tenure.workers")
    assert len(found) == processes
    assert all(row["stopped_at"] is not None for row in found)
