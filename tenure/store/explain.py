"""Jobs in sentences, as every face shows them.

Called by the command line, the control API and pages.  Promises: the sentences are made from rows
by the view ``tenure.explain`` and by nothing else, so that all faces say the same.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from tenure.store.database import Database


class Sentence(msgspec.Struct, frozen=True):
    """One sentence about a job.

    ``part``: ``state``, ``wait``, ``job``, ``attempt``, ``trace``, ``step``, ``call``, ``journal``,
    ``act``, ``retry`` or ``replay``; ``at``: the moment it is about, if it is about one.
    """

    position: int
    part: str
    at: datetime | None
    sentence: str


class Moment(msgspec.Struct, frozen=True):
    """One thing that happened to a job."""

    at: datetime
    what: str
    detail: str | None


class Attempt(msgspec.Struct, frozen=True):
    """How one claim ended: by which worker, where, in which version, and with which error."""

    claim: int
    ended: str
    worker_id: UUID | None
    host: str | None
    version: str | None
    claimed_at: datetime | None
    ended_at: datetime
    due: datetime | None
    error_class: str | None
    error: str | None
    traceback: str | None


def sentences(database: Database, job: UUID) -> list[Sentence]:
    """What there is to say about a job, the state first; empty where there is no such job."""
    rows = database.run("explain/sentences", {"job": job})
    return [msgspec.convert(row, Sentence) for row in rows]


def attempts(database: Database, job: UUID) -> list[Attempt]:
    """How a job's claims ended, newest first, at most 200; a success at the first try is none."""
    rows = database.run("explain/attempts", {"job": job})
    return [msgspec.convert(row, Attempt) for row in rows]


def timeline(database: Database, job: UUID) -> list[Moment]:
    """What happened to a job, in order; empty where there is no such job."""
    rows = database.run("explain/timeline", {"job": job})
    return [msgspec.convert(row, Moment) for row in rows]
