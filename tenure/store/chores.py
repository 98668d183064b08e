"""Periodic duties as claimable rows: any worker, no leader.

Called by the worker's heartbeat thread.  Promises: each duty is done by one process at a time and
moved on before it is done, so a duty that fails is tried again at its next time.
"""

from __future__ import annotations

from uuid import UUID

from tenure.store.database import Database

# A month ahead, and the present week.
_WEEKS_AHEAD = 6


def do_one(database: Database, worker: UUID) -> str | None:
    """Take one duty that is due and do it; its name, or None where nothing is due."""
    rows = database.run("chores/claim", {"worker": worker})
    if not rows:
        return None
    name = str(rows[0]["name"])
    if name == "strands":
        database.run("chores/strands")
    elif name == "partitions":
        database.run("chores/partitions", {"weeks": _WEEKS_AHEAD})
    return name
