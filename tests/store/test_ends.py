"""Ends are written in batches, and one that cannot be stored is found and told alone."""

from __future__ import annotations

import pytest

from tenure.base.model import Finish, HandBack, Job
from tenure.store import claims, ends
from tenure.store.database import Database
from tests.store.scene import Scene

_NUL = "a\0b"


def _claimed(scene: Scene, count: int) -> list[Job]:
    for _ in range(count):
        scene.enqueue()
    [strand] = claims.dispatch(
        scene.database, automations=["lead"], live=True, quarantine=False, after=0
    )
    claimed = claims.claim(
        scene.database,
        worker=scene.worker,
        lease=60,
        quotas={strand.id: count},
        quarantine=False,
    )
    assert len(claimed.jobs) == count
    return list(claimed.jobs)


@pytest.mark.parametrize("bad", range(5))
def test_a_result_that_cannot_be_stored_harms_no_other(database: Database, bad: int) -> None:
    """Wherever it stands in its batch, the others are settled, and it stays claimed, with why."""
    scene = Scene(database)
    jobs = sorted(_claimed(scene, 5), key=lambda job: job.id)
    batch = [
        Finish(job.id, job.fence, "succeeded", "{" if n == bad else "1")
        for n, job in enumerate(jobs)
    ]
    ended = ends.finish(database, scene.worker, batch)
    assert ended.done == {job.id for n, job in enumerate(jobs) if n != bad}
    assert list(ended.unstorable) == [jobs[bad].id]
    assert "json" in ended.unstorable[jobs[bad].id]
    assert [scene.row(job.id)["state"] for n, job in enumerate(jobs) if n == bad] == ["running"]


def test_a_hand_back_that_cannot_be_stored_harms_no_other(database: Database) -> None:
    """An error that PostgreSQL does not take leaves its own claim open and ends the others."""
    scene = Scene(database)
    first, bad, last = _claimed(scene, 3)
    batch = [
        HandBack(job.id, job.fence, "failure", 60.0, error=_NUL if job is bad else "no")
        for job in (first, bad, last)
    ]
    ended = ends.hand_back(database, scene.worker, batch)
    assert ended.done == {first.id, last.id}
    assert list(ended.unstorable) == [bad.id]
    assert scene.row(bad.id)["state"] == "running"
    assert {scene.row(job.id)["failure_count"] for job in (first, last)} == {1}
