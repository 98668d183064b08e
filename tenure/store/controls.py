"""What an operator does to one job: retry, replay, cancel, hold.

Called by the command line and the control API.  Promises: one act is one statement with its audit
row; no act changes a fence; what the state of things forbids raises and changes nothing.
"""

from __future__ import annotations

from typing import Literal, cast
from uuid import UUID

from tenure.store.database import Database


def retry(
    database: Database,
    job: UUID,
    *,
    actor: str,
    reason: str | None = None,
    origin: str = "sql",
) -> Literal["failed", "held"]:
    """Bring a failed or held job back under its id and keys; tells the status it had.

    Raises ``Refused`` where it has not ended so, is in doubt, or its unique key is held by another
    job; ``NothingMatched`` where there is no such job.
    """
    row = _act(database, "controls/retry", job, actor, reason, origin=origin)
    return cast("Literal['failed', 'held']", row["was"])


def replay(
    database: Database,
    job: UUID,
    *,
    actor: str,
    reason: str | None = None,
    origin: str = "sql",
) -> UUID:
    """Make a new job of an old one's event or input, with new keys; tells the new job's id.

    Its mode is that of the automation's present stage.  Raises ``Refused`` where what the old one
    ran on is no longer kept, ``NothingMatched`` where there is no such job.
    """
    row = _act(database, "controls/replay", job, actor, reason, origin=origin)
    return cast("UUID", row["became"])


def cancel(
    database: Database,
    job: UUID,
    *,
    actor: str,
    reason: str | None = None,
    origin: str = "sql",
) -> Literal["cancelled", "asked"]:
    """Cancel a job that nobody runs, or ask its worker to.

    Raises ``Refused`` where it has ended, ``NothingMatched`` where there is none.
    """
    row = _act(database, "controls/cancel", job, actor, reason, origin=origin)
    return cast("Literal['cancelled', 'asked']", row["became"])


def hold(
    database: Database,
    job: UUID,
    *,
    actor: str,
    reason: str,
    origin: str = "sql",
) -> Literal["held", "asked"]:
    """Hold a job that nobody runs, or ask its worker to.

    Raises ``Refused`` where it has ended, is held or about to be cancelled, ``NothingMatched``
    where there is none.
    """
    row = _act(database, "controls/hold", job, actor, reason, origin=origin)
    return cast("Literal['held', 'asked']", row["became"])


def _act(
    database: Database, name: str, job: UUID, actor: str, reason: str | None, *, origin: str
) -> dict[str, object]:
    rows = database.run(name, {"job": job, "actor": actor, "reason": reason, "origin": origin})
    return dict(rows[0])
