"""A connection that was lost is replaced, and nothing is done twice that may not be."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tenure.base.errors import DatabaseUnavailable
from tenure.store.database import Database
from tenure.web import connections
from tenure.web.connections import Connections
from tests.web.doors import DEADLINE, cut, outage


def _server(database: Database) -> int:
    return int(database.execute("select pg_backend_pid() as pid")[0]["pid"])


@pytest.mark.parametrize("kind", ["repeatable", "once"])
def test_a_lost_connection_is_replaced(database_url: str, server_url: str, kind: str) -> None:
    """What is asked after every session was cut is answered by a new one, and done once."""
    done: list[int] = []

    def act(database: Database) -> None:
        done.append(_server(database))

    async def ask() -> None:
        opened = Connections(database_url, size=1)
        repeatable = kind == "repeatable"
        await opened.run(act, repeatable=repeatable)
        with psycopg.connect(server_url, autocommit=True) as conn:
            cut(conn, str(conninfo_to_dict(database_url)["dbname"]))
        await opened.run(act, repeatable=repeatable)
        opened.close()

    asyncio.run(ask())
    assert len(done) == len(set(done)) == 2


def test_what_may_not_be_repeated_is_not(database_url: str) -> None:
    """A connection that is lost in the middle leaves it open whether it was done."""
    asked: list[int] = []

    def act(database: Database) -> None:
        asked.append(1)
        database.execute("select pg_terminate_backend(pg_backend_pid())")

    async def ask() -> None:
        opened = Connections(database_url, size=1)
        for repeatable in (False, True):
            with pytest.raises(DatabaseUnavailable):
                await opened.run(act, repeatable=repeatable)
        opened.close()

    asyncio.run(ask())
    assert len(asked) == 1 + 2


def test_an_outage_is_told_as_one(database_url: str, server_url: str) -> None:
    """Where no connection can be had, that is what is raised, and the next time it may be there."""

    async def ask() -> None:
        opened = Connections(database_url, size=1)
        with outage(server_url, database_url), pytest.raises(DatabaseUnavailable):
            await opened.run(_server, repeatable=True)
        assert await opened.run(_server, repeatable=True)
        opened.close()

    asyncio.run(ask())


def test_nobody_waits_long_for_a_turn(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While every connection is busy the next is refused after a while, and none is taken over."""
    monkeypatch.setattr(connections, "_PATIENCE", 0.05)
    begun, end = threading.Event(), threading.Event()

    def busy(_: Database) -> None:
        begun.set()
        assert end.wait(DEADLINE)

    async def ask() -> None:
        opened = Connections(database_url, size=1)
        first = asyncio.create_task(opened.run(busy, repeatable=True))
        await asyncio.to_thread(begun.wait, DEADLINE)
        with pytest.raises(DatabaseUnavailable, match="busy"):
            await opened.run(_server, repeatable=True)
        first.cancel()
        with pytest.raises(DatabaseUnavailable, match="busy"):
            await opened.run(_server, repeatable=True)
        end.set()
        await asyncio.gather(first, return_exceptions=True)
        monkeypatch.setattr(connections, "_PATIENCE", DEADLINE)
        assert await opened.run(_server, repeatable=True)
        opened.close()

    asyncio.run(ask())
