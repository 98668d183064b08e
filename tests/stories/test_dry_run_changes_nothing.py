"""A dry run changes nothing at a provider, not through the gate and not around it."""

from __future__ import annotations

import pytest

from tenure.testing.emulators import Emulator
from tests.kit import threaded
from tests.kit.around import WAYS
from tests.kit.automations import Order, app
from tests.kit.facts import until
from tests.kit.rows import Rows
from tests.stories.conftest import Start

_UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


@pytest.fixture
def dry(rows: Rows) -> Rows:
    """The kit's automations, at the stage where all of them begin."""
    rows.declare(app, "dry_run")
    return rows


def _changed(emulator: Emulator) -> list[str]:
    return [arrival.path for arrival in emulator.arrivals if arrival.method in _UNSAFE]


def test_reads_are_made_and_writes_are_recorded_as_what_would_have_been_sent(
    start: Start, dry: Rows, crm: Emulator
) -> None:
    """The whole handler runs: reads reach the provider, writes are answered by stand-ins."""
    job = dry.enqueue("survey", Order(50))
    start(only="not-live")
    ended = dry.until(job, "succeeded")
    assert (ended["mode"], ended["result"][0]) == ("dry_run", "200")
    assert ended["result"][1].startswith("dry-")
    assert [(arrival.method, arrival.path) for arrival in crm.arrivals] == [("GET", "/deals")]
    suppressed = {call["step"]: call for call in dry.calls(job) if call["state"] == "suppressed"}
    assert sorted(suppressed) == ["drop", "look", "make", "mark"]
    made = suppressed["make"]
    assert (made["method"], bytes(made["body"]), made["why"]) == (
        "POST",
        b'{"n":50}',
        "would have been sent",
    )
    assert dry.steps(job)["big"]["result"] is True


def test_a_dry_run_that_starts_again_sees_what_it_saw(
    start: Start, dry: Rows, crm: Emulator
) -> None:
    """Two jobs alike have each their own stand-ins, the same on every re-run."""
    jobs = [dry.enqueue("survey", Order(1)) for _ in range(2)]
    start(only="not-live")
    results = [dry.until(job, "succeeded")["result"][1] for job in jobs]
    assert len(set(results)) == 2
    assert _changed(crm) == []


@pytest.mark.parametrize("way", sorted(WAYS))
def test_no_way_around_the_gate_reaches_the_outside(
    start: Start, dry: Rows, crm: Emulator, way: str
) -> None:
    """Sockets, clients, threads, child processes, database drivers: refused, and said aloud."""
    job = dry.enqueue("around", way)
    worker = start(only="not-live")
    ended = dry.until(job, "succeeded", "failed")
    assert (len(crm.arrivals), crm.connections) == (0, 0)
    until(lambda: worker.said("around the gate"), "the guard has said so")
    if way == "swallowing":
        assert ended["result"] == "CallForbidden"
    elif way != "plain thread":
        assert (ended["state"], ended["error_class"]) == ("failed", "CallForbidden")


def test_no_way_out_of_a_thread_reaches_the_outside(start: Start, dry: Rows, crm: Emulator) -> None:
    """The guard is the process's: a ``def`` handler stands under it in its thread."""
    dry.declare(threaded.app, "dry_run")
    jobs = {way: dry.enqueue("around", way) for way in WAYS}
    worker = start(app="tests.kit.threaded:app", only="not-live")
    ended = {way: dry.until(job, "succeeded", "failed") for way, job in jobs.items()}
    assert (len(crm.arrivals), crm.connections) == (0, 0)
    assert worker.said("around the gate")
    assert ended.pop("swallowing")["result"] == "CallForbidden"
    del ended["plain thread"]
    assert {job["error_class"] for job in ended.values()} == {"CallForbidden"}


def test_a_process_for_dry_runs_leaves_live_jobs_alone(
    start: Start, dry: Rows, crm: Emulator
) -> None:
    """Jobs of the two kinds never share a process: a live one waits for one of its own."""
    dry.read("update tenure.automations set stage = 'live' where name = 'deal' returning name")
    live = dry.enqueue("deal", Order(1))
    job = dry.enqueue("survey", Order(1))
    start(only="not-live")
    dry.until(job, "succeeded")
    assert dry.job(live)["state"] == "ready"
    assert _changed(crm) == []
    start()
    dry.until(live, "succeeded")
    assert _changed(crm) == ["/deals", "/notes"]
