"""Pauses: what they close, that they overlap, end by themselves, and lose nothing."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest

from tenure.base.errors import NothingMatched, Refused
from tenure.base.model import Answered, Declared
from tenure.store import automations, chores, claims, explain, gate, leases, pauses, strands
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene


def due(database: Database, *names: str) -> list[tuple[str, str]]:
    """The strands that can be claimed from now, by automation and lane."""
    found = claims.dispatch(
        database, automations=list(names) or ["lead"], live=True, quarantine=False, after=0
    )
    rows = database.execute(
        "select automation, lane from tenure.strands where id = any (%(ids)s)",
        {"ids": [strand.id for strand in found]},
    )
    return sorted((row["automation"], row["lane"]) for row in rows)


def pause(database: Database, target: str, **more: object) -> pauses.Pause:
    """Pause as bob."""
    return pauses.pause(database, target, reason="audit", actor="bob", **more)  # type: ignore[arg-type]  # until alone


def resume(database: Database, target: str) -> pauses.Pause:
    """Resume as eve."""
    return pauses.resume(database, target, actor="eve")


@pytest.mark.parametrize(
    ("target", "closed"),
    [
        ("automation:lead", {("lead", "crm/acme"), ("lead", "crm")}),
        ("lane:crm/acme", {("lead", "crm/acme")}),
        ("provider:crm", {("lead", "crm/acme"), ("lead", "crm"), ("other", "crm")}),
        ("all", {("lead", "crm/acme"), ("lead", "crm"), ("other", "crm"), ("other", "free")}),
    ],
)
def test_a_pause_closes_what_it_names_until_it_is_resumed(
    database: Database, target: str, closed: set[tuple[str, str]]
) -> None:
    """Exactly its strands give out nothing; a resume opens them, and no job is written."""
    Scene(database, lane="crm/acme")
    automations.declare(database, Declared(name="other", version="v1"), by="test")
    for name in ("lead", "other"):
        strands.open_lane(database, name, "crm")
    database.execute("update tenure.strands set next_at = '2020-01-01'")
    every = set(due(database, "lead", "other"))
    jobs = database.execute("select xmin::text, id from tenure.jobs")
    done = pause(database, target)
    assert (done.target, done.paused_by, done.until) == (target, "bob", None)
    assert every - set(due(database, "lead", "other")) == closed
    resume(database, target)
    assert set(due(database, "lead", "other")) == every
    assert database.execute("select xmin::text, id from tenure.jobs") == jobs


def test_overlapping_pauses_each_end_by_themselves(database: Database, clock: Clock) -> None:
    """A lane that two pauses close opens when the last has ended, be it by time or by hand."""
    scene = Scene(database, lane="crm")
    job = scene.enqueue()
    hour = database.execute("select tenure.clock() + interval '1 hour' as at")[0]["at"]
    pause(database, "provider:crm", until=hour)
    pause(database, "all")
    waits = [line.sentence for line in explain.sentences(database, job) if line.part == "wait"]
    assert any(line.startswith("Provider crm was paused by bob") for line in waits)
    assert any(line.endswith("until somebody resumes it: tenure resume all") for line in waits)
    resume(database, "all")
    assert due(database) == []
    assert scene.row(job)["state"] == "waiting"
    clock.advance(3601)
    assert due(database) == [("lead", "crm")]
    assert pauses.listed(database) == []
    with pytest.raises(NothingMatched, match="provider:crm is not paused") as nothing:
        resume(database, "provider:crm")
    assert nothing.value.hint == "Nothing is paused."


def test_a_lane_that_is_opened_later_is_born_paused(database: Database) -> None:
    """A strand made while a pause is in force inherits it, and ends it with the others."""
    Scene(database)
    strands.open_lane(database, "lead", "crm")
    pause(database, "provider:crm")
    strands.open_lane(database, "lead", "crm/acme")
    database.execute("update tenure.strands set next_at = '2020-01-01'")
    assert due(database) == [("lead", "free")]
    resume(database, "provider:crm")
    assert len(due(database)) == 3


def test_a_strand_that_missed_a_pause_is_brought_into_line(database: Database) -> None:
    """A strand opened while a pause began, or ended, is mended by a duty."""
    scene = Scene(database)
    scene.enqueue()
    pause(database, "all")
    database.execute("update tenure.strands set paused_until = '-infinity' where live")
    assert due(database) == [("lead", "free")]
    database.execute("update tenure.chores set due = 'infinity' where name <> 'pauses'")
    assert chores.do_one(database, scene.worker) == "pauses"
    assert due(database) == []


def test_a_paused_source_takes_in_and_keeps_back(database: Database) -> None:
    """Its deliveries are stored and their jobs made; they wait, say why, and go on at a resume."""
    automations.declare(
        database, Declared(name="lead", version="v1", listens=("door",), lane="crm"), by="test"
    )
    database.execute("update tenure.automations set stage = 'live'")
    database.execute(
        "insert into tenure.sources (name, scheme, secrets) values ('door', 'stripe', '[]')"
    )
    before = accept(database, "e1")
    pause(database, "source:door")
    kept = accept(database, "e2")
    rows = {
        row["event_id"]: row
        for row in database.execute(
            "select j.event_id, j.id, j.lane, s.lane as stands, h.lane as home"
            "  from tenure.jobs as j join tenure.strands as s on s.id = j.strand"
            "  join tenure.strands as h on h.id = j.home"
        )
    }
    assert rows[before]["stands"] == "crm"
    assert (rows[kept]["lane"], rows[kept]["stands"], rows[kept]["home"]) == (
        "crm",
        "source:door",
        "crm",
    )
    told = [s.sentence for s in explain.sentences(database, rows[kept]["id"]) if s.part == "wait"]
    assert any(line.startswith("Source door was paused by bob since") for line in told)
    assert due(database) == [("lead", "crm")]
    resume(database, "source:door")
    assert due(database) == [("lead", "crm"), ("lead", "source:door")]


def accept(database: Database, key: str) -> UUID:
    """One delivery at the door."""
    [row] = database.execute(
        "select event_id, jobs from tenure.accept('door', %(key)s, null, %(digest)s, '{}', '[]',"
        " null, null)",
        {"key": key, "digest": hashlib.sha256(key.encode()).digest()},
    )
    assert row["jobs"] == 1
    event: UUID = row["event_id"]
    return event


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("all", "paused"),
        ("automation:lead", "paused"),
        ("lane:free", "paused"),
        ("provider:crm", "lane_paused"),
        ("lane:crm", "lane_paused"),
    ],
)
def test_the_gate_refuses_the_calls_of_a_paused_job(
    database: Database, target: str, verdict: str
) -> None:
    """A running job's next call is not admitted; whose pause it is decides where it waits."""
    scene = Scene(database)
    strands.open_lane(database, "lead", "crm")
    job = scene.running()
    pause(database, target)

    def ask() -> Answered:
        [answer] = gate.ask(
            database,
            worker=scene.worker,
            lease=60,
            takes=[],
            reserve=0.0,
            calls=[scene.asked(job, "create-deal")],
        )
        return answer

    assert ask().verdict == verdict
    assert database.execute("select 1 from tenure.calls") == []
    [told] = leases.renew(database, worker=scene.worker, lease=60, claims={job.id: job.fence})
    assert told.paused == (verdict == "paused")
    sentences = [s.sentence for s in explain.sentences(database, job.id) if s.part == "wait"]
    assert any("It meets that at its next call." in s for s in sentences) == told.paused
    resume(database, target)
    assert ask().verdict == "admitted"


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        ("lead", "nothing can be paused under that name (lead)"),
        ("all:lead", "nothing can be paused under that name (all:lead)"),
        ("automation:", "nothing can be paused under that name (automation:)"),
        ("provider:crm/acme", "nothing can be paused under that name (provider:crm/acme)"),
        ("automation:laed", "unknown automation (laed)"),
        ("provider:crm", "unknown provider (crm)"),
        ("lane:crm/acme", "unknown lane (crm/acme)"),
        ("source:door", "unknown source (door)"),
    ],
)
def test_what_is_not_there_is_not_paused(database: Database, target: str, refusal: str) -> None:
    """A name that leads to nothing is said at once, not found out at night."""
    Scene(database)
    for act in (pause, resume):
        with pytest.raises((Refused, NothingMatched)) as refused:
            act(database, target)
        assert refused.value.message.startswith(refusal)
    assert pauses.listed(database) == []


def test_a_pause_has_a_reason_and_an_end_ahead(database: Database) -> None:
    """No reason, or an end in the past, and nothing is paused."""
    Scene(database)
    with pytest.raises(Refused, match="cannot be paused without a reason"):
        pauses.pause(database, "all", reason=" ", actor="bob")
    past = database.execute("select tenure.clock() - interval '1 s' as at")[0]["at"]
    with pytest.raises(Refused, match="that is no time ahead"):
        pause(database, "all", until=past)
    assert due(database) == []
    assert pauses.listed(database) == []


def test_pause_and_resume_leave_their_audit_rows(database: Database) -> None:
    """Who paused, extended and resumed it, with what stood before, is kept with the target."""
    scene = Scene(database)
    first = pause(database, "automation:lead")
    again = pauses.pause(database, "automation:lead", reason="longer", actor="ann")
    assert (again.since, again.reason, again.paused_by) == (first.since, "longer", "ann")
    resume(database, "automation:lead")
    told = [
        (row["actor"], row["act"], (row["before"] or {}).get("reason"))
        for row in scene.audit("automation:lead")
    ]
    assert told == [
        ("bob", "automation.pause", None),
        ("ann", "automation.pause", "audit"),
        ("eve", "automation.resume", "longer"),
    ]
