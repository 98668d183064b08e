"""Looks at the whole: a list of small checks, each one sentence and what to do.

Called by the command line.  Promises: nothing is changed; a check that cannot look says so and
keeps no other from looking; each reads a bounded number of rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Literal

import msgspec
import psycopg

from tenure.base import durations
from tenure.base.errors import TenureError
from tenure.store.database import Database, first_line

Grade = Literal["ok", "warn", "fail"]

_SAMPLE = 2_000
_MOST_KEPT = 100_000
_MOST_EVENTS = 100_000
_SHOWN = 5
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_FAR_APART = 1.0  # seconds
_OLDEST, _NEWEST = 15, 18


class Checked(msgspec.Struct, frozen=True):
    """What a check found: one sentence, and what to do where something is to be done."""

    name: str
    grade: Grade
    said: str
    advice: str = ""


def look(database: Database) -> Iterator[Checked]:
    """Every check of a migrated database, one after another, as each is done."""
    for name, check in _CHECKS.items():
        try:
            grade, said, advice = check(database)
        except (TenureError, psycopg.Error) as error:
            said = error.message if isinstance(error, TenureError) else first_line(error)
            grade, said, advice = "warn", f"could not be looked at: {said}.", "Ask as the owner."
        yield Checked(name, grade, said, advice)


_Found = tuple[Grade, str, str]


def _server(database: Database) -> _Found:
    [row] = database.run("doctor/server")
    version = row["version"] // 10_000
    if version > _NEWEST:
        return "warn", f"PostgreSQL {version} is newer than this release knows.", "Update Tenure."
    if version < _OLDEST:
        return "fail", f"PostgreSQL {version} is too old.", "Use PostgreSQL 15 to 18."
    return "ok", f"PostgreSQL {version}.", ""


def _pooler(database: Database) -> _Found:
    database.connect()
    if database.pooled:
        return "ok", "A transaction pooler is between: workers poll, and are not woken.", ""
    return "ok", "No pooler is seen: idle workers are woken.", ""


def _commits(database: Database) -> _Found:
    [row] = database.run("doctor/server")
    if row["commits"] == "off":
        said = (
            "Commits are not waited for (synchronous_commit is off): what is acknowledged may go."
        )
        return "fail", said, "Set synchronous_commit to on."
    standbys = database.run("doctor/standbys")
    if not standbys:
        said = "No server follows this one: what is acknowledged is as safe as its disk."
        return "ok", said, ""
    names = _some([row["name"] for row in standbys])
    if any(row["sync_state"] in ("sync", "quorum") for row in standbys):
        return "ok", f"A synchronous standby follows ({names}): a failover forgets nothing.", ""
    said = f"Only asynchronous standbys follow ({names}): a failover may forget the last commits."
    return "warn", said, "Name one in synchronous_standby_names."


def _snapshot(database: Database) -> _Found:
    rows = database.run("doctor/snapshots")
    seconds = rows[0]["seconds"] if rows else 0.0
    if seconds < 10 * _MINUTE:
        return "ok", "No snapshot is older than ten minutes.", ""
    grade: Grade = "fail" if seconds > _DAY else "warn"
    age = durations.words(seconds)
    said = f"A transaction has been open for {age}: {rows[0]['who']}; dead rows pile up meanwhile."
    return grade, said, "End it: select pg_terminate_backend(PID)."


def _partitions(database: Database) -> _Found:
    rows = database.run("doctor/partitions")
    ahead = [row["parent"] for row in rows if row["ahead"]]
    if ahead:
        said = f"Next week has no partition: {_some(ahead)}."
        return "fail", said, "Start a worker, and see that its role owns the schema tenure."
    if rows:
        names = _some([row["parent"] for row in rows])
        said = f"This week's rows stand in the default partition: {names}."
        return "warn", said, "Nothing: they go when their time is over."
    return "ok", "The partitions of this week and of the next are there.", ""


def _kept(database: Database) -> _Found:
    rows = database.run("doctor/kept", {"most": _MOST_KEPT})
    full = [row["parent"] for row in rows if row["rows"] >= _MOST_KEPT]
    if full:
        said = f"Default partitions hold {_MOST_KEPT} rows or more: {_some(full)}."
        return (
            "warn",
            said,
            "See what keeps them: tenure jobs --state held, unreviewed shadow jobs.",
        )
    return "ok", f"Default partitions hold {sum(row['rows'] for row in rows)} rows.", ""


def _orphans(database: Database) -> _Found:
    [row] = database.run("doctor/orphans", {"sample": _SAMPLE})
    if row["jobs"]:
        said = f"Unfinished jobs have lost their input: {row['jobs']} of the newest {_SAMPLE}."
        return "fail", said, "Restore them; somebody deleted rows by hand."
    if row["rows"]:
        said = f"Rows lie there without their job: {row['rows']} of the newest."
        return "warn", said, "Nothing: they go with their week."
    return "ok", f"Jobs and what lies beside them belong together (newest {_SAMPLE}).", ""


def _ready(database: Database) -> _Found:
    rows = database.run("doctor/ready")
    late = [row for row in rows if row["seconds"] > 5 * _MINUTE]
    if not late:
        return (
            "ok",
            f"No job has been ready for five minutes (lanes with ready jobs: {len(rows)}).",
            "",
        )
    told = _some([f"{row['lane']} since {durations.words(row['seconds'])}" for row in late])
    grade: Grade = "fail" if late[0]["seconds"] > _HOUR else "warn"
    return grade, f"Jobs are ready and nobody takes them: {told}.", "Start more workers."


def _workers(database: Database) -> _Found:
    rows = database.run("doctor/workers")
    if not rows:
        return "warn", "No worker is alive: nothing runs.", "Run: tenure worker"
    told = _some(
        [
            f"{row['kind'].replace('_', '-')} {row['host']}:{row['pid']}"
            f" ({', '.join(row['automations']) or 'nothing'})"
            for row in rows
        ]
    )
    return "ok", f"Processes at work: {len(rows)}: {told}.", ""


def _unknown(database: Database) -> _Found:
    rows = database.run("doctor/unknown")
    if not rows:
        return "ok", "Each automation is known to a living worker.", ""
    told = _some([f"{row['name']} ({row['jobs']} jobs)" for row in rows])
    grade: Grade = "fail" if any(row["jobs"] for row in rows) else "warn"
    return grade, f"No living worker knows: {told}.", "Start a worker whose code declares them."


def _counters(database: Database) -> _Found:
    rows = database.run("doctor/counters", {"sample": _SAMPLE})
    if rows:
        said = f"Counters do not add up to the fence: {_some([str(row['id']) for row in rows])}."
        return "fail", said, "Report it, with what tenure explain says of the job."
    return "ok", f"Counters add up to the fence (newest {_SAMPLE}).", ""


def _chores(database: Database) -> _Found:
    rows = database.run("doctor/chores")
    if not rows:
        return "ok", "No duty is overdue.", ""
    told = [f"{row['name']} ({_late(row['seconds'])})" for row in rows]
    return "warn", f"Duties are overdue: {_some(told)}.", "Start a worker; read its log for why."


def _late(seconds: float | None) -> str:
    return "never done" if seconds is None else durations.words(seconds)


def _silent(database: Database) -> _Found:
    rows = database.run("doctor/silent", {"most": _MOST_EVENTS})
    if not rows:
        return "ok", "No source has been silent for a week.", ""
    told = _some([row["name"] for row in rows])
    return "warn", f"Nothing came for a week through: {told}.", "Try: tenure source list"


def _clock(database: Database) -> _Found:
    before = time.time()  # noqa: TID251 - this machine's clock is what is looked at
    [row] = database.run("doctor/clock")
    read: datetime = row["now"]
    after = time.time()  # noqa: TID251 - as above
    apart = read.timestamp() - (before + after) / 2
    if abs(apart) > _FAR_APART:
        side = "ahead of" if apart > 0 else "behind"
        said = f"The database's clock is {durations.words(abs(apart))} {side} this machine's."
        return "warn", said, "Nothing of Tenure's depends on it; signatures with a time may."
    return "ok", "The clocks of the database and of this machine agree to a second.", ""


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


_CHECKS: dict[str, Callable[[Database], _Found]] = {
    "server": _server,
    "commits": _commits,
    "pooler": _pooler,
    "clock": _clock,
    "snapshot": _snapshot,
    "partitions": _partitions,
    "kept": _kept,
    "orphans": _orphans,
    "counters": _counters,
    "chores": _chores,
    "workers": _workers,
    "automations": _unknown,
    "ready": _ready,
    "sources": _silent,
}
