"""Making jobs: in a transaction of one's own, or in the caller's.

Called by automations, the control API and the command line.  Promises: one statement; the caller's
transaction decides whether the job exists; an unknown automation is said so.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import dict_row

from tenure.store.database import Database, Row, statement, translated

# What an index can hold with room to spare.
KEY_LIMIT = 512

Conn = psycopg.Connection[object]
AsyncConn = psycopg.AsyncConnection[object]


class Enqueued(msgspec.Struct, frozen=True):
    """The job that holds the key, and whether this call created it."""

    job_id: UUID
    created: bool


class Wanted(msgspec.Struct, frozen=True):
    """A job to be made; ``input`` is JSON text, ``at`` the earliest moment it may run."""

    automation: str
    input: str
    key: str | None = None
    at: datetime | None = None
    priority: int | None = None
    by: str | None = None


def enqueue(database: Database, wanted: Wanted) -> Enqueued:
    """Make a job in a transaction of its own."""
    return _enqueued(database.run("jobs/enqueue", msgspec.structs.asdict(wanted))[0])


def enqueue_within(conn: Conn, wanted: Wanted) -> Enqueued:
    """Make a job in the caller's transaction: it exists when that commits."""
    with translated(), conn.cursor(row_factory=dict_row) as cursor:
        cursor.execute(statement("jobs/enqueue"), msgspec.structs.asdict(wanted))
        row = cursor.fetchone()
    return _enqueued(row or {})


async def aenqueue_within(conn: AsyncConn, wanted: Wanted) -> Enqueued:
    """Make a job in the caller's transaction: it exists when that commits."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        with translated():
            await cursor.execute(statement("jobs/enqueue"), msgspec.structs.asdict(wanted))
            row = await cursor.fetchone()
    return _enqueued(row or {})


def _enqueued(row: Row) -> Enqueued:
    return Enqueued(row["job_id"], row["created"])
