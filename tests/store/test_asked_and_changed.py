"""What is asked of a running job is answered at its hand-back; a changed limit keeps its count."""

from __future__ import annotations

import pytest

from tenure.base.model import Declared, HandBack
from tenure.store import automations, budgets, claims
from tenure.store.database import Database
from tests.store.scene import Scene
from tests.store.test_gate import ask, budget, steps, verdicts


@pytest.mark.parametrize(("asked", "state"), [("hold", "held"), ("cancel", "ready")])
def test_what_was_asked_is_not_put_off_by_a_wait(
    database: Database, asked: str, state: str
) -> None:
    """A job that hands back for a month is held at once, or due at once to be cancelled."""
    scene = Scene(database)
    job = scene.running()
    database.execute("update tenure.jobs set request = %(asked)s", {"asked": asked})
    scene.hand_back(HandBack(job.id, job.fence, "deferral", delay=30 * 86_400.0))
    assert scene.row(job.id)["state"] == state


@pytest.mark.parametrize(
    ("before", "after"),
    [((100, 60.0), (60, 60.0)), ((60, 60.0), (100, 60.0)), ((100, 60.0), (100, 120.0))],
)
def test_a_changed_limit_keeps_what_it_has_admitted(
    database: Database, before: tuple[int, float], after: tuple[int, float]
) -> None:
    """Fifty were admitted; under the new limit there is room for the rest and for no more."""
    scene = Scene(database)
    job = scene.running()
    row = budget(database, *before)
    assert verdicts(ask(scene, steps(scene, job, 50), (row, 1))) == ["admitted"] * 50
    units, counted = after
    assert row == budgets.ensure(
        database,
        provider="crm",
        account="",
        name="b",
        scope="",
        units=units,
        counted=counted,
        declared='{"changed": true}',
    )
    answers = verdicts(ask(scene, steps(scene, job, units), (row, 1)))
    assert answers == ["admitted"] * (units - 50) + ["full"] * 50


def test_closed_lanes_hide_no_open_one(database: Database) -> None:
    """A hundred strands whose budget is closed leave the list to those that can be claimed from."""
    row = budget(database, 10, 1.0)
    budgets.close(database, [row], seconds=3_600, by="crm: 429")
    names = [f"shut{n:03}" for n in range(100)]
    for name in [*names, "zopen"]:
        lane = "free" if name == "zopen" else "crm"
        automations.declare(database, Declared(name=name, version="1", lane=lane), by="test")
    database.execute("update tenure.strands set next_at = tenure.clock() - interval '1 hour'")
    found = claims.dispatch(
        database, automations=[*names, "zopen"], live=True, quarantine=False, after=0
    )
    assert [strand.lane for strand in found] == ["free"]
