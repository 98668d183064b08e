"""Refusals are written down together, and none is lost to an outage."""

from __future__ import annotations

import asyncio

from tenure.store.database import Database
from tenure.web.connections import Connections
from tenure.web.tally import Tally
from tests.web.doors import outage

_COUNTED = "select coalesce(sum(count), 0)::int as n, count(distinct reason)::int as reasons"


def test_many_refusals_are_one_statement(database: Database, database_url: str) -> None:
    """However many come between two writes, they cost one."""
    database.execute(
        "create sequence tenure.writes;"
        " create function tenure.note() returns trigger language plpgsql as $$ begin"
        " perform nextval('tenure.writes'); return null; end $$;"
        " create trigger note before insert on tenure.rejections"
        " for each statement execute function tenure.note()"
    )

    async def refuse() -> None:
        connections = Connections(database_url, size=1)
        tally = Tally(connections)
        for n in range(500):
            tally.count("lead", "stale" if n % 2 else "future")
        await tally.close()
        connections.close()

    asyncio.run(refuse())
    [row] = database.execute(f"{_COUNTED} from tenure.rejections")
    assert (row["n"], row["reasons"]) == (500, 2)
    assert database.execute("select last_value from tenure.writes")[0]["last_value"] == 1


def test_what_an_outage_kept_from_being_written_is_written_later(
    database: Database, database_url: str, server_url: str
) -> None:
    """Counts wait in memory until the database is back, and are not counted twice."""

    async def refuse() -> None:
        connections = Connections(database_url, size=1)
        tally = Tally(connections, every=600.0)
        tally.count("lead", "stale")
        await tally.flush()
        with outage(server_url, database_url):
            tally.count("lead", "stale")
            await tally.flush()
        tally.count("lead", "stale")
        await tally.close()
        connections.close()

    asyncio.run(refuse())
    [row] = database.execute(f"{_COUNTED} from tenure.rejections")
    assert row["n"] == 3
