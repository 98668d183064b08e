"""Pauses: an automation, a lane, a provider, a source or everything stands still until resumed.

Called by the command line and the control API.  Promises: what comes is taken in and waits; what
runs goes on to its next call, and is handed back there at no cost; no job is written; pauses that
overlap each end by themselves.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from tenure.store.database import Database


class Pause(msgspec.Struct, frozen=True):
    """A target with who paused it, why, since when, and until when (None: until resumed)."""

    target: str
    reason: str
    paused_by: str
    since: datetime
    until: datetime | None


def pause(
    database: Database,
    target: str,
    *,
    reason: str,
    actor: str,
    until: datetime | None = None,
    origin: str = "sql",
) -> Pause:
    """Pause ``automation:…``, ``lane:…``, ``provider:…``, ``source:…`` or ``all``.

    Raises ``Refused`` for what is no target, no reason or no time ahead, ``NothingMatched`` where
    there is nothing of that name.
    """
    given = {"target": target, "reason": reason, "until": until, "actor": actor, "origin": origin}
    return msgspec.convert(database.run("pauses/pause", given)[0], Pause)


def resume(
    database: Database,
    target: str,
    *,
    actor: str,
    reason: str | None = None,
    origin: str = "sql",
) -> Pause:
    """End a pause now; tells it as it was; raises ``NothingMatched`` where there is none."""
    given = {"target": target, "reason": reason, "actor": actor, "origin": origin}
    return msgspec.convert(database.run("pauses/resume", given)[0], Pause)


def listed(database: Database) -> list[Pause]:
    """The pauses in force, oldest first."""
    return [msgspec.convert(row, Pause) for row in database.run("pauses/listed")]
