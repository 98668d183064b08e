"""The ticks of a schedule: when it falls due, over every change of the clocks, and after an outage.

Called by the worker, which makes them, and by the command line, which shows them.  Promises, for a
cron that names its hours: each time on the wall clock ticks once a day, right after the gap where
the day lacks it, and at the first of two where the day has it twice.  A cron of every hour (``*``)
follows the clock as it goes: no tick in a gap, and in an overlap one each time.  A grid and a
one-off are moments and know no wall clock.  Every rule is a pure function of the intent and a time.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim

from tenure.base import json
from tenure.base.schedules import EPOCH, Intent, zone

# A tick that is found later than this was missed, and its policy decides.
GRACE = timedelta(seconds=60)
# So many missed ticks are counted one by one; more are *at least* so many.
COUNTED = 20_000

_EVERY_HOUR = set(range(24))
_MICROSECOND = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


class Tick(msgspec.Struct, frozen=True):
    """What a job made by a schedule is given: one moment at which the schedule fell due.

    ``at`` is that moment in UTC and ``local`` the same on the wall clock of ``zone``, with its UTC
    offset; annotate a handler's input with it.
    """

    schedule: str
    at: datetime
    local: datetime
    zone: str


class Due(msgspec.Struct, frozen=True):
    """A tick with what the wall clock was meant to show, where there is one."""

    at: datetime
    meant: datetime | None = None


class Plan(msgspec.Struct, frozen=True):
    """What is to be done about a schedule that is due.

    ``make``: the ticks that become events, oldest first.  ``missed`` of all were found late,
    ``caught_up`` of those are made; ``exact``: they were all counted.  ``then``: the next tick,
    None: there is none.
    """

    make: tuple[datetime, ...]
    missed: int
    caught_up: int
    exact: bool
    then: datetime | None


def ticks(intent: Intent, after: datetime) -> Iterator[Due]:
    """The ticks strictly after a moment, in order, each moment once; without end for most."""
    if intent.at is not None:
        yield from [Due(intent.at)] if intent.at > after else []
    elif intent.every is not None:
        yield from _grid(intent.every, intent.anchor or EPOCH, after)
    else:
        latest = after
        for due in _cron(intent.cron or "", zone(intent.zone), after):
            if due.at > latest:
                yield due
                latest = due.at


def first(intent: Intent, after: datetime) -> datetime | None:
    """The first tick strictly after a moment; None: there is none."""
    return next((due.at for due in ticks(intent, after)), None)


def between(intent: Intent, start: datetime, end: datetime, most: int) -> list[Due]:
    """The ticks from ``start`` to ``end``, both included, at most ``most`` of them."""
    return list(islice(_until(intent, start - _MICROSECOND, end), most))


def following(intent: Intent, after: datetime, count: int) -> list[Due]:
    """The next ticks after a moment, at most so many."""
    return list(islice(ticks(intent, after), count))


def plan(intent: Intent, due: datetime, now: datetime) -> Plan:
    """What to do about a schedule whose next tick was ``due``, and is not after ``now``.

    ``due`` is a tick whatever the intent says by now: it stood in the row.
    """
    late = now - GRACE
    fresh = [each.at for each in _until(intent, max(due, late), now)]
    then = first(intent, now)
    if due > late:
        return Plan((due, *fresh), missed=0, caught_up=0, exact=True, then=then)
    missed, exact = _count(intent, due, late)
    wanted = {"skip": 0, "one": 0 if fresh else 1, "all": intent.limit}[intent.misfire]
    caught = _newest(intent, due, late, min(wanted, missed))
    return Plan((*caught, *fresh), missed, len(caught), exact=exact, then=then)


def body(schedule: str, intent: Intent, at: datetime) -> bytes:
    """The event of a tick, byte for byte: a ``Tick`` as JSON."""
    at = at.astimezone(UTC)
    return json.encode(Tick(schedule, at, at.astimezone(zone(intent.zone)), intent.zone))


def key(at: datetime) -> str:
    """The event key of a tick: its moment, in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def remark(intent: Intent, due: Due) -> str:
    """What is unusual about a tick because of the clocks; empty: nothing."""
    if due.meant is None:
        return ""
    wall = due.at.astimezone(zone(intent.zone))
    if wall.replace(tzinfo=None) != due.meant:
        return f"right after the gap: {due.meant:%H:%M} does not exist that day"
    if wall.utcoffset() != wall.replace(fold=1).utcoffset():
        return f"the first {due.meant:%H:%M} of two that day"
    return ""


