"""Keeping leases: the heartbeat's one statement.

Called by the worker's heartbeat thread.  Promises: renewal never shortens a lease; a row locked by
somebody is busy, not lost; the answer carries what an operator has asked of a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal
from uuid import UUID

import msgspec

from tenure.store.database import Database

Said = Literal["renewed", "kept", "busy", "lost"]

# Taken in chunks, so that one heartbeat never holds more than a thousand rows.
_CHUNK = 1_000


class Renewal(msgspec.Struct, frozen=True):
    """What a heartbeat learned of one claim."""

    job: UUID
    said: Said
    request: str | None
    paused: bool


def renew(
    database: Database,
    *,
    worker: UUID,
    lease: float,
    claims: Mapping[UUID, int],
    leases: Mapping[UUID, float] = MappingProxyType({}),
) -> list[Renewal]:
    """Renew the claims (job to fence) whose leases are past a third; tells each one's standing.

    ``leases``: of jobs whose automations have a lease of their own.
    """
    ordered = sorted(claims.items())
    renewals: list[Renewal] = []
    for start in range(0, len(ordered), _CHUNK):
        chunk = ordered[start : start + _CHUNK]
        rows = database.run(
            "leases/renew",
            {
                "worker": worker,
                "ids": [job for job, _ in chunk],
                "fences": [fence for _, fence in chunk],
                "leases": [leases.get(job, lease) for job, _ in chunk],
            },
        )
        renewals += [Renewal(row["id"], row["said"], row["request"], row["paused"]) for row in rows]
    return renewals
