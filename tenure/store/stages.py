"""Moving automations up and down their stages.

Called by the command line and the control API.  Promises: nothing goes live without its evidence or
a waiver that names who, why and until when; stage, promotion, first event and audit row are one
transaction; jobs that exist keep their mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tenure.store.database import Database


class Waiver(msgspec.Struct, frozen=True):
    """Lines of a review that somebody does without; ``until`` None: for 30 days."""

    lines: Sequence[str] = ()
    until: datetime | None = None


class Moved(msgspec.Struct, frozen=True):
    """A promotion or demotion; ``first_event``: the first id from which it holds."""

    automation: str
    version: str
    from_stage: str
    to_stage: str
    waived: tuple[str, ...]
    waived_until: datetime | None
    reason: str
    actor: str
    first_event: UUID
    at: datetime


def promote(
    database: Database,
    automation: str,
    to: str,
    *,
    reason: str,
    actor: str,
    waiver: Waiver | None = None,
    origin: str = "sql",
) -> Moved:
    """Move an automation up; raises ``Refused`` with the lines that are missing.

    ``NothingMatched`` where there is no such automation.
    """
    waiver = waiver or Waiver()
    return _moved(
        database,
        "stages/promote",
        {
            "automation": automation,
            "to": to,
            "reason": reason,
            "waived": sorted(set(waiver.lines)),
            "until": waiver.until,
            "actor": actor,
            "origin": origin,
        },
    )


def demote(
    database: Database,
    automation: str,
    to: str,
    *,
    reason: str,
    actor: str,
    origin: str = "sql",
) -> Moved:
    """Move an automation down, at once; raises ``Refused``, ``NothingMatched``."""
    return _moved(
        database,
        "stages/demote",
        {"automation": automation, "to": to, "reason": reason, "actor": actor, "origin": origin},
    )


def _moved(database: Database, name: str, parameters: dict[str, object]) -> Moved:
    rows = database.run(name, parameters)
    return msgspec.convert(rows[0], Moved)
