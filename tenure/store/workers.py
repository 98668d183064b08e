"""Worker processes on record, for people; no lease is judged by these rows.

Called by the worker when it starts, at each heartbeat and when it stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from tenure.base.model import Kind
from tenure.store.database import Database


def arrive(
    database: Database, *, id: UUID, host: str, pid: int, kind: Kind, automations: Sequence[str]
) -> None:
    """Put this process on record."""
    database.run(
        "workers/arrive",
        {"id": id, "host": host, "pid": pid, "kind": kind, "automations": list(automations)},
    )


def touch(database: Database, id: UUID, *, stopped: bool = False) -> bool:
    """Say that this process lives, or has stopped; False where its record is gone."""
    return bool(database.run("workers/touch", {"id": id, "stopped": stopped}))
