"""``tenure pause`` and ``tenure resume``."""

from __future__ import annotations

from tests.cli.conftest import Row, Run, told
from tests.store.scene import Scene


def test_an_automation_is_paused_listed_and_resumed(tenure: Run, scene: Scene) -> None:
    """A pause says how it ends; the list has who and why; a resume says what goes on."""
    job = scene.enqueue()
    done = tenure("pause", "automation:lead", "--reason", "audit", "--as", "bob")
    assert done.stdout == (
        "automation:lead is paused until somebody resumes it: tenure resume automation:lead\n"
        "what comes is taken in and waits; what runs goes on to its next call\n"
    )
    assert scene.row(job)["state"] == "waiting"
    [listed] = told(tenure("pause", "--json"), list[Row])
    assert (listed["target"], listed["paused_by"], listed["reason"], listed["until"]) == (
        "automation:lead",
        "bob",
        "audit",
        None,
    )
    assert "automation:lead" in tenure("pause").stdout
    ended = tenure("resume", "automation:lead", "--as", "eve")
    assert ended.stdout.startswith("automation:lead goes on; it was paused by bob since ")
    assert scene.row(job)["state"] == "ready"
    assert tenure("pause").stderr == "nothing is paused\n"


def test_what_is_still_paused_is_said(tenure: Run, scene: Scene) -> None:
    """Who resumes one pause is told of those that go on."""
    tenure("pause", "all", "--reason", "audit", "--until", "2h")
    tenure("pause", "automation:lead", "--reason", "audit")
    ended = tenure("resume", "automation:lead")
    assert ended.stderr.startswith("all is still paused until 2")


def test_a_pause_needs_a_reason_and_a_name_that_leads_somewhere(tenure: Run, scene: Scene) -> None:
    """No reason is a usage error; an unknown name matches nothing; a resume of nothing too."""
    assert tenure("pause", "all").exit_code == 2
    unknown = tenure("pause", "provider:crm", "--reason", "audit")
    assert (unknown.exit_code, unknown.stderr.splitlines()[0]) == (
        5,
        "error: unknown provider (crm): there is nothing to pause or resume",
    )
    assert tenure("resume", "all").exit_code == 5
    assert tenure("pause", "lead", "--reason", "audit").exit_code == 4
