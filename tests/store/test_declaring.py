"""Declaring an automation gives it no stage but the first, and takes none that it has."""

from __future__ import annotations

import pytest

from tenure.base.model import Declared
from tenure.store import automations, jobs
from tenure.store.database import Database
from tenure.store.jobs import Wanted


def _declare(database: Database, version: str) -> None:
    declared = Declared(name="lead", version=version, replaces="n8n:lead")
    automations.declare(database, declared, by="test")


def _standing(database: Database) -> tuple[str, str]:
    """The stage, and the mode of a job that is made now."""
    job = jobs.enqueue(database, Wanted("lead", "{}")).job_id
    [row] = database.execute(
        "select a.stage, j.mode from tenure.automations as a, tenure.jobs as j where j.id = %(id)s",
        {"id": job},
    )
    return row["stage"], row["mode"]


def test_a_new_automation_runs_dry(database: Database) -> None:
    """Nobody has to say so: what was never promoted makes no job that acts."""
    _declare(database, "v1")
    assert _standing(database) == ("dry_run", "dry_run")


@pytest.mark.parametrize(
    ("stage", "mode"), [("dry_run", "dry_run"), ("shadow", "dry_run"), ("live", "live")]
)
def test_a_new_version_stands_where_the_automation_stood(
    database: Database, stage: str, mode: str
) -> None:
    """A declaration moves nothing, neither up nor down; without an event a shadow job runs dry."""
    _declare(database, "v1")
    database.execute("update tenure.automations set stage = %(stage)s", {"stage": stage})
    _declare(database, "v2")
    assert _standing(database) == (stage, mode)
