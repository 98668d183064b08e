"""Schedules as rows: what code declares, when each ticks next, and the ticks that became events.

Called by worker and server when they start, by the worker's thread of duties, and by the command
line.  Promises: declaring what was declared before moves nothing: no restart loses a tick; what a
person changed stands until a person takes it back; a tick is one event, with its jobs, in the
transaction that moves the schedule on, so that it is made once whoever else tries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, cast
from uuid import UUID

import msgspec

from tenure.base import json, ticks
from tenure.base.errors import ConfigurationError, NothingMatched
from tenure.base.schedules import Intent, Misfire
from tenure.base.ticks import Due, Plan
from tenure.store.database import Busy, Database, Row

State = Literal["open", "disabled"]

_TRIES = 5


class ListedSchedule(msgspec.Struct, frozen=True):
    """A schedule as its row has it; ``next_at`` None: it will never tick again.

    ``declared`` is what code said last; the row differs where ``changed_by`` names a person.
    """

    name: str
    intent: Intent
    state: State
    next_at: datetime | None
    last_at: datetime | None
    revision: int
    declared: Intent
    declared_at: datetime
    declared_by: str
    changed_by: str | None


class DueSchedule(msgspec.Struct, frozen=True):
    """A schedule whose next tick is ``wait`` seconds ahead of ``now``, or past."""

    name: str
    intent: Intent
    next_at: datetime
    revision: int
    now: datetime
    wait: float


class Made(msgspec.Struct, frozen=True):
    """A tick's event; ``outcome`` is ``duplicate`` where it had been made before."""

    key: str
    event_id: UUID
    outcome: Literal["accepted", "duplicate", "conflict"]
    jobs: int


class Listener(msgspec.Struct, frozen=True):
    """An automation that waits for ticks."""

    name: str
    stage: str


class Missed(msgspec.Struct, frozen=True):
    """An outage: ``missed`` ticks were found late, ``made`` of them became events.

    ``counted`` False: there were more than that.
    """

    noticed_at: datetime
    missed_from: datetime
    missed_until: datetime
    missed: int
    counted: bool
    made: int
    misfire: Misfire


def declare(
    database: Database, name: str, intent: Intent, *, by: str, origin: str = "worker"
) -> datetime | None:
    """Write what code declares and tell when it ticks next; the same as before changes nothing.

    A changed intent leaves an audit row and holds from now on; a tick that is due already stays
    due.  Where a person changed the row, only what code says is noted.  Raises
    ``ConfigurationError`` for a moment that has passed and for a name that a door has.
    """
    for _ in range(_TRIES):
        row = database.run("schedules/get", {"name": name})[0]
        if row["taken"]:
            raise ConfigurationError(
                f"the schedule {name!r} cannot be declared: a source has that name here",
                hint="Give the schedule another name.",
            )
        now: datetime = row["now"]
        former = _listed(row) if row["name"] is not None else None
        if former is not None and former.declared == intent:
            return former.next_at
        if former is not None and former.changed_by is not None:
            kept, next_at = former.intent, former.next_at
        else:
            kept, next_at = intent, _next(name, intent, former, now)
        values = _columns(kept) | {
            "name": name,
            "declared": json.encode(intent).decode(),
            "next_at": next_at,
            "revision": former.revision if former is not None else 0,
            "by": by,
            "changed_by": former.changed_by if former is not None else None,
            "act": "schedule.declare",
            "reason": None,
            "origin": origin,
        }
        if _written(database, values):
            return next_at
    raise _contended(name)


def _written(database: Database, values: Mapping[str, object]) -> bool:
    """Whether the row was still as it was read; no, where a tick of it takes its time."""
    try:
        return bool(database.run("schedules/declare", values))
    except Busy:
        return False


def _contended(name: str) -> Busy:
    return Busy(f"the schedule {name} is being changed, or ticks, all the time: ask again")


def _next(
    name: str, intent: Intent, former: ListedSchedule | None, now: datetime
) -> datetime | None:
    if former is not None and former.next_at is not None and former.next_at <= now:
        return former.next_at
    found = ticks.first(intent, now)
    if found is None:
        raise ConfigurationError(
            f"the schedule {name!r} would never tick: {intent.words()} has passed",
            hint="Give a moment that is still to come, or remove the declaration.",
        )
    return found


def change(
    database: Database,
    name: str,
    intent: Intent,
    *,
    by: str,
    reason: str,
    origin: str = "sql",
) -> datetime | None:
    """Let a person's intent stand over the code's, and tell when it ticks next.

    The code's own ends that.  As ``declare``, what is due already stays due.
    """
    for _ in range(_TRIES):
        found, now = get(database, name)
        next_at = _next(name, intent, found, now)
        values = _columns(intent) | {
            "name": name,
            "declared": json.encode(found.declared).decode(),
            "next_at": next_at,
            "revision": found.revision,
            "by": by,
            "changed_by": None if intent == found.declared else by,
            "act": "schedule.change",
            "reason": reason,
            "origin": origin,
        }
        if _written(database, values):
            return next_at
    raise _contended(name)


