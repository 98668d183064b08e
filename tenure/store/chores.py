"""Periodic duties as claimable rows: any worker, no leader.

Called by the worker's thread of duties.  Promises: each duty is done by one process at a time and
moved on before it is done; a duty that could not have its locks comes again in a minute.
"""

from __future__ import annotations

from uuid import UUID

from tenure.store.database import Busy, Database

# A month ahead, and the present week.
_WEEKS_AHEAD = 6

# What this code knows how to do; duties of newer code are left to newer workers.
_DUTIES: dict[str, tuple[str, dict[str, object]]] = {
    "partitions": ("chores/partitions", {"weeks": _WEEKS_AHEAD}),
    "strands": ("chores/strands", {}),
    "expiry": ("chores/expiry", {}),
    "pauses": ("chores/pauses", {}),
}


def do_one(database: Database, worker: UUID) -> str | None:
    """Take one duty that is due and do it; its name, or None where nothing is due."""
    rows = database.run("chores/claim", {"worker": worker, "names": list(_DUTIES)})
    if not rows:
        return None
    name = str(rows[0]["name"])
    statement, parameters = _DUTIES[name]
    try:
        database.run(statement, parameters)
    except Busy:
        database.run("chores/again", {"name": name})
    return name
