"""Strands: opened for a lane, closed until a budget has room.

Called by the worker when it declares automations and when it parks a job.  Promises: short
transactions of their own, made before any job is touched.
"""

from __future__ import annotations

from tenure.store.database import Database


def open_lane(database: Database, automation: str, lane: str) -> None:
    """Make the strands of an automation's lane where they are missing."""
    database.run("strands/open_lane", {"automation": automation, "lane": lane})


def park(
    database: Database, *, automation: str, lane: str, live: bool, seconds: float, by: str
) -> int:
    """The strand in which jobs wait for a lane's budget, closed for at least so many seconds."""
    parameters = {
        "automation": automation,
        "lane": lane,
        "live": live,
        "seconds": seconds,
        "by": by,
    }
    rows = database.run("strands/park", parameters)
    if not rows:
        open_lane(database, automation, lane)
        rows = database.run("strands/park", parameters)
    return int(rows[0]["id"])
