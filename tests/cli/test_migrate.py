"""``tenure migrate`` and ``tenure settings``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.store import migrate
from tests.cli.conftest import Row, Run, told


@pytest.fixture
def empty(server_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database in which nothing was ever made."""
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    identifier = sql.Identifier(f"{name}_empty")
    with psycopg.connect(server_url, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(identifier))
        url = make_conninfo(server_url, dbname=f"{name}_empty")
        monkeypatch.setenv("TENURE_DATABASE_URL", url)
        yield url
        conn.execute(sql.SQL("drop database {} with (force)").format(identifier))


def test_a_database_is_migrated_by_this_command_alone(tenure: Run, empty: str) -> None:
    """Another command says what is lacking and how to make it; then it is made, and serves."""
    done = tenure("jobs")
    assert done.exit_code == 78
    assert done.stderr.splitlines()[1] == "Run: tenure migrate"
    names = [migration.name for migration in migrate.history()]
    planned = tenure("migrate", "--plan").stdout
    assert planned.splitlines() == [f"would apply {name}" for name in names]
    assert tenure("migrate").stdout.splitlines() == [f"applied {name}" for name in names]
    assert tenure("jobs").exit_code == 0
    assert tenure("migrate").stderr == "the schema is up to date\n"


def test_what_was_migrated_is_told_as_json(tenure: Run, empty: str) -> None:
    """With --json the applied migrations are the one value on standard output."""
    applied = told(tenure("migrate", "--json"), list[Row])
    assert [each["version"] for each in applied] == [each.version for each in migrate.history()]
    assert told(tenure("migrate", "--json"), list[Row]) == []


def test_settings_say_where_they_stood(
    tenure: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each setting has its value and the place it came from; no password is shown."""
    monkeypatch.setenv("TENURE_DATABASE_URL", "postgresql://ann:tell-nobody@db/app")
    (tmp_path / "tenure.toml").write_text('lease = "2 min"\n')
    done = tenure("settings", "--json")
    shown = {each["name"]: each for each in told(done, list[Row])}
    assert (shown["lease"]["value"], shown["lease"]["origin"]) == ("2 min", "tenure.toml")
    assert shown["poll"]["origin"] == "default"
    assert shown["database_url"]["origin"] == "TENURE_DATABASE_URL"
    assert "tell-nobody" not in done.stdout
    assert "tell-nobody" not in tenure("settings").stdout


def test_a_variable_that_is_no_setting_is_told(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A TENURE_ variable that names nothing is told beside the answer."""
    monkeypatch.setenv("TENURE_COLOUR_OF_THE_SHED", "red")
    done = tenure("settings", "--json")
    assert done.stderr == "TENURE_COLOUR_OF_THE_SHED is no setting: it was passed over\n"
    assert told(done, list[Row])
