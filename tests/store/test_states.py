"""Where a job stands is told alike for unfinished and finished jobs."""

from __future__ import annotations

from uuid import UUID

from tenure.base.model import Declared
from tenure.store import automations, jobs, states
from tenure.store.database import Database
from tenure.store.jobs import Wanted
from tests.conftest import Clock


def test_an_unfinished_job_is_told_in_the_views_word(database: Database, clock: Clock) -> None:
    """A job whose time has not come waits; when it has, the job is ready."""
    automations.declare(database, Declared("lead", "v1"), by="test")
    [at] = database.execute("select tenure.clock() + interval '1 hour' as at")
    job_id = jobs.enqueue(database, Wanted("lead", "{}", at=at["at"], by="ann")).job_id
    waiting = states.get(database, job_id)
    assert waiting is not None
    assert (waiting.state, waiting.automation, waiting.created_by) == ("waiting", "lead", "ann")
    assert waiting.leased_until == at["at"]
    clock.advance(3_601)
    ready = states.get(database, job_id)
    assert ready is not None
    assert ready.state == "ready"


def test_a_finished_job_is_found_too(database: Database) -> None:
    """A job that has ended is told with how it ended."""
    automations.declare(database, Declared("lead", "v1"), by="test")
    job_id = jobs.enqueue(database, Wanted("lead", "{}")).job_id
    database.execute(
        "with gone as (delete from tenure.jobs returning *)"
        " insert into tenure.finished_jobs (id, created_at, home, fence, failure_count,"
        " crash_count, deferral_count, quarantine_crashes, failure_base, quarantine_base, priority,"
        " status, mode, automation, version, lane, created_by, error_class, error)"
        " select id, created_at, home, 1, 1, 0, 0, 0, 0, 0, priority, 'failed', mode, automation,"
        " version, lane, created_by, 'Fail', 'no such lead' from gone"
    )
    failed = states.get(database, job_id)
    assert failed is not None
    assert (failed.state, failed.error_class, failed.error) == ("failed", "Fail", "no such lead")
    assert failed.finished_at is not None


def test_an_unknown_job_is_none(database: Database) -> None:
    """There is no job of an id that nobody was told."""
    assert states.get(database, UUID(int=7)) is None
