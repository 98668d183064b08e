"""A handler that blocks its event loop is named, with the line, and keeps its lease meanwhile."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from uuid import UUID

import pytest

from tenure.store.database import Database
from tests.kit import odd as automations
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.rows import Row, Rows
from tests.kit.worker import Worker

_APP = "tests.kit.odd:app"


@pytest.fixture
def rows(database: Database) -> Rows:
    """The automations that go wrong, live."""
    rows = Rows(database)
    rows.declare(automations.app)
    return rows


@pytest.mark.parametrize(
    ("automation", "line"),
    [
        ("blocker", "meeting.py:{} in meet_blocking (conn.recv(100))"),
        ("locker", "odd.py:{} in _locked (with lock:)"),
    ],
    ids=["a socket", "a lock"],
)
def test_who_blocks_the_loop_is_named_with_the_line_and_the_time(
    rows: Rows, database_url: str, meeting: Meeting, automation: str, line: str
) -> None:
    """In a socket or on a lock: log and journal say which job, for how long, and where."""
    head, tail = line.split("{}")
    beside = rows.enqueue("bystander", "beside")
    with Worker(database_url, _APP, environ=meeting.environ, lease=2.0) as worker:
        meeting.wait_for("beside")
        job = rows.enqueue(automation, "here")
        meeting.wait_for("here")
        until(lambda: worker.said(f"job {job} ({automation}) has blocked the event loop"), "named")
        first, second = until(lambda: _blocked(rows, job), "the journal says so twice")[:2]
        beat = rows.job(job)["heartbeat_at"]
        until(lambda: rows.job(job)["heartbeat_at"] > beat, "its lease is renewed")
        meeting.release("here")
        assert rows.until(job, "succeeded")["claim_count"] == 1
        meeting.release("beside")
        rows.until(beside, "succeeded")
        assert worker.said("the event loop turns again after")
    for entry in (first, second):
        assert head in entry["detail"]["where"]
        assert tail in entry["detail"]["where"]
        assert entry["detail"]["where"] in entry["said"]
        assert any(f" in {automation} (" in frame for frame in entry["detail"]["stack"])
    assert second["detail"]["seconds"] >= 2 * first["detail"]["seconds"] >= 1.0
    assert not rows.journal(beside)


def _seen(rows: Rows) -> datetime:
    found: datetime = rows.one("select last_seen from tenure.workers")["last_seen"]
    return found


def _is_later(rows: Rows, seen: datetime) -> bool:
    return _seen(rows) > seen


def _blocked(rows: Rows, job: UUID) -> list[Row] | None:
    entries = [line for line in rows.journal(job) if line["kind"] == "blocked"]
    return entries if len(entries) >= 2 else None


def test_a_plain_function_blocks_nobody(rows: Rows, database_url: str, meeting: Meeting) -> None:
    """A handler in a thread stands for several beats, and no word is said about it."""
    with Worker(database_url, "tests.kit.odd_threads:app", environ=meeting.environ) as worker:
        worker.wait_ready()
        job = rows.enqueue("stubborn", "here")
        meeting.wait_for("here")
        for _ in range(3):
            until(partial(_is_later, rows, _seen(rows)), "a beat")
        assert not worker.said("event loop")
        assert rows.journal(job) == []
        meeting.release("here")
        rows.until(job, "succeeded")
