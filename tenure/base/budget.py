"""Budgets: what a provider allows in a window, and the arithmetic that keeps below it.

Owned here because authors declare budgets, the catalogue ships them and the store admits by them.
Pure: nothing here counts a call.  Promised: what ``units`` and ``window`` say together never
exceeds the declared limit in the declared time, however it is rounded, and a setting that is not
kept yet is refused where it is declared; none is parsed and then ignored.
"""

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction
from typing import Literal, cast

import msgspec

from tenure.base import patterns
from tenure.base.errors import ConfigurationError

Reset = Literal["rolling", "bucket", "calendar"]

_JITTER_SHARE = 0.1
_JITTER_MOST = 0.25
_SEND_WINDOW = 2.0
_LIMIT_MOST = 2**31 - 1
_PER_MOST = 366 * 86_400.0


class _Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: int
    per: float | timedelta | None = None


class Budget(_Rate, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One limit of a provider: ``limit`` units in any ``per`` seconds, counted per ``scope``.

    ``scope`` is ``account``, ``operation`` (one count for each method and path template) or
    ``path:{name}`` (one count for each value at that name of ``match``).  ``match`` names the calls
    that draw on it, all where absent; each takes ``cost`` units.  ``headroom`` is the share Tenure
    uses, the rest is left to others on the account.  ``jitter`` is the time in seconds by which
    arrivals may bunch on their way.  ``reserve`` is the share kept from dry-run and shadow reads.
    Units at once (``per=None``), resets other than ``rolling`` and ``zone`` are not kept yet.
    Raises ``ConfigurationError`` where it cannot be kept as declared.
    """

    # Declared as optional, filled when absent: whoever reads a budget always finds a name.
    name: str = cast("str", None)
    scope: str = "account"
    match: str | None = None
    cost: int = 1
    headroom: float = 0.9
    jitter: float | timedelta | None = None
    reset: Reset = "rolling"
    zone: str | None = None
    reserve: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what cannot be kept, and fill in the name."""
        _refuse_unkept(self)
        _check_numbers(self)
        _check_scope(self)
        name: object = self.name
        if name is None:
            msgspec.structs.force_setattr(self, "name", _default_name(self))
        elif not isinstance(name, str) or not name.strip():
            raise _wrong("name", name, "a budget is known by its name", "Leave it out.")
        if self.cost > units(self):
            raise _wrong(
                "cost",
                self.cost,
                f"one call would take more than the {units(self)} units there are",
                "Lower the cost or raise the limit.",
            )

    def matches(self, method: str, path: str) -> bool:
        """Whether a call with this method and path draws on this budget."""
        return self.match is None or patterns.parse(self.match).matches(method, path)


def units(budget: Budget) -> int:
    """How many units are admitted in one ``window``."""
    share = _share(budget)
    return int(share) if share.denominator == 1 else budget.limit


def window(budget: Budget) -> float:
    """The seconds over which ``units`` are counted, the jitter allowance included."""
    return _stretched(budget) + _jitter(budget)


def send_window(budget: Budget, default: float = _SEND_WINDOW) -> float:
    """How many seconds after its admission a call's first byte may leave at the latest."""
    return min(default, _jitter(budget))


def reserved(budget: Budget) -> int:
    """How many units of a window dry-run and shadow reads must leave to live calls."""
    return int(Fraction(str(budget.reserve)) * units(budget))


def scope_value(
    budget: Budget, account: str, method: str, path: str, operation: str | None = None
) -> str:
    """Which of the budget's counts a call draws on.

    ``operation`` is the declared ``METHOD /path/{template}`` of the call; where nobody declared
    one, ids in the path are taken out by their look.  Every value begins with the account.
    """
    if budget.scope == "account":
        return account
    if budget.scope == "operation":
        return f"{account} {operation or patterns.operation(method, path)}"
    pattern = patterns.parse(budget.match or "/")
    name = budget.scope.removeprefix("path:")
    return f"{account} {pattern.variable(name, method, path) or ''}"


def _share(budget: Budget) -> Fraction:
    # Through the decimal text: 100 * 0.29 is 28.999999999999996 in binary, and whole in fact.
    return Fraction(str(budget.headroom)) * budget.limit


def _stretched(budget: Budget) -> float:
    seconds = _seconds(budget.per)
    return seconds if _share(budget).denominator == 1 else seconds / budget.headroom


def _jitter(budget: Budget) -> float:
    if budget.jitter is not None:
        return _seconds(budget.jitter)
    return min(_JITTER_SHARE * _stretched(budget), _JITTER_MOST)


def _seconds(value: object) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, int | float) or isinstance(value, bool):
        return math.nan
    # Before float() could overflow: what is longer than a year is refused whatever it is.
    return float(min(value, 2 * _PER_MOST))


def _refuse_unkept(budget: Budget) -> None:
    if budget.per is None:
        raise _unkept("per", None, "units at once are not kept yet", "Declare per= in seconds.")
    if budget.reset != "rolling":
        raise _unkept("reset", budget.reset, "only 'rolling' windows are kept yet", "Leave it out.")
    if budget.zone is not None:
        raise _unkept("zone", budget.zone, "calendar resets are not kept yet", "Leave it out.")


def _check_numbers(budget: Budget) -> None:
    for name in ("limit", "cost"):
        value = getattr(budget, name)
        if type(value) is not int or not 1 <= value <= _LIMIT_MOST:
            raise _wrong(name, value, "it counts whole units, at least 1", "Give a whole number.")
    for name in ("per", "jitter"):
        value = getattr(budget, name)
        if value is not None and not 0 < _seconds(value) <= _PER_MOST:
            means = "it is a time above nothing and at most a year"
            raise _wrong(name, value, means, "Give seconds or a timedelta.")
    if not 0 < _seconds(budget.headroom) <= 1:
        raise _wrong("headroom", budget.headroom, "it is a share", "Give more than 0, at most 1.")
    if not 0 <= _seconds(budget.reserve) < 1:
        raise _wrong("reserve", budget.reserve, "it is a share", "Give 0 or more, less than 1.")


def _check_scope(budget: Budget) -> None:
    names = patterns.parse(budget.match).names if budget.match is not None else ()
    known = ("account", "operation", *(f"path:{name}" for name in names))
    if budget.scope not in known:
        raise _wrong(
            "scope",
            budget.scope,
            f"with match={budget.match!r} it is one of {', '.join(known)}",
            "For 'path:name' write {name} into match.",
        )


def _default_name(budget: Budget) -> str:
    seconds = _seconds(budget.per)
    return f"{budget.limit}/{int(seconds) if seconds.is_integer() else seconds}s"


def _wrong(field: str, value: object, means: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"a budget has a wrong {field} ({value!r}): {means}", hint=hint)


def _unkept(field: str, value: object, means: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"a budget declares {field}={value!r}: {means}", hint=hint)