def get(database: Database, name: str) -> tuple[ListedSchedule, datetime]:
    """A schedule, and the database's clock; raises ``NothingMatched``."""
    row = database.run("schedules/get", {"name": name})[0]
    if row["name"] is None:
        raise _unknown(name)
    return _listed(row), row["now"]


def due(database: Database) -> list[DueSchedule]:
    """The schedules that are due, and the one that will be next, earliest first."""
    return [
        DueSchedule(
            name=row["name"],
            intent=_intent(row),
            next_at=row["next_at"],
            revision=row["revision"],
            now=row["now"],
            wait=row["wait"],
        )
        for row in database.run("schedules/due")
    ]


def tick(database: Database, found: DueSchedule, plan: Plan, worker: UUID) -> list[Made] | None:
    """Make what a plan says and move the schedule on; None where somebody else did, or does."""
    rows = database.run(
        "schedules/tick",
        {
            "name": found.name,
            "due": found.next_at,
            "revision": found.revision,
            "next_at": plan.then,
            "last_at": plan.make[-1] if plan.make else None,
            **_events(found.name, found.intent, plan.make),
            "worker": worker,
            "missed": plan.missed,
            "counted": plan.exact,
            "caught_up": plan.caught_up,
            "late": found.now - ticks.GRACE,
        },
    )
    return _made(rows) if rows else None


def make(
    database: Database,
    name: str,
    wanted: Mapping[str, bytes],
    *,
    act: Literal["schedule.run", "schedule.backfill"],
    asked: object,
    by: str,
    reason: str | None = None,
    origin: str = "sql",
) -> list[Made]:
    """Make ticks by hand, by key and body, in one transaction with an audit row.

    ``asked`` is kept beside it as JSON.  Raises ``NothingMatched`` for an unknown schedule.
    """
    rows = database.run(
        "schedules/make",
        {
            "name": name,
            "keys": list(wanted),
            "bodies": [body.decode() for body in wanted.values()],
            "act": act,
            "asked": json.encode(asked).decode(),
            "by": by,
            "reason": reason,
            "origin": origin,
        },
    )
    if not rows:
        raise _unknown(name)
    return _made(rows)


def unmade(database: Database, name: str, found: Sequence[Due]) -> list[Due]:
    """Those of some ticks that never became events."""
    keys = [ticks.key(each.at) for each in found]
    rows = database.run("schedules/seen", {"name": name, "keys": keys})
    seen = {row["key"] for row in rows}
    return [each for each in found if ticks.key(each.at) not in seen]


def listeners(database: Database, name: str) -> list[Listener]:
    """The automations that wait for a schedule's next tick, by name."""
    rows = database.run("schedules/listeners", {"name": name})
    return [msgspec.convert(row, Listener) for row in rows]


def misfires(database: Database, name: str, limit: int = 5) -> list[Missed]:
    """The outages that a schedule met, newest first."""
    rows = database.run("schedules/misfires", {"name": name, "limit": limit})
    return [msgspec.convert(row, Missed) for row in rows]


def _events(name: str, intent: Intent, made: Sequence[datetime]) -> dict[str, object]:
    return {
        "keys": [ticks.key(at) for at in made],
        "bodies": [ticks.body(name, intent, at).decode() for at in made],
    }


def _made(rows: Sequence[Row]) -> list[Made]:
    return [msgspec.convert(row, Made) for row in rows if row["event_id"] is not None]


def listed(database: Database) -> list[ListedSchedule]:
    """Every schedule of this database, by name."""
    return [_listed(row) for row in database.run("schedules/listed")]


def set_state(
    database: Database,
    name: str,
    state: State,
    *,
    by: str,
    reason: str | None = None,
    origin: str = "sql",
) -> State:
    """Open or disable a schedule and tell the state it had; raises ``NothingMatched``.

    While it is disabled its ticks are missed; when it opens again, its misfire policy decides.
    """
    wanted = {"name": name, "state": state, "by": by, "reason": reason, "origin": origin}
    rows = database.run("schedules/set_state", wanted)
    if not rows:
        raise _unknown(name)
    return cast("State", rows[0]["former"])


def _unknown(name: str) -> NothingMatched:
    return NothingMatched(
        f"unknown schedule ({name}): no worker or server has declared it in this database",
        hint="See `tenure schedule list`; a worker declares those of the code.",
    )


def _columns(intent: Intent) -> dict[str, object]:
    columns = msgspec.structs.asdict(intent)
    return columns | {"misfire_limit": columns.pop("limit")}


def _intent(row: Row) -> Intent:
    misfire: Misfire = row["misfire"]
    return Intent(
        zone=row["zone"],
        cron=row["cron"],
        every=row["every"],
        anchor=row["anchor"],
        at=row["at"],
        misfire=misfire,
        limit=row["misfire_limit"],
    )


def _listed(row: Row) -> ListedSchedule:
    return ListedSchedule(
        name=row["name"],
        intent=_intent(row),
        state=row["state"],
        next_at=row["next_at"],
        last_at=row["last_at"],
        revision=row["revision"],
        declared=json.convert(json.decode(row["declared"].encode()), Intent),
        declared_at=row["declared_at"],
        declared_by=row["declared_by"],
        changed_by=row["changed_by"],
    )
