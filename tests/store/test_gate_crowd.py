"""Many jobs at one budget: what one job's own row would not keep apart, the budget's lock does."""

from __future__ import annotations

import threading
from datetime import datetime
from uuid import uuid4

import pytest

from tenure.base.clock import now
from tenure.base.model import Answered, Asked, Job
from tenure.store import budgets, claims, gate
from tenure.store.database import Busy, Database
from tests.conftest import Clock
from tests.store.scene import Scene

_ASKERS = 8
_WINDOW = 0.5  # seconds
_WINDOWS = 3.2  # for how many of them the crowd goes on asking


def _budget(database: Database, units: int, counted: float) -> int:
    return budgets.ensure(
        database,
        provider="crm",
        account="",
        name="main",
        scope="",
        units=units,
        counted=counted,
        declared="{}",
    )


def _jobs(scene: Scene, count: int) -> list[Job]:
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
    return list(claimed.jobs)


def _ask(scene: Scene, database: Database, calls: list[Asked], row: int) -> list[Answered]:
    while True:
        try:
            return gate.ask(
                database,
                worker=scene.worker,
                lease=60,
                takes=((row, 1),),
                reserve=0.0,
                calls=calls,
            )
        except Busy:
            continue  # a crowd this dense may keep a lock from somebody for a second


def _calls(scene: Scene, job: Job, count: int) -> list[Asked]:
    return [scene.asked(job, f"step-{uuid4().hex}") for _ in range(count)]


@pytest.mark.parametrize("units", [5, 64, 65, 200])
def test_no_window_holds_more_than_the_limit_whoever_asks(database: Database, units: int) -> None:
    """Eight jobs that ask over connections of their own: no rolling window exceeds the units."""
    scene = Scene(database)
    jobs = _jobs(scene, _ASKERS)
    row = _budget(database, units, _WINDOW)
    moments: list[datetime] = []
    line = threading.Barrier(_ASKERS)

    def hammer(job: Job) -> None:
        own = Database(database.url)
        own.connect()
        line.wait()
        end = now() + _WINDOWS * _WINDOW
        while now() < end:
            answers = _ask(scene, own, _calls(scene, job, 10), row)
            moments.extend(a.admitted_at for a in answers if a.admitted_at is not None)
        own.close()

    threads = [threading.Thread(target=hammer, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(moments) > 2 * units
    ordered = sorted(moment.timestamp() for moment in moments)
    fullest = max(sum(1 for x in ordered if begin <= x < begin + _WINDOW) for begin in ordered)
    assert fullest <= units
    [written] = database.execute("select count(*) as calls from tenure.calls")
    assert written["calls"] == len(moments)


@pytest.mark.parametrize("units", [10, 100])
def test_a_clock_that_steps_back_forgets_no_admission(
    database: Database, clock: Clock, units: int
) -> None:
    """What was admitted later than now is still counted when something is admitted now."""
    scene = Scene(database)
    [job] = _jobs(scene, 1)
    row = _budget(database, units, 40.0)
    share = units // 2

    def admitted(count: int) -> int:
        answers = _ask(scene, database, _calls(scene, job, count), row)
        return sum(answer.verdict == "admitted" for answer in answers)

    clock.advance(20)
    assert admitted(share) == share
    clock.advance(-20)
    assert admitted(1) == 1
    assert admitted(units) == units - share - 1
    clock.advance(50)
    assert admitted(1) == 0
    clock.advance(12)
    assert admitted(units) == units
