"""Making jobs: in a transaction of one's own, or in the caller's.

Called by automations, the control API and the command line.  Promises: one statement; the caller's
transaction decides whether the job exists; an unknown automation is said so.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from tenure.store import callers
from tenure.store.callers import AsyncConn, Conn
from tenure.store.database import Database

# What an index can hold with room to spare.
KEY_LIMIT = 512


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
    row = database.run("jobs/enqueue", _values(wanted))[0]
    return Enqueued(UUID(row["job_id"]), row["created"])


def enqueue_within(conn: Conn, wanted: Wanted) -> Enqueued:
    """Make a job in the caller's transaction: it exists when that commits."""
    [(job_id, created)] = callers.run(conn, "jobs/enqueue", _values(wanted))
    return Enqueued(UUID(str(job_id)), bool(created))


async def aenqueue_within(conn: AsyncConn, wanted: Wanted) -> Enqueued:
    """Make a job in the caller's transaction: it exists when that commits."""
    [(job_id, created)] = await callers.arun(conn, "jobs/enqueue", _values(wanted))
    return Enqueued(UUID(str(job_id)), bool(created))


def _values(wanted: Wanted) -> dict[str, str | int | None]:
    """What the statement takes: text and numbers, which every driver writes alike."""
    values = msgspec.structs.asdict(wanted)
    return values | {"at": wanted.at and wanted.at.isoformat()}
