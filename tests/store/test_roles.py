"""A role that may enqueue makes jobs and reads nothing; the other two may no more than they say."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.store import migrate
from tenure.store.database import Database
from tests.store.scene import Scene


class Guest:
    """Somebody who logs in as a role of their own, with one of the three given to it."""

    def __init__(self, url: str, role: str) -> None:
        """Make the role."""
        self._owner = psycopg.connect(url, autocommit=True)
        self.name = sql.Identifier(f"tenure_guest_{uuid.uuid4().hex}")
        make = sql.SQL("create role {} login in role {}")
        self._owner.execute(make.format(self.name, sql.Identifier(role)))
        self.conn = psycopg.connect(
            make_conninfo(url, user=self.name.as_string().strip('"')), autocommit=True
        )

    def ask(self, text: LiteralString) -> list[tuple[object, ...]]:
        """Rows of a query."""
        return self.conn.execute(text).fetchall()

    def refused(self, text: LiteralString) -> str:
        """What the server says to it."""
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            self.conn.execute(text)
        return str(caught.value)

    def close(self) -> None:
        """The role goes."""
        self.conn.close()
        self._owner.execute(sql.SQL("drop owned by {}").format(self.name))
        self._owner.execute(sql.SQL("drop role {}").format(self.name))
        self._owner.close()


@pytest.fixture
def guest(database_url: str, request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A guest with the role that the test names."""
    guest = Guest(database_url, request.param)
    yield guest
    guest.close()


@pytest.fixture
def scene(database: Database) -> Scene:
    """A live automation."""
    return Scene(database)


@pytest.mark.parametrize("guest", ["tenure_enqueue"], indirect=True)
def test_who_may_enqueue_makes_jobs(scene: Scene, guest: Guest) -> None:
    """One and many, with keys, under its own name; a search_path of its own misleads nobody."""
    guest.ask("select set_config('search_path', 'pg_temp, public', false)")
    guest.conn.execute("create temporary table jobs (id uuid)")
    [(one, created)] = guest.ask("select * from tenure.enqueue('lead', '{}', key => 'k')")
    assert created
    many = guest.ask("select * from tenure.enqueue_many('lead', '[1, 2]', array['k', null])")
    assert [row[1:] for row in many] == [(one, False), (many[1][1], True)]
    rows = scene.database.execute("select created_by from tenure.jobs")
    assert {row["created_by"] for row in rows} == {"sql:" + guest.name.as_string().strip('"')}


@pytest.mark.parametrize("guest", ["tenure_enqueue"], indirect=True)
def test_who_may_enqueue_reads_and_does_nothing_else(scene: Scene, guest: Guest) -> None:
    """No table, no view, and no act."""
    job = scene.enqueue()
    relations = scene.database.execute(
        "select c.relname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace"
        " where n.nspname = 'tenure' and c.relkind in ('r', 'p', 'v')"
    )
    assert len(relations) > 20
    for row in relations:
        for act in ("select from {}", "delete from {}"):
            with pytest.raises(psycopg.Error, match=r"permission denied|cannot delete from view"):
                guest.conn.execute(sql.SQL(act).format(sql.Identifier("tenure", row["relname"])))
    for text in (
        *("select tenure.retry(%s)", "select tenure.replay(%s)", "select tenure.cancel(%s)"),
        "select tenure.hold_job(%s, 'why', null, 'sql')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="for function"):
            guest.conn.execute(text, [job])


@pytest.mark.parametrize("guest", ["tenure_read"], indirect=True)
def test_who_may_read_reads_all_but_what_tokens_are_known_by(scene: Scene, guest: Guest) -> None:
    """Views, stories and tables; nothing is written."""
    job = scene.enqueue()
    assert guest.ask("select id from tenure.all_jobs") == [(job,)]
    assert guest.ask("select sentence from tenure.explain")
    assert guest.ask("select owner, scopes from tenure.tokens") == []
    assert "tokens" in guest.refused("select digest from tenure.tokens")
    guest.refused("select tenure.enqueue('lead')")
    guest.refused("update tenure.jobs set priority = 1")


@pytest.mark.parametrize("guest", ["tenure_operate"], indirect=True)
def test_who_may_operate_acts_through_functions(scene: Scene, guest: Guest) -> None:
    """It enqueues, reads and acts, each act with its audit row, and writes no table."""
    [(job, _)] = guest.ask("select * from tenure.enqueue('lead')")
    guest.conn.execute("select tenure.hold_job(%s, 'why', null, 'sql')", [job])
    guest.conn.execute("select tenure.cancel(%s)", [job])
    assert guest.ask("select status from tenure.all_jobs") == [("cancelled",)]
    guest.conn.execute("select tenure.pause('automation:lead', 'why')")
    guest.conn.execute("select tenure.resume('automation:lead')")
    [act] = guest.ask("select distinct actor from tenure.audit")
    assert act == ("sql:" + guest.name.as_string().strip('"'),)
    guest.refused("delete from tenure.jobs")
    guest.refused("select digest from tenure.tokens")


@pytest.mark.parametrize("guest", ["tenure_read"], indirect=True)
def test_an_account_that_makes_no_roles_migrates_all_the_same(
    guest: Guest, server_url: str
) -> None:
    """Into a database of its own; what is missing is told by name."""
    name = sql.Identifier(f"tenure_plain_{uuid.uuid4().hex}")
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL("create database {} owner {}").format(name, guest.name))
    url = make_conninfo(
        server_url,
        dbname=name.as_string().strip('"'),
        user=guest.name.as_string().strip('"'),
    )
    own = Database(url)
    assert migrate.migrate(own)
    assert migrate.missing_roles(own) == []  # another database of the server has made them
    own.close()
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL("drop database {} with (force)").format(name))


def test_everything_that_runs_as_its_owner_is_closed_to_the_public(database: Database) -> None:
    """And finds names in the catalogue alone: so a new one cannot be forgotten."""
    rows = database.execute(
        "select p.proname, p.proconfig, has_function_privilege('public', p.oid, 'execute') as open"
        " from pg_proc as p where p.pronamespace = 'tenure'::regnamespace and p.prosecdef"
    )
    assert len(rows) >= 8
    for row in rows:
        assert not row["open"], row["proname"]
        assert "search_path=pg_catalog, pg_temp" in row["proconfig"], row["proname"]
