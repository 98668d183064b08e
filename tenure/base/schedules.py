"""What a schedule intends: a cron or a time in a zone, or a grid; and what becomes of missed ticks.

Owned here as plain values, so that the author's declaration, the row and the command line mean the
same.  Promises: what could never tick, or names no zone, is refused when it is declared.
"""

from __future__ import annotations

import difflib
import math
import re
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

import msgspec
from cronsim import CronSim, CronSimError

from tenure.base.errors import ConfigurationError

Misfire = Literal["skip", "one", "all"]

# A grid that names no anchor of its own stands on this one, in every process and after every start.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIMIT = 100
MOST = 1_000

_LEAST_EVERY = 1.0
_MOST_EVERY = timedelta(days=3660).total_seconds()
_PAST = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall clock's time, of any zone
_SPACE = re.compile(r"\s+")


class Intent(msgspec.Struct, frozen=True):
    """When a schedule ticks: exactly one of ``cron``, ``every`` (seconds) and ``at``, in a zone.

    ``misfire`` says what becomes of ticks found more than a minute late: ``skip`` makes none of
    them, ``one`` the newest alone, ``all`` the newest ``limit``.
    """

    zone: str = "UTC"
    cron: str | None = None
    every: float | None = None
    anchor: datetime | None = None
    at: datetime | None = None
    misfire: Misfire = "one"
    limit: int = LIMIT

    def words(self) -> str:
        """The intent in one line, for people."""
        if self.cron is not None:
            return f"cron {self.cron} in {self.zone}"
        if self.at is not None:
            return f"once at {self.at.astimezone(zone(self.zone)).isoformat()} ({self.zone})"
        return f"every {self.every:g} s from {(self.anchor or EPOCH).isoformat()}"


def intent(
    name: str,
    *,
    cron: str | None = None,
    every: float | timedelta | None = None,
    at: datetime | None = None,
    zone: str | None = None,
    anchor: datetime | None = None,
    misfire: str = "one",
    limit: int | None = None,
) -> Intent:
    """The intent that was written down; raises ``ConfigurationError`` where it could not be kept.

    ``name`` is the schedule's, for what the error says.
    """
    given = [
        key for key, value in (("cron", cron), ("every", every), ("at", at)) if value is not None
    ]
    if len(given) != 1:
        raise ConfigurationError(
            f"the schedule {name!r} has {' and '.join(given) or 'no time'}: it needs exactly one",
            hint='Give cron="30 2 * * *", or every=3600, or at=datetime(..., tzinfo=...).',
        )
    if anchor is not None and every is None:
        raise ConfigurationError(
            f"the schedule {name!r} has an anchor and no interval: only a grid begins somewhere",
            hint="Give every= beside it, or leave it out.",
        )
    return Intent(
        zone=_zone(name, zone, at),
        cron=None if cron is None else _cron(name, cron),
        every=None if every is None else _every(name, every),
        anchor=_moment(name, "anchor", anchor) if anchor is not None or every is None else EPOCH,
        at=_moment(name, "at", at),
        misfire=_misfire(name, misfire),
        limit=_limit(name, misfire, limit),
    )


def zone(name: str) -> ZoneInfo:
    """A zone by its name; raises ``ConfigurationError`` with the nearest one that exists."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError) as error:
        near = difflib.get_close_matches(str(name), available_timezones(), n=1)
        raise ConfigurationError(
            f"unknown zone ({name!r}): the zone database has none of that name",
            hint=f"Did you mean {near[0]!r}?" if near else "Write it as Europe/Berlin or UTC.",
        ) from error


def _zone(name: str, given: str | None, at: datetime | None) -> str:
    if given is None:
        given = getattr(getattr(at, "tzinfo", None), "key", None)
    try:
        zone(given or "UTC")
    except ConfigurationError as error:
        raise ConfigurationError(
            f"the schedule {name!r}: {error.message}", hint=error.hint
        ) from error
    return given or "UTC"


def _cron(name: str, cron: str) -> str:
    text = _SPACE.sub(" ", cron.strip()) if isinstance(cron, str) else repr(cron)
    fields = text.split(" ")
    if len(fields) != 5:
        raise ConfigurationError(
            f"the schedule {name!r} has the cron {text!r} of {len(fields)} fields: it has five",
            hint="Write minute, hour, day of month, month, day of week: 30 2 * * *. "
            "For seconds, give every=.",
        )
    try:
        next(CronSim(text, _PAST))
    except (CronSimError, StopIteration) as error:
        if _reads(" ".join([*fields[:3], "*", fields[4]])):
            raise ConfigurationError(
                f"the schedule {name!r} would never tick: no date answers to the cron {text!r}",
                hint="Look at its day of month, month and day of week.",
            ) from error
        raise ConfigurationError(
            f"the schedule {name!r} has a cron that cannot be read ({text!r}: {error})",
            hint="Write minute, hour, day of month, month, day of week: 30 2 * * *.",
        ) from error
    return text


def _reads(cron: str) -> bool:
    try:
        CronSim(cron, _PAST)
    except CronSimError:
        return False
    return True


def _every(name: str, every: float | timedelta) -> float:
    number = every.total_seconds() if isinstance(every, timedelta) else every
    if isinstance(number, bool) or not isinstance(number, int | float):
        number = math.nan
    if not _LEAST_EVERY <= number <= _MOST_EVERY:
        raise ConfigurationError(
            f"the schedule {name!r} cannot tick every {every!r}: a second is the least, ten years "
            "the most",
            hint="Give seconds, or timedelta(minutes=5).",
        )
    return round(float(number), 6)


def _moment(name: str, what: str, given: datetime | None) -> datetime | None:
    if given is None:
        return None
    if not isinstance(given, datetime) or given.tzinfo is None:
        raise ConfigurationError(
            f"the schedule {name!r} has {what}={given!r} without a zone: it names no moment",
            hint='Give datetime(2026, 12, 24, 9, tzinfo=ZoneInfo("Europe/Berlin")).',
        )
    return given.astimezone(UTC)


def _misfire(name: str, given: str) -> Misfire:
    for known in get_args(Misfire):
        if given == known:
            policy: Misfire = known
            return policy
    near = difflib.get_close_matches(str(given), get_args(Misfire), n=1)
    raise ConfigurationError(
        f"the schedule {name!r} has the misfire policy {given!r}: there is none of that name",
        hint=f"Did you mean {near[0]!r}?" if near else "It is skip, one or all.",
    )


def _limit(name: str, misfire: str, limit: int | None) -> int:
    if limit is None:
        return LIMIT
    if misfire != "all":
        raise ConfigurationError(
            f"the schedule {name!r} has a limit and misfire={misfire!r}: nothing would be limited",
            hint='A limit goes with misfire="all".',
        )
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise ConfigurationError(
            f"the schedule {name!r} has the limit {limit!r}: 1 to {MOST} ticks are made at once",
            hint="After a longer outage, see tenure schedule backfill.",
        )
    return limit
