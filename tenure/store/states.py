"""Where one job stands, as every face tells it.

Called by the control API.  Promises: unfinished and finished jobs are found alike, and the state is
the view's word, derived nowhere else.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from tenure.store.database import Database


class Standing(msgspec.Struct, frozen=True):
    """A job's state with what explains it at a glance; ``waiting_on`` is JSON text."""

    id: UUID
    automation: str
    version: str
    lane: str
    mode: str
    priority: int
    state: str
    created_at: datetime
    created_by: str
    event_id: UUID | None
    replay_of: UUID | None
    claim_count: int
    failure_count: int
    leased_until: datetime | None
    waiting_on: str | None
    finished_at: datetime | None
    error_class: str | None
    error: str | None


def get(database: Database, job_id: UUID) -> Standing | None:
    """Where a job stands; None where there is none of that id, or it is no longer kept."""
    rows = database.run("states/get", {"id": job_id})
    return msgspec.convert(rows[0], Standing) if rows else None
