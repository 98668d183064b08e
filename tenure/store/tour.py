"""What a demo asks of its database: is it free, who runs this call, what became of everything.

Called by ``tenure demo`` alone.  Promises: no row is changed; a schema is removed only where it is
asked for in so many words, by who made it.
"""

from __future__ import annotations

from uuid import UUID

import msgspec

from tenure.store.database import Database


class Standing(msgspec.Struct, frozen=True):
    """Whether the database holds Tenure's schema already, and its major version."""

    there: bool
    server: int


class Runner(msgspec.Struct, frozen=True):
    """The process that runs a job."""

    job_id: UUID
    automation: str
    fence: int
    worker_id: UUID
    kind: str
    host: str
    pid: int


class Made(msgspec.Struct, frozen=True):
    """A job that an event made."""

    id: UUID
    event_id: UUID
    automation: str
    mode: str
    state: str
    why: str | None


class Calls(msgspec.Struct, frozen=True):
    """How many sends to a provider ended so; ``again``: repeats under a key that had left."""

    provider: str
    state: str
    calls: int
    again: int


def standing(database: Database) -> Standing:
    """How the database stands."""
    return msgspec.convert(database.run("tour/standing")[0], Standing)


def remove(database: Database) -> None:
    """Remove the schema, with everything in it."""
    database.run("tour/remove")


def states(database: Database) -> dict[str, int]:
    """How many jobs stand in which state."""
    return {row["state"]: row["jobs"] for row in database.run("tour/states")}


def jobs(database: Database) -> list[Made]:
    """Every job that an event made."""
    return [msgspec.convert(row, Made) for row in database.run("tour/jobs")]


def calls(database: Database) -> list[Calls]:
    """All sends, counted by provider and by what came of them."""
    return [msgspec.convert(row, Calls) for row in database.run("tour/calls")]


def runner(database: Database, key: str) -> Runner | None:
    """Who runs the job whose call bears this key; None where no claimed job does."""
    rows = database.run("tour/runner", {"key": key})
    return msgspec.convert(rows[0], Runner) if rows else None
