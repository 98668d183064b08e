"""``tenure doctor``: one sentence a check, and what to do."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import msgspec
import psycopg
import pytest

from tenure.base import json
from tenure.store import chores
from tenure.store.database import Database
from tests.cli.conftest import Run
from tests.conftest import Clock
from tests.store.scene import Scene


class Checked(msgspec.Struct):
    """What a program reads."""

    name: str
    grade: str
    said: str
    advice: str = ""


def _found(tenure: Run, exit_code: int = 0) -> dict[str, Checked]:
    result = tenure("doctor", "--json")
    assert result.exit_code == exit_code, result.output
    listed = json.convert(json.decode(result.stdout), list[Checked])
    return {each.name: each for each in listed}


def _duties(database: Database) -> None:
    while chores.do_one(database, uuid4()):
        pass


def test_a_healthy_database_has_nothing_to_do(tenure: Run, scene: Scene) -> None:
    """Each check is ok, and says it in one sentence."""
    _duties(scene.database)
    scene.finish(scene.running(), "succeeded")
    found = _found(tenure)
    assert {name for name, each in found.items() if each.grade != "ok"} == set()
    assert "partitions" in found
    assert "host-1:4711 (lead)" in found["workers"].said
    text = tenure("doctor").stdout
    assert len(text.splitlines()) == len(found)


def test_a_missing_partition_fails(tenure: Run, scene: Scene, clock: Clock) -> None:
    """Nobody made partitions for two months: exit 1, and the tables are named."""
    clock.advance(60 * 86_400)
    found = _found(tenure, 1)
    assert found["partitions"].grade == "fail"
    assert "Next week has no partition" in found["partitions"].said
    assert found["chores"].grade == "warn"
    assert found["clock"].grade == "warn"
    _duties(scene.database)
    assert _found(tenure)["partitions"].grade == "ok"


def test_jobs_that_nobody_takes_are_told(tenure: Run, scene: Scene, clock: Clock) -> None:
    """Their lane and since when, and that no worker knows their automation."""
    scene.enqueue()
    clock.advance(600)
    found = _found(tenure, 1)
    assert (found["ready"].grade, found["workers"].grade) == ("warn", "warn")
    assert "free since 10 min" in found["ready"].said
    assert (found["automations"].grade, "lead (1 jobs)" in found["automations"].said) == (
        "fail",
        True,
    )
    clock.advance(3600)
    assert _found(tenure, 1)["ready"].grade == "fail"


def test_counters_and_orphans_are_found(tenure: Run, scene: Scene) -> None:
    """A claim whose end was deleted by hand, and a job whose input was."""
    job = scene.running()
    scene.finish(job, "failed")
    scene.database.execute("delete from tenure.attempts")
    scene.enqueue()
    scene.database.execute("delete from tenure.inputs")
    found = _found(tenure, 1)
    assert str(job.id) in found["counters"].said
    assert (found["counters"].grade, found["orphans"].grade) == ("fail", "fail")


def test_an_old_snapshot_names_who_holds_it(tenure: Run, scene: Scene, database_url: str) -> None:
    """A transaction just begun is no trouble; the query finds who is oldest."""
    with psycopg.connect(database_url, application_name="reporting") as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select 1")
        [row] = scene.database.run("doctor/snapshots")
        assert "reporting (pid " in row["who"]
        assert _found(tenure)["snapshot"].grade == "ok"


def test_an_unmigrated_database_says_so(
    tenure: Run, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails, names what is missing, and looks no further."""
    scene.database.execute("drop schema tenure cascade")
    result = tenure("doctor")
    assert result.exit_code == 1
    assert "fail schema" in result.stdout
    assert "tenure migrate" in result.stdout


def test_secrets_are_looked_for_where_the_app_is_given(
    tenure: Run, scene: Scene, folder: Path
) -> None:
    """Those that are not there are named, with who needs them."""
    (folder / "doctored.py").write_text(
        "from tenure import Tenure, env\n\napp = Tenure()\n"
        'app.source("lead", scheme="standard-webhooks", secret=env("DOCTORED_SECRET"))\n'
    )
    result = tenure("doctor", "--app", "doctored:app")
    assert result.exit_code == 0, result.output
    assert "DOCTORED_SECRET" in result.stdout
