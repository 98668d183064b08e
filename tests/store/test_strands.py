"""A lane that is closed gives out nothing until it opens, and opens when it was said to."""

from __future__ import annotations

from tenure.base.model import Declared
from tenure.store import automations, claims, strands
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene


def _due(database: Database) -> list[str]:
    """The lanes from which the scene's automation can be claimed now."""
    found = claims.dispatch(database, automations=["lead"], live=True, quarantine=False, after=0)
    return [strand.lane for strand in found]


def _park(database: Database, seconds: float) -> int:
    return strands.park(
        database, automation="lead", lane="crm", live=True, seconds=seconds, by="crm: throttled"
    )


def test_a_closed_lane_gives_out_nothing_until_it_opens(database: Database, clock: Clock) -> None:
    """What is due in a closed strand is not to be had; afterwards it is."""
    scene = Scene(database, lane="crm")
    scene.enqueue()
    assert _due(database) == ["crm"]
    _park(database, 30)
    assert _due(database) == []
    clock.advance(29)
    assert _due(database) == []
    clock.advance(2)
    assert _due(database) == ["crm"]


def test_a_paused_lane_gives_out_nothing(database: Database, clock: Clock) -> None:
    """A pause hides a strand for as long as it lasts, though nothing else is in the way."""
    scene = Scene(database, lane="crm")
    scene.enqueue()
    database.execute(
        "update tenure.strands set paused_until = tenure.clock() + interval '1 hour',"
        " paused_since = tenure.clock(), paused_by = 'bob', pause_reason = 'audit'"
    )
    assert _due(database) == []
    clock.advance(3601)
    assert _due(database) == ["crm"]


def test_a_shorter_wait_opens_no_lane_earlier(database: Database, clock: Clock) -> None:
    """Who waits a little behind one that waits long moves the opening in neither direction."""
    scene = Scene(database, lane="crm")
    scene.enqueue()
    strand = _park(database, 60)
    assert _park(database, 5) == strand
    clock.advance(30)
    assert _due(database) == []
    assert _park(database, 60) == strand
    clock.advance(40)
    assert _due(database) == []
    clock.advance(21)
    assert _due(database) == ["crm"]


def test_a_strand_in_somebodys_open_transaction_delays_no_other(
    database: Database, database_url: str
) -> None:
    """An operator who paused and did not commit holds that lane's news up, and nobody else's."""
    scene = Scene(database)
    automations.declare(database, Declared(name="other", version="1"), by="test")
    database.execute("update tenure.automations set stage = 'live'")
    operator = Database(database_url, name="operator")
    with operator.transaction():
        operator.execute("select tenure.pause('automation:lead', 'audit')")
        scene.enqueue()
        database.execute("select tenure.enqueue('other')")
        found = claims.dispatch(
            database, automations=["lead", "other"], live=True, quarantine=False, after=0
        )
        assert [strand.automation for strand in found] == ["other"]
    operator.execute("select tenure.resume('automation:lead')")
    operator.close()
    assert _due(database) == ["free"]
