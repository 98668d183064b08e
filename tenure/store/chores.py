"""Periodic duties as claimable rows: any worker, no leader.

Called by the worker's thread of duties.  Promises: each duty is done by one process at a time and
moved on before it is done; a duty that could not have its locks comes again in a minute; one that
has more to do than a short transaction holds comes again at once.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from tenure.base.defaults import Settings
from tenure.store.database import Busy, Database

# A month ahead, and the present week.
_WEEKS_AHEAD = 6
# Rows of a table that one turn of the retention deletes.
_MOST = 5_000
_BUSY_WAIT = 60.0

# What this code knows how to do; duties of newer code are left to newer workers.
_DUTIES = {
    "partitions": "chores/partitions",
    "strands": "chores/strands",
    "expiry": "chores/expiry",
    "pauses": "chores/pauses",
    "retention": "chores/retention",
}


def do_one(database: Database, worker: UUID, settings: Settings | None = None) -> str | None:
    """Take one duty that is due and do it; its name, or None where nothing is due.

    ``settings`` say how long what has finished is kept.
    """
    rows = database.run("chores/claim", {"worker": worker, "names": list(_DUTIES)})
    if not rows:
        return None
    name = str(rows[0]["name"])
    try:
        done = database.run(_DUTIES[name], _parameters(settings or Settings()))
    except Busy:
        database.run("chores/again", {"name": name, "seconds": _BUSY_WAIT})
    else:
        if done and done[0].get("more"):
            database.run("chores/again", {"name": name, "seconds": 0.0})
    return name


def _parameters(settings: Settings) -> dict[str, object]:
    """What the statements of duties are given; each takes what it names."""
    return {
        "weeks": _WEEKS_AHEAD,
        "finished": timedelta(seconds=settings.retention_finished),
        "failed": timedelta(seconds=settings.retention_failed),
        "most": _MOST,
    }
