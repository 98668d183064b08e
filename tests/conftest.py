"""A PostgreSQL for the tests: one server for all that run side by side, one database for each.

The server is an embedded one in memory, or the one whose address stands in TENURE_TEST_URL.  A
template is migrated once; each test that asks for a database gets a copy of it, and the copy goes
when the test has ended.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.base.clock import now
from tenure.embedded import start
from tenure.store import migrate
from tenure.store.database import Database
from tests.kit.pooler import Pooler

_GIVEN = "TENURE_TEST_URL"
_POOLED = "TENURE_TEST_POOLER"
_FOLDER = "PYTEST_POSTGRES_FOLDER"
_ROOM = 1_000_000_000  # bytes: a server and its databases
# The first text of a fresh checkout waits for hypothesis to list what Unicode has.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

_LEFT = 60.0  # seconds until a copy that nobody could take yet is given up


def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder that all processes of this run share, before any of them starts."""
    if hasattr(config, "workerinput") or os.environ.get(_GIVEN):
        return
    memory = Path("/dev/shm")  # noqa: S108 - the name is the system's, and mkdtemp makes ours
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > _ROOM
    folder = Path(tempfile.mkdtemp(prefix="tenure-", dir=memory if roomy else None))
    folder.chmod(0o711)  # so that root can give the server to a lesser account
    os.environ[_FOLDER] = str(folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder when every process that used it has ended."""
    if not hasattr(config, "workerinput") and _FOLDER in os.environ:
        shutil.rmtree(os.environ.pop(_FOLDER), ignore_errors=True)


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The address of a server on which databases may be made."""
    given = os.environ.get(_GIVEN)
    if given:
        yield given
        return
    with start(Path(os.environ[_FOLDER]) / "t") as embedded:
        yield embedded.url


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """The name of a migrated database that nobody is connected to; made by whoever is first."""
    history = "".join(migration.checksum for migration in migrate.history())
    with psycopg.connect(server_url, autocommit=True) as conn:
        week = conn.execute("select to_char(now(), 'IYYYIW')").fetchone()
        name = f"tenure_template_{hashlib.sha256(f'{history}{week}'.encode()).hexdigest()[:12]}"
        conn.execute("select pg_advisory_lock(hashtext(%s))", [name])
        finished = "select from pg_database where datname = %s and datistemplate"
        if conn.execute(finished, [name]).fetchone() is None:
            _make_template(conn, server_url, name)
    return name


def _make_template(conn: psycopg.Connection, server_url: str, name: str) -> None:
    database = sql.Identifier(name)
    conn.execute(sql.SQL("drop database if exists {}").format(database))
    conn.execute(sql.SQL("create database {}").format(database))
    own = Database(make_conninfo(server_url, dbname=name))
    migrate.migrate(own)
    own.close()
    closed = sql.SQL("alter database {} is_template true allow_connections false")
    conn.execute(closed.format(database))


@pytest.fixture(scope="session")
def pooler(server_url: str) -> Iterator[Pooler | None]:
    """A transaction pooler that everybody goes through, where TENURE_TEST_POOLER asks for it."""
    if not os.environ.get(_POOLED):
        yield None
        return
    with Pooler(server_url) as pooler:
        yield pooler


@pytest.fixture
def database_url(server_url: str, template: str, pooler: Pooler | None) -> Iterator[str]:
    """The address of a migrated database of the test's own."""
    name = f"tenure_test_{uuid.uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as conn:
        _copy(conn, name, template)
    yield pooler.url(name) if pooler else make_conninfo(server_url, dbname=name)
    with psycopg.connect(server_url, autocommit=True) as conn:
        conn.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _copy(conn: psycopg.Connection, name: str, template: str) -> None:
    """A copy file by file, which is quicker than one through the log for so many small tables."""
    statement = sql.SQL("create database {} template {} strategy file_copy")
    deadline = now() + _LEFT
    while True:
        try:
            conn.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        except psycopg.errors.ObjectInUse:  # the session that migrated it has not gone yet
            assert now() < deadline
        else:
            return


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """One connection to the test's database."""
    own = Database(database_url, name="tenure test")
    yield own
    own.close()


class Clock:
    """The database's clock, which a test may move forward for all processes at once."""

    def __init__(self, url: str) -> None:
        """Nothing is moved yet."""
        self._url = url
        self._ahead = 0.0

    def advance(self, seconds: float) -> None:
        """Move it so many seconds; statements that begin from now on read the new time."""
        self._ahead += seconds
        ahead = sql.Literal(f"{self._ahead} seconds")
        with psycopg.connect(self._url) as conn:
            for name, kind, reading in (
                ("now", "stable", "statement_timestamp()"),
                ("clock", "volatile", "clock_timestamp()"),
            ):
                text = sql.SQL(
                    "create or replace function tenure.{} () returns timestamptz language sql {}"
                    " parallel safe as $$ select {} + {}::interval $$"
                )
                conn.execute(
                    text.format(sql.Identifier(name), sql.SQL(kind), sql.SQL(reading), ahead)
                )


@pytest.fixture
def clock(database_url: str) -> Clock:
    """The clock of the test's database."""
    return Clock(database_url)
