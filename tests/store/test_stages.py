"""Moving automations up and down their stages."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.base.errors import NothingMatched, Refused
from tenure.base.model import Declared
from tenure.store import automations, events, stages
from tenure.store.database import Database
from tenure.store.stages import Waiver
from tests.store.scene import Scene

ALL = Waiver(("all",))


def declared(database: Database, *, replaces: str | None = "n8n:lead") -> None:
    """The automation ``lead``, in dry-run as at its first day."""
    automations.declare(database, Declared(name="lead", version="v1", replaces=replaces), by="test")


def test_going_to_shadow_needs_no_evidence(database: Database) -> None:
    """Shadow changes nothing at a provider: a reason is enough."""
    declared(database)
    moved = stages.promote(database, "lead", "shadow", reason="watch it", actor="ann")
    assert (moved.from_stage, moved.to_stage, moved.waived) == ("dry_run", "shadow", ())
    assert moved.waived_until is None
    [row] = database.execute("select stage, first_event from tenure.automations")
    assert (row["stage"], row["first_event"]) == ("shadow", None)


@pytest.mark.parametrize(
    ("replaces", "lines"),
    [
        ("n8n:lead", "branches, clusters, days, events, joined, operations, paths, rules"),
        (None, "branches, calls, dry_runs, sandbox"),
    ],
)
def test_going_live_without_evidence_is_refused_line_by_line(
    database: Database, replaces: str | None, lines: str
) -> None:
    """Without evidence and waiver nothing goes live, and the refusal names every missing line."""
    declared(database, replaces=replaces)
    with pytest.raises(Refused, match=f"lines of its review are missing: {lines}\\. Gather"):
        stages.promote(database, "lead", "live", reason="hope", actor="ann")
    [row] = database.execute("select stage from tenure.automations")
    assert row["stage"] == "dry_run"
    assert database.execute("select 1 from tenure.audit") == []


def test_a_waiver_of_some_lines_leaves_the_others_missing(database: Database) -> None:
    """Each line that is not waived by name is still asked for."""
    declared(database, replaces=None)
    waiver = Waiver(("calls", "sandbox"))
    with pytest.raises(Refused, match="are missing: branches, dry_runs\\. "):
        stages.promote(database, "lead", "live", reason="hope", actor="ann", waiver=waiver)


def test_a_waiver_of_every_line_by_name_is_enough(database: Database) -> None:
    """Waiving each line by its name is as good as waiving all."""
    declared(database, replaces=None)
    waiver = Waiver(("sandbox", "calls", "dry_runs", "branches"))
    moved = stages.promote(database, "lead", "live", reason="known", actor="ann", waiver=waiver)
    assert moved.waived == ("branches", "calls", "dry_runs", "sandbox")


def test_a_waiver_lasts_thirty_days_unless_said(database: Database) -> None:
    """A waiver without an end is over after thirty days; with one, then."""
    declared(database)
    moved = stages.promote(database, "lead", "live", reason="known", actor="ann", waiver=ALL)
    assert moved.waived_until is not None
    assert abs(moved.waived_until - moved.at - timedelta(days=30)) < timedelta(seconds=5)
    stages.demote(database, "lead", "shadow", reason="again", actor="ann")
    until = events.clock(database) + timedelta(days=3)
    waiver = Waiver(("all",), until)
    moved = stages.promote(database, "lead", "live", reason="known", actor="ann", waiver=waiver)
    assert moved.waived_until == until


def test_a_waiver_that_is_over_or_has_no_end_is_refused(database: Database) -> None:
    """A waiver must end, and after it has begun."""
    declared(database)
    past = Waiver(("all",), events.clock(database) - timedelta(days=1))
    with pytest.raises(Refused, match="a waiver cannot last until then"):
        stages.promote(database, "lead", "live", reason="known", actor="ann", waiver=past)


def test_an_unknown_line_is_no_waiver(database: Database) -> None:
    """Waiving what is no line of the review is refused with those that are."""
    declared(database, replaces=None)
    with pytest.raises(Refused, match=r"unknown line .* \(testing\)") as refused:
        stages.promote(
            database, "lead", "live", reason="x", actor="ann", waiver=Waiver(("testing",))
        )
    assert refused.value.hint == "Its lines are branches, calls, dry_runs, sandbox; or all."


def test_going_live_takes_events_from_now_on(database: Database) -> None:
    """The first event owned is one that no earlier event reaches and every later one passes."""
    declared(database)
    [before] = database.execute("select tenure.uuid7() as id")
    moved = stages.promote(database, "lead", "live", reason="known", actor="ann", waiver=ALL)
    [after] = database.execute("select tenure.uuid7() as id, first_event from tenure.automations")
    assert before["id"] < moved.first_event < after["id"]
    assert after["first_event"] == moved.first_event


def test_jobs_that_exist_keep_their_mode(database: Database) -> None:
    """A job made in dry-run stays a dry run; one made after the promotion is live."""
    scene = Scene(database, stage="dry_run")
    old = scene.enqueue()
    stages.promote(database, "lead", "live", reason="known", actor="ann", waiver=ALL)
    assert scene.row(old)["mode"] == "dry_run"
    assert scene.row(scene.enqueue())["mode"] == "live"


def test_going_down_is_at_once(database: Database) -> None:
    """A demotion needs a reason and nothing else; no event is owned any more."""
    Scene(database, stage="live")
    moved = stages.demote(database, "lead", "dry_run", reason="it sends twice", actor="bob")
    assert (moved.from_stage, moved.to_stage) == ("live", "dry_run")
    [row] = database.execute("select stage, first_event from tenure.automations")
    assert (row["stage"], row["first_event"]) == ("dry_run", None)


def test_a_move_in_the_wrong_direction_is_refused(database: Database) -> None:
    """Promoting goes up and demoting goes down, and neither stays where it is."""
    Scene(database, stage="shadow")
    with pytest.raises(Refused, match="stands at shadow: promoting to shadow is no way up"):
        stages.promote(database, "lead", "shadow", reason="x", actor="ann", waiver=ALL)
    with pytest.raises(Refused, match="stands at shadow: demoting to live is no way down"):
        stages.demote(database, "lead", "live", reason="x", actor="ann")


def test_a_move_without_a_reason_is_refused(database: Database) -> None:
    """A move is not written without a reason."""
    declared(database)
    with pytest.raises(Refused, match="cannot be moved without a reason"):
        stages.promote(database, "lead", "shadow", reason="  ", actor="ann")


def test_an_unknown_automation_or_stage_says_so(database: Database) -> None:
    """What nobody declared cannot be moved, and there are three stages."""
    with pytest.raises(NothingMatched, match=r"unknown automation \(nobody\)"):
        stages.promote(database, "nobody", "live", reason="x", actor="ann")
    declared(database)
    with pytest.raises(Refused, match=r"unknown stage \(prod\)"):
        stages.promote(database, "lead", "prod", reason="x", actor="ann")


def test_a_move_leaves_a_promotion_and_one_audit_row(database: Database) -> None:
    """Promotion and audit row say who, from where, why, with which waiver, from which event on."""
    declared(database)
    moved = stages.promote(
        database, "lead", "live", reason="known", actor="ann", waiver=ALL, origin="cli"
    )
    [promotion] = database.execute("select * from tenure.promotions")
    assert (promotion["actor"], promotion["reason"], promotion["version"]) == ("ann", "known", "v1")
    [row] = database.execute("select * from tenure.audit")
    assert (row["actor"], row["act"], row["target"], row["reason"], row["origin"]) == (
        "ann",
        "automation.promote",
        "automation:lead",
        "known",
        "cli",
    )
    assert row["before"] == {"stage": "dry_run", "first_event": None}
    assert row["after"]["first_event"] == str(moved.first_event)
    assert row["after"]["waived"] == ["all"]
