"""Acts on many jobs at once: retry, replay, cancel of whatever a filter matches.

Called by the command line and the control API.  Promises: what will be done can be seen before;
jobs are acted on in the order of their ids, in chunks of a transaction each, so that nobody waits
long and an act that is cut off has done what it says; what somebody else holds, or what no longer
matches when its turn comes, is passed over and counted; one audit row an act.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from tenure.base.errors import NothingMatched, Refused
from tenure.store.database import Busy, Database

Act = Literal["retry", "replay", "cancel"]

CHUNK = 500
# Jobs whose effects are counted before a replay; more would take long and say the same.
LOOKED_AT = 1_000
_SHOWN_REFUSALS = 10
# A chunk whose lock was not to be had is cut down; a single job is so often tried again.
_PATIENCE = 3

# What each act can be on; that which has not ended is never retried, what has is never cancelled.
STATES: dict[Act, tuple[str, ...]] = {
    "retry": ("failed", "held"),
    "replay": (
        "ready",
        "running",
        "waiting",
        "lost",
        "held",
        "succeeded",
        "failed",
        "cancelled",
    ),
    "cancel": ("ready", "running", "waiting", "lost", "held"),
}


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs by what is asked of them; None is not asked; ``since`` and ``until``: when made."""

    state: str | None = None
    automation: str | None = None
    lane: str | None = None
    provider: str | None = None
    source: str | None = None
    tag: str | None = None
    error_class: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is asked, so that every job would match."""
        return self == Filter()


class Counted(msgspec.Struct, frozen=True):
    """So many jobs of an automation in a state."""

    automation: str
    state: str
    jobs: int


class Effects(msgspec.Struct, frozen=True):
    """So many effects of one operation: had before (``again``), or only recorded (``anew``)."""

    provider: str
    operation: str
    again: int
    anew: int


class Preview(msgspec.Struct, frozen=True):
    """What an act would be on: counts, the first ids, and of a replay its effects.

    ``looked_at``: of how many jobs the effects are; ``until``: jobs made later are not meant.
    """

    jobs: int
    counts: tuple[Counted, ...]
    first: tuple[UUID, ...]
    effects: tuple[Effects, ...]
    looked_at: int
    until: datetime


class Refusal(msgspec.Struct, frozen=True):
    """A job that an act was refused on, and why."""

    job: UUID
    why: str
    hint: str


class Tally(msgspec.Struct):
    """What an act on many has come to so far; ``became``: how many ended as what.

    ``changed``: passed over, since somebody holds them or they no longer match; ``refusals``: the
    first of ``refused``; ``note``: the number of its audit row; ``after``: the last job looked at,
    where there may be more.
    """

    note: int | None = None
    done: int = 0
    changed: int = 0
    refused: int = 0
    became: dict[str, int] = {}
    refusals: list[Refusal] = []
    after: UUID | None = None

    @property
    def seen(self) -> int:
        """How many jobs were looked at."""
        return self.done + self.changed + self.refused


def preview(database: Database, act: Act, asked: Filter, *, limit: int | None = None) -> Preview:
    """What an act on those jobs would do; raises ``Refused`` for a state it cannot be on."""
    values = _values(act, asked)
    rows = database.run("many/preview", values | {"most": limit})
    if not rows:
        raise NothingMatched(
            f"no job matches: there is nothing to {act}",
            hint="See what there is with: tenure jobs",
        )
    jobs = sum(row["jobs"] for row in rows)
    effects: list[Effects] = []
    looked_at = min(jobs, LOOKED_AT)
    if act == "replay":
        found = database.run("many/effects", values | {"most": looked_at})
        effects = [msgspec.convert(row, Effects) for row in found]
    return Preview(
        jobs=jobs,
        counts=tuple(Counted(row["automation"], row["state"], row["jobs"]) for row in rows),
        first=tuple(sorted(job for row in rows for job in row["ids"])[:5]),
        effects=tuple(effects),
        looked_at=looked_at if act == "replay" else 0,
        until=min(asked.until or rows[0]["at"], rows[0]["at"]),
    )


class Order(msgspec.Struct, frozen=True):
    """An act that somebody wants done; ``asked.until`` bounds it, or a replay would meet its own.

    ``after``: where an earlier order of the same stopped.
    """

    act: Act
    asked: Filter
    actor: str
    reason: str | None = None
    origin: str = "sql"
    limit: int | None = None
    after: UUID | None = None


def carry_out(database: Database, order: Order) -> Iterator[Tally]:
    """Do it chunk by chunk; gives what it has come to after each, the same tally grown."""
    tally, size, tries = Tally(after=order.after), CHUNK, 0
    while order.limit is None or tally.seen < order.limit:
        most = size if order.limit is None else min(size, order.limit - tally.seen)
        try:
            more = advance(database, order, tally, most)
        except Busy:
            tries = tries + 1 if size == 1 else 0
            if tries >= _PATIENCE:
                raise
            size = max(size // 8, 1)
            continue
        size, tries = min(size * 8, CHUNK), 0
        yield tally
        if not more:
            return


def advance(database: Database, order: Order, tally: Tally, most: int) -> bool:
    """Act on the next jobs, at most so many, and count them; False where there are no more."""
    values = _values(order.act, order.asked)
    values |= {
        "act": order.act,
        "after": tally.after,
        "most": most,
        "note": tally.note,
        "reason": order.reason,
        "actor": order.actor,
        "origin": order.origin,
    }
    row = database.run("many/act", values)[0]
    tally.note = row["note"]
    tally.done += row["done"]
    tally.changed += row["changed"]
    tally.refused += row["refused"]
    tally.became = dict(Counter(tally.became) + Counter(row["became"] or {}))
    told = [msgspec.convert(each, Refusal) for each in row["refusals"]]
    tally.refusals = (tally.refusals + told)[:_SHOWN_REFUSALS]
    tally.after = row["last"]
    return row["last"] is not None


def _values(act: Act, asked: Filter) -> dict[str, object]:
    able = STATES[act]
    if asked.state is not None and asked.state not in able:
        raise Refused(
            f"no {asked.state} job can be the subject of a {act}: nothing is done",
            hint=f"A {act} is on jobs that are {', '.join(able)}.",
        )
    values = msgspec.structs.asdict(asked)
    del values["state"]
    return values | {"states": list(able) if asked.state is None else [asked.state]}
