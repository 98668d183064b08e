"""What the promises say in their corners: jobs that make jobs, read again, or give up early."""

from __future__ import annotations

import os

import psycopg
import pytest

from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.corners import app
from tests.kit.rows import Rows
from tests.kit.worker import Worker

APP = "tests.kit.corners:app"
SECRET = "hunter2-hunter2-hunter2"


def work(rows: Rows, crm: Emulator, only: str, call_timeout: float = 5.0) -> Worker:
    """A worker for these automations."""
    environ = {"KIT_CRM": crm.url, "KIT_SECRET": SECRET}
    url = rows.database.url
    return Worker(url, APP, only=only, environ=environ, call_timeout=call_timeout)


@pytest.fixture
def corners(rows: Rows) -> Rows:
    """These automations, declared dry; ``child`` is live."""
    rows.declare(app, "dry_run")
    rows.read("update tenure.automations set stage = 'live' where name = 'child' returning name")
    return rows


def live(rows: Rows) -> None:
    """All automations are live."""
    rows.read("update tenure.automations set stage = 'live' returning name")


def test_a_dry_run_makes_no_job_that_would_act(corners: Rows, crm: Emulator) -> None:
    """A job of a dry run cannot have its effect done by a live automation that it enqueues."""
    job = corners.enqueue("parent", 1)
    with work(corners, crm, "not-live"):
        ended = corners.until(job, "failed", "succeeded")
    assert (ended["state"], ended["error_class"]) == ("failed", "CallForbidden")
    assert corners.read("select from tenure.all_jobs where automation = 'child'") == []


def test_what_a_stand_in_named_is_not_asked_for_after_a_wait(
    corners: Rows, crm: Emulator, clock: Clock
) -> None:
    """A dry run that starts again still knows which ids are none of the provider's."""
    job = corners.enqueue("revisit", 600)
    with work(corners, crm, "not-live"):
        corners.until(job, "waiting")
        clock.advance(700)
        ended = corners.until(job, "succeeded", "failed")
    assert ended["result"] == 200
    assert crm.arrivals == ()


def test_who_gives_up_on_a_call_does_not_hide_what_came_of_it(corners: Rows, crm: Emulator) -> None:
    """A call in doubt holds its job, although the handler stopped waiting and went on."""
    live(corners)
    crm.fault("hang_after", path="/deals")
    job = corners.enqueue("impatient", 0.3)
    with work(corners, crm, "live", call_timeout=1.5):
        corners.until(job, "held", "succeeded")
    [question] = corners.questions(job)
    assert question["step"] == "make"
    assert len(crm.effects) == 1


def test_a_secret_stands_in_no_row(corners: Rows, crm: Emulator) -> None:
    """Not in a header, not in a body, not in an error: every table is searched."""
    live(corners)
    job = corners.enqueue("echoing", 1)
    with work(corners, crm, "live"):
        corners.until(job, "waiting", "failed")
    assert SECRET in crm.effects[0].body
    with psycopg.connect(corners.database.url) as conn:
        tables = conn.execute(
            "select c.oid::regclass::text from pg_class as c where c.relkind in ('r', 'p')"
            " and c.relnamespace = 'tenure'::regnamespace"
        ).fetchall()
        for (table,) in tables:
            rows = conn.execute(f"select t::text from {table} as t").fetchall()  # noqa: S608 - its own tables
            found = [row for (row,) in rows if SECRET in row or SECRET.encode().hex() in row]
            assert found == [], table
    assert os.environ.get("KIT_SECRET") is None
