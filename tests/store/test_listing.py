"""Lists for people."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from tenure.base.errors import NothingMatched
from tenure.base.model import Declared, HandBack
from tenure.store import automations, listing, stages, strands
from tenure.store.database import Database, statement
from tests.conftest import Clock
from tests.store.scene import Scene, said


def test_jobs_are_listed_newest_first(database: Database, clock: Clock) -> None:
    """Unfinished and finished jobs stand in one list, the newest first, no more than asked for."""
    scene = Scene(database)
    oldest = scene.running()
    scene.finish(oldest, "succeeded")
    clock.advance(1)  # jobs of one millisecond stand in no order
    middle = scene.enqueue()
    clock.advance(1)
    newest = scene.enqueue()
    assert [job.id for job in listing.jobs(database)] == [newest, middle, oldest.id]
    assert [job.id for job in listing.jobs(database, limit=1)] == [newest]


def test_jobs_are_listed_by_what_is_asked_of_them(database: Database) -> None:
    """State, automation and lane each choose, and all together."""
    scene = Scene(database)
    done = scene.running()
    scene.finish(done, "succeeded")
    ready = scene.enqueue()
    automations.declare(database, Declared(name="other", version="v1", lane="crm"), by="test")
    [row] = database.execute("select job_id from tenure.enqueue('other')")
    other = row["job_id"]

    def found(
        state: str | None = None, automation: str | None = None, lane: str | None = None
    ) -> list[UUID]:
        asked = listing.jobs(database, state=state, automation=automation, lane=lane)
        return [job.id for job in asked]

    assert found(state="succeeded") == [done.id]
    assert set(found(state="ready")) == {other, ready}
    assert found(state="ready", automation="lead") == [ready]
    assert found(lane="crm") == [other]
    assert found(state="failed") == []


@pytest.mark.parametrize("state", ["waiting", "running", "held", "failed"])
def test_each_state_is_found_by_its_word(database: Database, state: str) -> None:
    """A job is listed under the word of its state, with what it waits for."""
    scene = Scene(database)
    job = scene.running()
    if state == "waiting":
        waits = '{"why": "sleep"}'
        scene.hand_back(HandBack(job.id, job.fence, "deferral", 60.0, waits=waits))
    elif state == "held":
        scene.hand_back(HandBack(job.id, job.fence, "hold", question="?"))
    elif state == "failed":
        scene.finish(job, "failed", error_class="ValueError", error="no")
    [found] = listing.jobs(database, state=state)
    assert (found.id, found.state) == (job.id, state)
    assert found.why == ("sleep" if state == "waiting" else None)


def test_a_list_among_many_reads_no_more_than_it_shows(database: Database) -> None:
    """Fifty jobs of fifty thousand are found by walking the newest ids, not by reading all."""
    Scene(database)
    database.execute(
        "insert into tenure.finished_jobs (id, created_at, home, fence, failure_count,"
        " crash_count, deferral_count, quarantine_crashes, failure_base, quarantine_base, priority,"
        " status, mode, automation, version, lane, created_by)"
        " select tenure.uuid7(), tenure.now(), 1, 1, 0, 0, 0, 0, 0, 0, 5, 'succeeded', 'live',"
        " 'lead', 'v1', 'free', 'ann' from generate_series(1, 50000)"
    )
    database.execute("analyze tenure.finished_jobs")
    assert len(listing.jobs(database, state="succeeded")) == 50
    plan = _planned(database, None)
    assert "Scan Backward using finished_jobs_2" in plan
    cost = re.search(r"\.\.(\d+)", plan)  # reading the table costs thousands
    assert cost is not None
    assert int(cost[1]) < 1000
    assert "status_id_idx" in _planned(database, "failed")


def _planned(database: Database, state: str | None) -> str:
    asked = {"state": state, "automation": None, "lane": None, "limit": 50}
    text = "explain " + statement("listing/jobs")
    return "\n".join(row["QUERY PLAN"] for row in database.execute(text, asked))


def test_automations_are_listed_with_their_living_workers(database: Database) -> None:
    """An automation says where it stands, and how many living workers know it."""
    Scene(database)
    [found] = listing.automations(database)
    assert (found.name, found.stage, found.replaces, found.workers) == (
        "lead",
        "live",
        "n8n:lead",
        1,
    )
    database.execute("update tenure.workers set stopped_at = tenure.clock()")
    assert listing.automations(database)[0].workers == 0


def test_how_long_a_silent_worker_is_believed_to_live_stands_in_one_place(
    database: Database, clock: Clock
) -> None:
    """Listing and explaining go by the same time, which one function says."""
    scene = Scene(database)
    job = scene.enqueue()
    clock.advance(90)
    assert listing.automations(database)[0].workers == 0
    assert "No living worker knows lead" in said(database, job, "wait")
    database.execute(
        "create or replace function tenure.alive_for() returns interval"
        " language sql stable parallel safe as $$ select interval '2 min' $$"
    )
    assert listing.automations(database)[0].workers == 1
    assert said(database, job, "wait") == ""


def test_one_automation_is_shown_with_lanes_and_moves(database: Database) -> None:
    """Its lanes say what closes them, and its moves stand newest first."""
    Scene(database)
    strands.park(database, automation="lead", lane="crm", live=True, seconds=60, by="crm: main")
    stages.demote(database, "lead", "shadow", reason="first", actor="ann")
    stages.demote(database, "lead", "dry_run", reason="second", actor="ann")
    shown = listing.automation(database, "lead")
    closed = [lane for lane in shown.lanes if lane.closed_by is not None]
    assert [(lane.lane, lane.live, lane.closed_by) for lane in closed] == [
        ("crm", True, "crm: main")
    ]
    assert [move.reason for move in shown.moves] == ["second", "first"]


def test_an_unknown_automation_says_so(database: Database) -> None:
    """An automation that nobody declared matches nothing."""
    with pytest.raises(NothingMatched, match=r"unknown automation \(nobody\)"):
        listing.automation(database, "nobody")
