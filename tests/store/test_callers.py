"""A job is made in the caller's own transaction, whichever library its connection is of."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy

from tenure import Context, Tenure
from tenure.base.errors import ConfigurationError, SchemaMismatch, UnknownName
from tenure.store import automations
from tenure.store.database import Database
from tests.kit.drivers import DRIVERS
from tests.kit.driving import TABLE, Driver

Open = Callable[..., Driver]

app = Tenure()


@app.automation
async def lead(ctx: Context, given: object) -> None:
    """Declared in the test's database."""
    del ctx, given


@app.automation
async def stranger(ctx: Context, given: object) -> None:
    """Declared nowhere."""
    del ctx, given


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.__name__)
def kind(request: pytest.FixtureRequest) -> type[Driver]:
    """Each library in turn."""
    kind: type[Driver] = request.param
    return kind


@pytest.fixture
def opened(database: Database, database_url: str) -> Iterator[Callable[..., Driver]]:
    """Opens connections to a database with a table of the caller's and a declared automation."""
    automations.declare(database, lead.declared, by="test")
    database.execute(TABLE)
    drivers: list[Driver] = []

    def open_(kind: type[Driver], url: str = database_url, **more: Any) -> Driver:  # noqa: ANN401 - as its class
        drivers.append(kind(url, **more))
        return drivers[-1]

    yield open_
    for driver in drivers:
        driver.close()


def there(database: Database) -> tuple[int, int]:
    """How many rows of the caller's there are, and how many jobs."""
    [row] = database.execute(
        "select (select count(*) from notes) as notes, (select count(*) from tenure.jobs) as jobs"
    )
    return row["notes"], row["jobs"]


def test_a_commit_keeps_both_and_a_rollback_neither(
    database: Database, opened: Open, kind: type[Driver]
) -> None:
    """The caller's row and the job exist together, from the commit on, or not at all."""
    driver = opened(kind)
    driver.write()
    made = driver.enqueue(lead, {"n": 1})
    assert there(database) == (0, 0)
    driver.rollback()
    assert there(database) == (0, 0)
    driver.write()
    again = driver.enqueue(lead, {"n": 2}, key="k")
    driver.commit()
    assert there(database) == (1, 1)
    [row] = database.execute(
        "select j.id, i.input::text as input, j.unique_key from tenure.jobs as j"
        " join tenure.inputs as i on i.job_id = j.id"
    )
    assert (row["id"], row["input"], row["unique_key"]) == (again.job_id, '{"n":2}', "k")
    assert made.created
    assert made.job_id != again.job_id


def test_all_that_may_be_said_of_a_job_arrives(
    database: Database, opened: Open, kind: type[Driver]
) -> None:
    """Times, lengths, numbers and lists are understood alike, whichever driver writes them."""
    at = datetime(2031, 5, 1, 12, tzinfo=UTC)
    driver = opened(kind)
    driver.enqueue(
        lead, {"a": "\u00e9'\"%s%"}, key="k'%", at=at, expires=3.5, priority=0, tags=["a'", '"b,%s']
    )
    driver.enqueue(lead, 10**29 + 1, delay=86_400.0, expires=at, tags=[])
    driver.commit()
    first, second = database.execute(
        "select j.*, i.input::text as input, j.leased_until > tenure.now() as later"
        " from tenure.jobs as j join tenure.inputs as i on i.job_id = j.id order by j.priority"
    )
    assert first["input"] == '{"a":"é\'\\"%s%"}'
    assert (first["leased_until"], first["expires_at"]) == (at, at + timedelta(seconds=3.5))
    assert (first["unique_key"], first["priority"]) == ("k'%", 0)
    assert (first["tags"], second["tags"]) == (["a'", '"b,%s'], [])
    assert (second["input"], second["later"], second["expires_at"]) == (str(10**29 + 1), True, at)


def test_a_savepoint_takes_the_job_back(
    database: Database, opened: Open, kind: type[Driver]
) -> None:
    """What was made after a savepoint goes with it; what was made before stays."""
    driver = opened(kind)
    driver.write()
    kept = driver.enqueue(lead, 1)
    with driver.undone():
        driver.write()
        driver.enqueue(lead, 2)
    driver.commit()
    assert there(database) == (1, 1)
    assert [row["id"] for row in database.execute("select id from tenure.jobs")] == [kept.job_id]


def test_a_connection_that_commits_by_itself_makes_the_job_at_once(
    database: Database, opened: Open, kind: type[Driver]
) -> None:
    """Where no transaction is open, the job exists when the call returns."""
    driver = opened(kind, autocommit=True)
    driver.enqueue(lead, 1)
    assert there(database) == (0, 1)


_SESSION = """
    select (select string_agg(name || '=' || setting, ';' order by name) from pg_settings
             where name not like 'plpgsql.%') as settings,
           (select string_agg(statement, ';' order by statement) from pg_prepared_statements
             where statement like '%tenure%') as prepared,
           (select string_agg(name, ';') from pg_cursors) as cursors,
           (select string_agg(l, ';') from pg_listening_channels() as l) as channels,
           (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())
               as locks
"""


