"""Questions that jobs wait with for a person, and the answers.

Called by the command line, the control API and pages.  Promises: an answer about a call is taken
only when the call can no longer leave; an answer, what it says of the call, and the job's going on
are one transaction with its audit row.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from tenure.base.errors import NothingMatched
from tenure.store.database import Database


class Question(msgspec.Struct, frozen=True):
    """An open question; ``in_doubt``: about a call, answerable from ``not_before`` on."""

    id: int
    job_id: UUID
    automation: str
    step: str | None
    question: str
    asked_at: datetime
    in_doubt: bool
    not_before: datetime | None


class Happened(msgspec.Struct, frozen=True):
    """The call happened: with this status and response, as far as anybody knows them."""

    status: int | None = None
    response: bytes | None = None


def listed(database: Database, *, limit: int = 50) -> list[Question]:
    """Open questions, oldest first."""
    rows = database.run("holds/listed", {"limit": limit})
    return [msgspec.convert(row, Question) for row in rows]


def of_job(database: Database, job: UUID) -> int:
    """The number of a job's open question; raises ``NothingMatched`` where it asks nothing."""
    rows = database.run("holds/open", {"job": job})
    if not rows:
        raise NothingMatched(
            f"no question of this job is open ({job}): there is nothing to answer",
            hint="See the open ones with: tenure hold list",
        )
    return int(rows[0]["id"])


def answer(
    database: Database,
    question: int,
    happened: Happened | None,
    *,
    actor: str,
    reason: str | None = None,
    origin: str = "sql",
) -> UUID:
    """Say what became of a call in doubt, None: it did not happen; tells the job that goes on.

    Raises ``NotYet`` while the call may still leave, ``Refused`` where it is not in doubt,
    ``NothingMatched`` where there is no such question.
    """
    return _answered(
        database,
        "holds/answer",
        {
            "id": question,
            "happened": happened is not None,
            "status": happened and happened.status,
            "response": happened and happened.response,
            "reason": reason,
            "actor": actor,
            "origin": origin,
        },
    )


def go_on(
    database: Database,
    question: int,
    *,
    actor: str,
    reason: str | None = None,
    origin: str = "sql",
) -> UUID:
    """Let a job go on whose question is not about a call; tells the job.

    Raises ``Refused`` where a call is in doubt, ``NothingMatched`` for no such question.
    """
    return _answered(
        database,
        "holds/go_on",
        {"id": question, "reason": reason, "actor": actor, "origin": origin},
    )


def _answered(database: Database, name: str, parameters: dict[str, object]) -> UUID:
    rows = database.run(name, parameters)
    job: UUID = rows[0]["job_id"]
    return job
