"""Hot statements read what their headers say they read, on a full table and on one that lies.

Rows of every kind stand in the way: ready, future, of a closed strand (a million of each in
``benchmarks``, fewer here).  The table is analysed once truly and once while empty, which is how a
queue's statistics go wrong in the field.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.base.model import Declared, Strand
from tenure.store import automations, claims
from tenure.store.database import Database, statement

ROWS = 30_000

_FILL = """
    insert into tenure.jobs (leased_until, strand, home, priority, mode, automation, version, lane,
                             created_by)
    select tenure.clock() + make_interval(secs => %(ahead)s * (1 + random())), s.id, s.id,
           %(priority)s, 'live', s.automation, '1', s.lane, 'test'
      from tenure.strands as s, generate_series(1, %(rows)s)
     where s.automation = %(automation)s and s.live and not s.quarantine
"""


@pytest.fixture(scope="module", params=["true", "lying"])
def crowded(request: pytest.FixtureRequest, server_url: str, template: str) -> Iterator[Database]:
    """Ready, future and closed rows in one table, with statistics that are true or lie."""
    name = sql.Identifier(f"tenure_crowd_{uuid.uuid4().hex}")
    make = sql.SQL("create database {} template {}").format(name, sql.Identifier(template))
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(make)
    database = Database(make_conninfo(server_url, dbname=name.as_string().strip('"')))
    crowd(database, lying=request.param == "lying")
    yield database
    database.close()
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL("drop database {} with (force)").format(name))


def crowd(database: Database, *, lying: bool) -> None:
    """Fill the hot table; analysed when full, or, lying, while it was empty."""
    conn = database.connect()
    conn.execute("alter table tenure.jobs set (autovacuum_enabled = off)")
    for name in ("ready", "future", "closed"):
        automations.declare(database, Declared(name=name, version="1"), by="test")
    if lying:
        conn.execute("analyze tenure.jobs")
    for name, ahead, priority in (("ready", -60, 5), ("future", 3600, 0), ("closed", -60, 0)):
        values = {"automation": name, "ahead": ahead, "priority": priority, "rows": ROWS}
        conn.execute(_FILL, values)
    conn.execute("update tenure.strands set next_at = '2020-01-01' where live and not quarantine")
    conn.execute(
        "update tenure.strands set closed_until = tenure.clock() + interval '1 day'"
        " where automation = 'closed'"
    )
    if not lying:
        conn.execute("analyze tenure.jobs")


def due(database: Database) -> list[Strand]:
    """The strands a worker would claim from."""
    names = ["ready", "future", "closed"]
    return claims.dispatch(database, automations=names, live=True, quarantine=False, after=0)


def plan(database: Database, name: str, parameters: dict[str, object]) -> list[dict[str, Any]]:
    """Every node of a statement's plan as it ran, undone afterwards."""
    conn = database.connect()
    text = "explain (analyze, buffers, format json) " + statement(name)
    with conn.transaction(force_rollback=True):
        row = conn.execute(text, parameters).fetchone()
    assert row is not None
    return list(nodes(row["QUERY PLAN"][0]["Plan"]))


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node and all below it."""
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


def scans_of_jobs(plan_: list[dict[str, Any]]) -> set[tuple[str, str | None]]:
    """How the plan reads the hot table: the kind of scan and the index."""
    found = set()
    for node in plan_:
        if node.get("Relation Name") == "jobs" and "Scan" in node["Node Type"]:
            found.add((node["Node Type"], node.get("Index Name")))
        if node["Node Type"] == "Bitmap Index Scan" and str(node["Index Name"]).startswith("jobs"):
            found.add((node["Node Type"], node["Index Name"]))
    return found


def test_a_claim_reads_no_more_than_it_returns(crowded: Database) -> None:
    """Its cost depends on nothing that is not claimed: a range of one index, limits below locks."""
    strands = due(crowded)
    parameters: dict[str, object] = {
        "worker": uuid.uuid4(),
        "strands": [s.id for s in strands],
        "leases": [60.0] * len(strands),
        "quotas": [10] * len(strands),
        "quarantine": False,
        "picked": [],
    }
    found = plan(crowded, "claims/claim", parameters)
    assert ("Index Scan", "jobs_claimable") in scans_of_jobs(found)
    assert not any(kind == "Seq Scan" for kind, _ in scans_of_jobs(found))
    locked = next(node for node in found if node["Node Type"] == "LockRows")
    assert locked["Actual Rows"] * locked["Actual Loops"] <= 10 + 0.5 * locked["Actual Loops"]
    assert found[0]["Shared Hit Blocks"] + found[0]["Shared Read Blocks"] < 1_000


def test_rows_locked_by_a_claim_are_rows_returned(crowded: Database) -> None:
    """What a claim locks it returns: another sees every other row free."""
    quotas = {strand.id: 7 for strand in due(crowded)}
    conn = crowded.connect()
    with conn.transaction(force_rollback=True):
        got = claims.claim(crowded, worker=uuid.uuid4(), lease=60, quotas=quotas, quarantine=False)
        with psycopg.connect(crowded.url) as other:
            free = other.execute(
                "select count(*) from (select from tenure.jobs for update skip locked) as free"
            ).fetchone()
        total = conn.execute("select count(*) as n from tenure.jobs").fetchone()
    assert total is not None
    assert (got.rows, free) == (7, (total["n"] - 7,))


def test_a_closed_strand_is_not_looked_into(crowded: Database) -> None:
    """A hundred thousand jobs behind a closed strand are no strand to claim from."""
    names = {
        row["id"]: row["automation"]
        for row in crowded.connect().execute("select id, automation from tenure.strands").fetchall()
    }
    assert {names[strand.id] for strand in due(crowded)} == {"ready", "future"}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("leases/renew", {"leases": [60.0] * 50}),
        (
            "ends/finish",
            {
                "statuses": ["succeeded"] * 50,
                "results": ["null"] * 50,
                "error_classes": [None] * 50,
                "errors": [None] * 50,
                "tracebacks": [None] * 50,
            },
        ),
        (
            "records/steps",
            {
                "names": ["s"] * 50,
                "kinds": ["step"] * 50,
                "arguments": [b""] * 50,
                "results": ["null"] * 50,
            },
        ),
    ],
)
def test_what_follows_a_claim_goes_by_the_primary_key(
    crowded: Database, name: str, parameters: dict[str, object]
) -> None:
    """Renewals, ends and records touch the rows they name and scan nothing."""
    worker = uuid.uuid4()
    ready = {strand.id: 50 for strand in due(crowded)}
    got = claims.claim(crowded, worker=worker, lease=60, quotas=ready, quarantine=False)
    ids = sorted(job.id for job in got.jobs)
    held: dict[str, object] = {"worker": worker, "ids": ids, "fences": [1] * len(ids)}
    found = scans_of_jobs(plan(crowded, name, held | parameters))
    assert found
    assert {index for kind, index in found if index} == {"jobs_pkey"}
    assert not any(kind == "Seq Scan" for kind, _ in found)
