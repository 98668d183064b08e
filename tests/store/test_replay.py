"""A replay: a new job of an old one's event or input, with keys of its own."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from tenure.base.errors import NothingMatched, Refused
from tenure.base.keys import child_key
from tenure.store import controls, jobs, memory
from tenure.store.database import Database, Row
from tenure.store.jobs import Wanted
from tests.store.scene import Scene, Stage


def made(scene: Scene, new: UUID) -> Row:
    """What a replay made."""
    [row] = scene.database.execute(
        "select j.*, i.input from tenure.all_jobs as j"
        " left join tenure.inputs as i on i.job_id = j.id where j.id = %(id)s",
        {"id": new},
    )
    return row


@pytest.mark.parametrize("ended", ["succeeded", "failed", "cancelled", None])
def test_a_job_is_replayed_in_whatever_state_it_is(database: Database, ended: str | None) -> None:
    """A new job runs the same input, ready at once; the old one stays as it was."""
    scene = Scene(database)
    wanted = Wanted("lead", '{"n": 7}', priority=2, by="ann")
    old = jobs.enqueue(database, wanted).job_id
    job = scene.claim()
    if ended in ("succeeded", "failed", "cancelled"):
        scene.finish(job, ended)  # type: ignore[arg-type]  # one of the three
    before = scene.row(old)
    new = controls.replay(database, old, actor="bob")
    row = made(scene, new)
    assert new != old
    assert (row["state"], row["replay_of"], row["created_by"]) == ("ready", old, "bob")
    assert (row["input"], row["priority"], row["fence"]) == ({"n": 7}, 2, 0)
    assert scene.row(old) == before


def test_a_replay_has_keys_of_its_own_and_remembers_nothing(database: Database) -> None:
    """What the old job did is no memory of the new one, whose calls leave under other keys."""
    scene = Scene(database)
    job = scene.running()
    scene.called(job, "create-deal", "done", 201)
    scene.finish(job, "succeeded")
    new = controls.replay(database, job.id, actor="bob")
    assert memory.load(database, [new])[new].sends == {}
    assert child_key(new, "create-deal") != child_key(job.id, "create-deal")
    assert scene.claim().id == new


def test_a_replay_takes_no_unique_key(database: Database) -> None:
    """The key stays with the job that has it, so a job can be replayed while another holds it."""
    scene = Scene(database)
    old = scene.enqueue(key="deal-7")
    new = controls.replay(database, old, actor="bob")
    assert made(scene, new)["unique_key"] is None
    assert scene.enqueue(key="deal-7") == old


@pytest.mark.parametrize(
    ("stage", "event", "mode"),
    [
        ("live", True, "live"),
        ("shadow", True, "shadow"),
        ("shadow", False, "dry_run"),
        ("dry_run", True, "dry_run"),
    ],
)
def test_a_replay_runs_as_its_automation_now_stands(
    database: Database, *, stage: Stage, event: bool, mode: str
) -> None:
    """A job of another stage is replayed in the mode of today's, from the same event."""
    scene = Scene(database, stage="live" if stage != "live" else "dry_run")
    old = scene.enqueue()
    if event:
        database.execute(
            "with e as (insert into tenure.events (id, source, headers, digest, body)"
            " values (tenure.uuid7(), 'lead', '[]', ''::bytea, '{}'::bytea) returning id)"
            " update tenure.jobs set event_id = (select id from e)"
        )
        database.execute("delete from tenure.inputs")
    database.execute("update tenure.automations set stage = %(stage)s", {"stage": stage})
    row = made(scene, controls.replay(database, old, actor="bob"))
    assert row["mode"] == mode
    assert row["event_id"] == scene.row(old)["event_id"]
    [strand] = database.execute(
        "select live from tenure.strands where id = %(id)s", {"id": row["strand"]}
    )
    assert strand["live"] == (mode == "live")


def test_a_replay_is_refused_where_nothing_is_left_to_run_on(database: Database) -> None:
    """A job whose input is no longer kept cannot be replayed, and says what to do instead."""
    scene = Scene(database)
    old = scene.enqueue()
    database.execute("delete from tenure.inputs")
    with pytest.raises(Refused, match="what it ran on is no longer kept") as refused:
        controls.replay(database, old, actor="bob")
    assert refused.value.hint == "Enqueue a job with that input: tenure enqueue lead"
    with pytest.raises(NothingMatched, match="unknown job"):
        controls.replay(database, uuid4(), actor="bob")
    assert database.execute("select 1 from tenure.audit") == []


def test_a_replay_leaves_its_audit_row_with_the_old_job(database: Database) -> None:
    """Who replayed it, why, and what came of it stands with the job that was replayed."""
    scene = Scene(database)
    old = scene.enqueue()
    new = controls.replay(database, old, actor="bob", reason="crm lost it", origin="cli")
    [row] = scene.audit(f"job:{old}")
    assert (row["actor"], row["act"], row["after"], row["reason"], row["origin"]) == (
        "bob",
        "job.replay",
        {"job": str(new)},
        "crm lost it",
        "cli",
    )


def test_the_acts_are_functions_in_the_callers_own_transaction(database: Database) -> None:
    """What is rolled back was never done: neither the new job nor its audit row is left."""
    scene = Scene(database)
    old = scene.enqueue()
    conn = database.connect()
    with conn.transaction(force_rollback=True):
        row = conn.execute("select tenure.replay(%s, 'why') as job", [old]).fetchone()
        assert row is not None
        assert made(scene, row["job"])["created_by"].startswith("sql:")
    assert len(database.execute("select 1 from tenure.jobs")) == 1
    assert scene.audit(f"job:{old}") == []
