"""A pause and a cancel as running jobs meet them."""

from __future__ import annotations

import pytest

from tenure.testing.emulators import Emulator
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.stories.conftest import Start

_PAUSE = "select (tenure.pause(%(target)s, 'look', actor => 'test')).target"
_RESUME = "select (tenure.resume(%(target)s, actor => 'test')).target"


@pytest.mark.parametrize("target", ["all", "automation:deal", "lane:crm", "provider:crm"])
def test_a_running_job_meets_a_pause_at_its_next_call(
    start: Start, rows: Rows, meeting: Meeting, crm: Emulator, target: str
) -> None:
    """Its call is not made, it waits at no cost, and a resume lets it go on where it was."""
    job = rows.enqueue("deal", Order(1, "here"))
    start()
    meeting.wait_for("here")
    rows.read(_PAUSE, target=target)
    meeting.release("here")
    waiting = rows.until(job, "waiting")
    assert waiting["waiting_on"]["why"] == "paused"
    assert [effect.path for effect in crm.effects] == ["/deals"]
    rows.read(_RESUME, target=target)
    ended = rows.until(job, "succeeded")
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]
    assert (ended["failure_count"], ended["deferral_count"], ended["claim_count"]) == (0, 1, 1)
    assert rows.broken_counts() == []


def test_a_job_whose_call_goes_to_a_paused_provider_waits_in_its_lane(
    start: Start, rows: Rows, crm: Emulator
) -> None:
    """A job of another lane is claimed, and waits in the strand of the provider that is paused."""
    rows.read("select tenure.open_lane('far', 'slow')")
    rows.read(_PAUSE, target="provider:slow")
    job = rows.enqueue("far", Order(1))
    start()
    rows.until(job, "waiting")
    [parked] = rows.read(
        "select s.lane, s.closed_until <= tenure.clock() as closed_no_more"
        "  from tenure.jobs as j join tenure.strands as s on s.id = j.strand"
    )
    assert (parked["lane"], parked["closed_no_more"]) == ("slow", True)
    assert crm.arrivals == ()
    rows.read(_RESUME, target="provider:slow")
    assert rows.until(job, "succeeded")["deferral_count"] == 1


def test_a_paused_job_without_further_calls_ends(
    start: Start, rows: Rows, meeting: Meeting
) -> None:
    """A pause takes nothing from a job that has no call left to make, however it is told."""
    job = rows.enqueue("stand", Order(1, "here"))
    start(heartbeat=0.1)
    meeting.wait_for("here")
    rows.read(_PAUSE, target="automation:stand")
    beat = rows.job(job)["heartbeat_at"]
    until(
        lambda: rows.read(
            "select 1 from tenure.workers where last_seen > %(beat)s + interval '1 s'", beat=beat
        ),
        "a few heartbeats",
    )
    meeting.release("here")
    assert rows.until(job, "succeeded")["deferral_count"] == 0


def test_what_comes_in_a_pause_waits_and_is_not_lost(start: Start, rows: Rows) -> None:
    """Jobs enqueued while everything is paused wait, and all end after it."""
    start()
    rows.read(_PAUSE, target="all")
    jobs = [rows.enqueue("stand", Order(n)) for n in range(5)]
    assert rows.states() == {"waiting": 5}
    rows.read(_RESUME, target="all")
    for job in jobs:
        assert rows.until(job, "succeeded")["deferral_count"] == 0


def test_a_cancel_reaches_who_waits_for_ever_within_a_heartbeat(
    start: Start, rows: Rows, meeting: Meeting
) -> None:
    """The request is a row, and the heartbeat's answer carries it: nobody listens for it."""
    job = rows.enqueue("stand", Order(1, "for ever"))
    start(heartbeat=0.5)
    meeting.wait_for("for ever")
    rows.read("select tenure.cancel(%(id)s)", id=job)
    # The beat that was about to come, and half a second for a busy machine beside it.
    ended = rows.until(job, "cancelled")
    [asked] = rows.read("select at from tenure.audit where act = 'job.cancel'")
    assert (ended["finished_at"] - asked["at"]).total_seconds() < 2 * 0.5 + 0.5
    assert (ended["failure_count"], ended["deferral_count"]) == (0, 1)


def test_a_cancel_meets_who_makes_calls_at_the_gate(
    start: Start, rows: Rows, meeting: Meeting, crm: Emulator
) -> None:
    """Long before its heartbeat a job hears of the cancel by its next call, which is not made."""
    job = rows.enqueue("deal", Order(1, "here"))
    start(heartbeat=600.0, lease=3000.0)
    meeting.wait_for("here")
    rows.read("select tenure.cancel(%(id)s)", id=job)
    meeting.release("here")
    rows.until(job, "cancelled")
    assert [effect.path for effect in crm.effects] == ["/deals"]
