"""Claiming jobs: which strands are due, and a batch of jobs from each.

Called by the worker's claim loop.  Promises: a claim costs the same however many rows are ready,
future, leased or closed; rows locked are rows returned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from tenure.base.model import Claimed, Event, Job, Strand
from tenure.store.database import Database, Row


def dispatch(
    database: Database,
    *,
    automations: Sequence[str],
    live: bool,
    quarantine: bool,
    after: int,
    limit: int = 64,
) -> list[Strand]:
    """Strands of known automations that are due and open, from after a remembered position."""
    rows = database.run(
        "claims/dispatch",
        {
            "automations": list(automations),
            "live": live,
            "quarantine": quarantine,
            "after": after,
            "limit": limit,
        },
    )
    return [
        Strand(
            row["strand"],
            row["lane"],
            row["next_at"],
            row["room"],
            row["automation"],
            limited=row["limited"],
        )
        for row in rows
    ]


def claim(
    database: Database,
    *,
    worker: UUID,
    lease: float,
    quotas: Mapping[int, int],
    quarantine: bool,
    leases: Mapping[int, float] = MappingProxyType({}),
    limited: Collection[int] = (),
) -> Claimed:
    """Claim up to a quota of jobs from each strand, for a lease of so many seconds.

    ``leases``: of strands whose automations have a lease of their own; ``limited``: the strands of
    which each job needs a slot.
    """
    asked = {
        "worker": worker,
        "strands": list(quotas),
        "leases": [leases.get(strand, lease) for strand in quotas],
        "quotas": [0 if strand in limited else quota for strand, quota in quotas.items()],
        "quarantine": quarantine,
        "picked": [],
    }
    shared = {strand: quota for strand, quota in quotas.items() if strand in limited}
    if shared:
        with database.transaction():
            picked = database.run(
                "claims/slots", {"strands": list(shared), "quotas": list(shared.values())}
            )
            rows = database.run("claims/claim", asked | {"picked": [row["id"] for row in picked]})
    else:
        rows = database.run("claims/claim", asked)
    left = [row for row in rows if row["worker_id"] is None]
    return Claimed(
        jobs=tuple(
            _job(row, leases.get(row["strand"], lease))
            for row in rows
            if row["worker_id"] is not None
        ),
        aside=tuple(row["id"] for row in left if row["status"] == "pending" and row["fence"]),
        held=tuple(row["id"] for row in left if row["status"] == "held"),
        expired=tuple(row["id"] for row in left if row["status"] == "pending" and not row["fence"]),
        rows=len(rows),
    )


def expire(database: Database, jobs: Sequence[UUID]) -> int:
    """Cancel jobs that a claim found expired; tells how many."""
    return len(database.run("claims/expire", {"ids": list(jobs)}))


def raise_bound(database: Database, strands: Sequence[Strand]) -> int:
    """Raise ``next_at`` of strands a claim found empty; tells how many were raised."""
    seen = {"strands": [s.id for s in strands], "seen": [s.next_at for s in strands]}
    return len(database.run("claims/raise", seen))


def _job(row: Row, lease: float) -> Job:
    event = row["event_id"] and Event(
        id=row["event_id"],
        source=row["source"],
        type=row["type"],
        key=row["key"],
        received_at=row["received_at"],
        content_type=row["content_type"],
        headers=row["headers"],
        body=row["body"],
    )
    return Job(
        id=row["id"],
        automation=row["automation"],
        mode=row["mode"],
        lane=row["lane"],
        strand=row["strand"],
        fence=row["fence"],
        failures=row["failures"],
        crash_count=row["crash_count"],
        claimed_at=row["claimed_at"],
        input=row["input"],
        event=event,
        request=row["request"],
        lease=lease,
    )
