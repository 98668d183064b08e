"""``tenure automation``, ``promote`` and ``demote``."""

from __future__ import annotations

from datetime import timedelta

from tenure.store import events
from tests.cli.conftest import Row, Run, told
from tests.store.scene import Scene


def test_automations_are_listed(tenure: Run, scene: Scene) -> None:
    """Each automation stands with its stage and its living workers."""
    assert tenure("automation", "list").stdout.splitlines()[1].split()[:3] == ["lead", "live", "1"]
    [found] = told(tenure("automation", "list", "--json"), list[Row])
    assert (found["name"], found["stage"], found["workers"]) == ("lead", "live", 1)


def test_no_automation_is_no_error(tenure: Run) -> None:
    """Where none is declared, what declares them is said."""
    done = tenure("automation", "list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("no automation is declared: start a worker")


def test_an_automation_is_shown_with_its_past(tenure: Run, scene: Scene) -> None:
    """Stage, lanes and moves are told, the newest move first."""
    tenure("demote", "lead", "--to", "shadow", "--reason", "it sends twice", "--as", "bob")
    lines = tenure("automation", "show", "lead").stdout.splitlines()
    assert lines[0] == "lead stands at shadow."
    assert "  free, live jobs: open" in lines
    assert lines[-1].endswith(" bob: live to shadow: it sends twice")


def test_an_unknown_automation_matches_nothing(tenure: Run) -> None:
    """What nobody declared is not shown, and not moved."""
    assert tenure("automation", "show", "nobody").exit_code == 5
    words = ("--to", "shadow", "--reason", "x")
    assert tenure("promote", "nobody", *words).exit_code == 5


def test_going_live_without_evidence_is_refused(tenure: Run, scene: Scene) -> None:
    """Without a waiver the exit code says: refused, and the missing lines are named."""
    tenure("demote", "lead", "--to", "shadow", "--reason", "x")
    done = tenure("promote", "lead", "--to", "live", "--reason", "hope")
    assert done.exit_code == 4
    assert "lines of its review are missing: branches, clusters" in done.stderr
    assert done.stderr.splitlines()[1].startswith("Gather the evidence, or waive them")


def test_going_live_with_a_waiver(tenure: Run, scene: Scene) -> None:
    """A waiver in somebody's name takes it live until it ends, and all of it is on record."""
    tenure("demote", "lead", "--to", "shadow", "--reason", "x")
    done = tenure(
        "promote", "lead", "--to", "live", "--waive", "all", "--until", "3d", "--reason", "known",
        "--as", "ann", "--json",
    )  # fmt: skip
    moved = told(done, Row)
    assert (moved["from_stage"], moved["to_stage"], moved["actor"]) == ("shadow", "live", "ann")
    [row] = scene.database.execute(
        "select waived, waived_until from tenure.promotions where to_stage = 'live'"
    )
    assert row["waived"] == ["all"]
    ahead = row["waived_until"] - events.clock(scene.database)
    assert timedelta(days=2, hours=23) < ahead <= timedelta(days=3)
    assert scene.audit("automation:lead")[-1]["origin"] == "cli"


def test_a_move_says_what_it_changed(tenure: Run, scene: Scene) -> None:
    """A move says from where to where, from which event on, and what it leaves alone."""
    first, second = tenure(
        "demote", "lead", "--to", "dry_run", "--reason", "it sends twice"
    ).stdout.splitlines()
    assert first == "lead went from live to dry_run"
    assert second.startswith("from event ")
    assert second.endswith(" on; jobs that exist keep their mode")


def test_a_move_without_reason_stage_or_waiver_is_wrong_usage(tenure: Run, scene: Scene) -> None:
    """A reason and a stage are asked for; an end belongs to a waiver."""
    assert tenure("promote", "lead", "--to", "live").exit_code == 2
    assert tenure("promote", "lead", "--reason", "x").exit_code == 2
    assert tenure("promote", "lead", "--to", "dry_run", "--reason", "x").exit_code == 2
    assert tenure("demote", "lead", "--to", "live", "--reason", "x").exit_code == 2
    words = ("--to", "live", "--reason", "x", "--until", "3d")
    assert tenure("promote", "lead", *words).exit_code == 2
    assert scene.row(scene.enqueue())["mode"] == "live"
