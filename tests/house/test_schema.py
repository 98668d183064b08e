"""The schema is what its golden drawing says, whoever made it."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from tenure.base.errors import SchemaMismatch
from tenure.store import migrate
from tenure.store.database import Database
from tests.house.shape import drawn

GOLDEN = Path(__file__).with_name("schema.golden")
RENEW = "TENURE_RENEW_GOLDEN"


def test_migrations_from_zero_give_the_golden_schema(database_url: str) -> None:
    """Whoever migrates gets the schema that was looked at; a change shows in review."""
    with psycopg.connect(database_url) as conn:
        found = drawn(conn)
    if os.environ.get(RENEW):
        GOLDEN.write_text(found, encoding="utf-8")
    expected = GOLDEN.read_text(encoding="utf-8")
    assert found == expected, f"run with {RENEW}=1 and read the difference"


def test_a_schema_that_lost_an_index_is_not_golden(database_url: str) -> None:
    """The drawing sees what matters: it changes when the claim's index goes."""
    with psycopg.connect(database_url) as conn:
        before = drawn(conn)
        conn.execute("drop index tenure.jobs_claimable")
        assert drawn(conn) != before


def test_migrating_twice_changes_nothing(database: Database) -> None:
    """A second run finds nothing to do."""
    assert migrate.migrate(database) == []


def test_the_newest_migration_is_the_version_of_the_code() -> None:
    """The code says which schema it was written against."""
    assert migrate.history()[-1].version == migrate.CODE_VERSION


def test_a_changed_migration_is_refused(database: Database) -> None:
    """A file that changed after it was applied stops everything, with its name."""
    database.connect().execute("update tenure.migrations set checksum = 'x' where version = 3")
    with pytest.raises(SchemaMismatch, match="0003_jobs was changed"):
        migrate.check(database)


def test_a_schema_ahead_of_the_code_is_refused(database: Database) -> None:
    """Code that the schema no longer serves says so instead of running."""
    database.connect().execute(
        "insert into tenure.migrations (version, name, checksum, serves_from)"
        " values (9999, '9999_far', 'x', 9999)"
    )
    with pytest.raises(SchemaMismatch, match="no longer serves this code"):
        migrate.check(database)


def test_a_missing_migration_says_what_to_run(database: Database) -> None:
    """A schema that lacks a migration is named, and so is the command that applies it."""
    database.connect().execute(
        "delete from tenure.migrations where version = %s", [migrate.CODE_VERSION]
    )
    with pytest.raises(SchemaMismatch, match="tenure migrate"):
        migrate.check(database)