def _grid(every: float, anchor: datetime, after: datetime) -> Iterator[Due]:
    step = timedelta(seconds=every)
    at = anchor if after < anchor else anchor + ((after - anchor) // step + 1) * step
    with contextlib.suppress(OverflowError):  # the calendar ends
        while True:
            yield Due(at)
            at += step


def _cron(cron: str, where: ZoneInfo, after: datetime) -> Iterator[Due]:
    after = after.astimezone(UTC).replace(microsecond=0)
    wall = CronSim(cron, after.astimezone(where).replace(tzinfo=None))
    if wall.hours == _EVERY_HOUR:
        yield from _as_it_goes(cron, where, after)
        return
    for meant in wall:
        yield Due(_instant(meant, where), meant)


def _as_it_goes(cron: str, where: ZoneInfo, after: datetime) -> Iterator[Due]:
    """The moments after one at which the clock shows a time of the cron: from change to change."""
    begin = after.astimezone(where).replace(tzinfo=None)
    while True:
        offset = _offset(after, where)
        for shown in CronSim(cron, begin):
            at = shown.replace(tzinfo=UTC) - offset
            if _offset(at, where) != offset:
                after = _change(after, at, where)
                begin = after.astimezone(where).replace(tzinfo=None) - _SECOND
                break
            yield Due(at)
        else:
            return


def _instant(meant: datetime, where: ZoneInfo) -> datetime:
    """The moment at which a wall clock shows a time: the first of two; after the gap, for none."""
    at = meant.replace(tzinfo=where).astimezone(UTC)
    if at.astimezone(where).replace(tzinfo=None) == meant:
        return at
    # The clock jumps over it: the jump lies between the readings by its two offsets.
    return _change(meant.replace(tzinfo=where, fold=1).astimezone(UTC), at, where)


def _change(low: datetime, high: datetime, where: ZoneInfo) -> datetime:
    """The first moment after ``low`` with another offset than there; ``high`` has another."""
    former = _offset(low, where)
    past, ahead = 0, (high - low) // _SECOND
    while ahead - past > 1:
        middle = (past + ahead) // 2
        if _offset(low + middle * _SECOND, where) == former:
            past = middle
        else:
            ahead = middle
    return low + ahead * _SECOND


def _offset(at: datetime, where: ZoneInfo) -> timedelta:
    return at.astimezone(where).utcoffset() or timedelta(0)


def _until(intent: Intent, start: datetime, end: datetime) -> Iterator[Due]:
    """The ticks after ``start``, up to ``end``."""
    for due in ticks(intent, start):
        if due.at > end:
            return
        yield due


def _count(intent: Intent, due: datetime, end: datetime) -> tuple[int, bool]:
    """How many ticks from ``due`` to ``end``, and whether that is all of them."""
    if intent.every is not None:
        start = first(intent, due)
        step = timedelta(seconds=intent.every)
        return 1 + (0 if start is None or start > end else (end - start) // step + 1), True
    found = sum(1 for _ in islice(_until(intent, due, end), COUNTED))
    return 1 + found, found < COUNTED


def _newest(intent: Intent, due: datetime, end: datetime, most: int) -> list[datetime]:
    """The last ticks from ``due`` to ``end``, oldest first: looked for further and further back."""
    if most == 0:
        return []
    span = timedelta(hours=1)
    while True:
        start = max(due, end - span)
        found = deque((each.at for each in _until(intent, start, end)), maxlen=most)
        if start == due and len(found) < most:
            return [due, *found]
        if len(found) == most:
            return list(found)
        span *= 4