def test_nothing_of_the_session_is_changed(opened: Open, kind: type[Driver]) -> None:
    """Settings, prepared statements, cursors, channels: after many enqueues they are as before."""
    driver = opened(kind)
    driver.ask("set search_path = pg_catalog, public")
    driver.ask("set lock_timeout = '7s'")
    before, outside = driver.ask(_SESSION), _outside(driver)
    for n in range(12):
        driver.enqueue(lead, n, key=f"k{n}")
    after = driver.ask(_SESSION)
    if kind.__name__.startswith("Alchemy"):  # it keeps what it prepared of any statement
        assert [row[:1] + row[2:] for row in after] == [row[:1] + row[2:] for row in before]
    else:
        assert after == before
    assert _outside(driver) == outside


def _outside(driver: Driver) -> dict[str, object]:
    """What the library itself remembers of a connection."""
    names = ("autocommit", "isolation_level", "row_factory", "cursor_factory", "prepare_threshold")
    return {name: getattr(driver.conn, name, None) for name in names}


def test_an_open_result_of_a_callers_cursor_is_not_disturbed(opened: Open) -> None:
    """A cursor stands for its connection: what it has not been asked for yet is still there."""
    for kind in (d for d in DRIVERS if d.__name__ in {"PsycopgCursor", "Psycopg2"}):
        driver = opened(kind)
        cursor = driver.conn.cursor()
        cursor.execute("select 1 union all select 2 order by 1")
        cursor.fetchone()
        lead.enqueue(1, conn=cursor)
        assert cursor.fetchone() is not None


def test_an_unknown_automation_is_the_same_error_through_every_driver(
    database: Database, opened: Open, kind: type[Driver]
) -> None:
    """``UnknownName``, with the words of the schema's function, and the transaction is over."""
    driver = opened(kind)
    driver.write()
    with pytest.raises(UnknownName) as caught:
        driver.enqueue(stranger, 1)
    assert caught.value.message == (
        "unknown automation (stranger): no worker or server has declared it"
    )
    assert caught.value.hint.startswith("Start a worker that knows it once")
    driver.rollback()
    assert there(database) == (0, 0)


def test_a_database_without_the_schema_is_named(
    opened: Open, kind: type[Driver], server_url: str
) -> None:
    """A job put into the wrong database is told so, and not with a driver's riddle."""
    with pytest.raises(SchemaMismatch) as caught:
        opened(kind, url=server_url).enqueue(lead, 1)
    assert 'schema "tenure" does not exist' in caught.value.message


def test_what_else_goes_wrong_is_the_drivers_own(opened: Open, kind: type[Driver]) -> None:
    """A rival's key under REPEATABLE READ is a serialisation failure, as the driver raises it."""
    driver = opened(kind)
    driver.ask("set transaction isolation level repeatable read")
    driver.ask("select count(*) from notes")
    rival = opened(DRIVERS[0])
    rival.enqueue(lead, 1, key="k")
    rival.commit()
    with pytest.raises(Exception, match="could not serialize access") as caught:
        driver.enqueue(lead, 2, key="k")
    assert type(caught.value).__module__.split(".")[0] in {
        *("psycopg", "psycopg2", "sqlalchemy", "asyncpg", "django")
    }


class Odd:
    """No connection of anybody's."""


@pytest.mark.parametrize("conn", [Odd(), sqlite3.connect(":memory:"), "postgresql://", object()])
def test_what_is_no_connection_is_named(conn: Any) -> None:  # noqa: ANN401 - whatever it is
    """An object of another kind is named by its type, with what is taken."""
    with pytest.raises(ConfigurationError) as caught:
        lead.enqueue(1, conn=conn)
    assert f"{type(conn).__module__}.{type(conn).__qualname__}" in caught.value.message
    for library in ("psycopg", "SQLAlchemy", "asyncpg", "Django"):
        assert library in caught.value.hint


def test_a_database_of_another_kind_is_named() -> None:
    """SQLAlchemy speaks to others too, where there are no jobs."""
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as conn, pytest.raises(ConfigurationError, match="sqlite"):
        lead.enqueue(1, conn=conn)


def test_the_wrong_door_is_named(opened: Open, kind: type[Driver]) -> None:
    """A blocking connection for ``aenqueue``, or one that is awaited for ``enqueue``."""
    driver = opened(kind)
    driver.awaited = not driver.awaited
    with pytest.raises(ConfigurationError) as caught:
        driver.enqueue(lead, 1)
    driver.awaited = not driver.awaited
    door, other = ("enqueue", "aenqueue") if driver.awaited else ("aenqueue", "enqueue")
    assert f"{door} takes none of those" in caught.value.message
    assert f"Call {other}," in caught.value.hint


def test_no_library_is_imported_for_it() -> None:
    """The package knows callers' libraries by name alone."""
    code = (
        "import sys, tenure.app, tenure.store.callers\n"
        "print([m for m in ('sqlalchemy', 'asyncpg', 'django', 'psycopg2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
