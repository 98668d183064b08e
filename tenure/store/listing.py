"""Lists for people: jobs by what is asked of them, automations, one automation with its past.

Called by the command line and by pages.  Promises: the newest come first, and a list of jobs reads
no more of the history than it takes to fill it.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from tenure.base.errors import NothingMatched
from tenure.store.database import Database

STATES = ("ready", "running", "waiting", "lost", "held", "succeeded", "failed", "cancelled")


class ListedJob(msgspec.Struct, frozen=True):
    """A job in a list; ``why``: the machine's word for what it waits for."""

    id: UUID
    automation: str
    state: str
    mode: str
    lane: str
    priority: int
    created_at: datetime
    created_by: str
    leased_until: datetime | None
    finished_at: datetime | None
    claim_count: int
    why: str | None
    error_class: str | None


class ListedAutomation(msgspec.Struct, frozen=True):
    """An automation as its row has it; ``workers``: living processes that know it."""

    name: str
    stage: str
    version: str
    label: str | None
    lane: str
    listens: tuple[str, ...]
    priority: int
    max_attempts: int
    max_crashes: int
    backoff: str | None
    lease: float | None
    timeout: float | None
    concurrency: int | None
    unique_by: str | None
    unique_until: str
    expires: float | None
    replaces: str | None
    tags: tuple[str, ...]
    first_event: UUID | None
    declared_at: datetime
    declared_by: str | None
    workers: int


class Lane(msgspec.Struct, frozen=True):
    """A strand of an automation, and what closes it; a closure without a time has no end."""

    lane: str
    live: bool
    quarantine: bool
    closed_until: datetime | None
    closed_by: str | None
    paused_until: datetime | None
    paused_by: str | None
    pause_reason: str | None


class Move(msgspec.Struct, frozen=True):
    """A promotion or demotion as it was written."""

    at: datetime
    from_stage: str
    to_stage: str
    version: str
    actor: str
    reason: str
    waived: tuple[str, ...]
    waived_until: datetime | None
    first_event: UUID | None


class ShownAutomation(msgspec.Struct, frozen=True):
    """One automation with its lanes and its moves, newest first."""

    automation: ListedAutomation
    lanes: tuple[Lane, ...]
    moves: tuple[Move, ...]


def jobs(
    database: Database,
    *,
    state: str | None = None,
    automation: str | None = None,
    lane: str | None = None,
    limit: int = 50,
) -> list[ListedJob]:
    """Jobs that match all that is asked, newest first, at most ``limit``."""
    asked = {"state": state, "automation": automation, "lane": lane, "limit": limit}
    return [msgspec.convert(row, ListedJob) for row in database.run("listing/jobs", asked)]


def automations(database: Database, name: str | None = None) -> list[ListedAutomation]:
    """All automations by name, or the one of a name."""
    rows = database.run("listing/automations", {"name": name})
    return [msgspec.convert(row, ListedAutomation) for row in rows]


def automation(database: Database, name: str) -> ShownAutomation:
    """One automation with its lanes and moves; raises ``NothingMatched``."""
    found = automations(database, name)
    if not found:
        raise NothingMatched(
            f"unknown automation ({name}): no worker or server has declared it",
            hint="Start a worker that knows it once, or correct the name.",
        )
    lanes = database.run("listing/lanes", {"automation": name})
    moves = database.run("listing/moves", {"automation": name})
    return ShownAutomation(
        found[0],
        tuple(msgspec.convert(row, Lane) for row in lanes),
        tuple(msgspec.convert(row, Move) for row in moves),
    )
