"""The limiter of an emulated provider: admits or refuses a request when its head has arrived.

Called by the service on its event loop only, so nothing here locks.  It promises what real
providers promise: in none of its windows is more admitted than the limit, and a request is
admitted by all limits that concern it or takes from none.
"""

# ruff: noqa: ARG002 - counts of every kind are asked alike, and use what they need

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

import msgspec

from tenure.testing.emulators.message import Head
from tenure.testing.emulators.rules import Limit

_DAY = 86_400.0

# A full window stays full, though rounding says that it empties this very moment.
_LEAST = 0.001


class Standing(msgspec.Struct, frozen=True):
    """What a limit has left, and in how many seconds it is whole, or for fixed windows new."""

    limit: Limit
    remaining: int
    reset: float


class Refusal(msgspec.Struct, frozen=True):
    """Why a request is refused: the limit, if one did, and the seconds until there is room."""

    limit: Limit | None = None
    wait: float | None = None

    @property
    def lasts_a_day(self) -> bool:
        """Whether it is a limit of a day or more that refuses."""
        return self.limit is not None and (self.limit.per or 0.0) >= _DAY


class _Count(Protocol):
    """Units taken under one limit and one scope."""

    def settle(self, at: float) -> None: ...
    def wait(self, at: float, cost: int) -> float: ...
    def take(self, at: float, cost: int) -> None: ...
    def give(self, cost: int) -> None: ...
    def standing(self, at: float) -> Standing: ...


class _Rolling:
    """The units of the last ``per`` seconds, each with the time at which it was taken."""

    def __init__(self, limit: Limit, per: float) -> None:
        self._limit, self._per = limit, per
        self._taken: deque[tuple[float, int]] = deque()
        self._used = 0

    def settle(self, at: float) -> None:
        while self._taken and at - self._taken[0][0] >= self._per:
            self._used -= self._taken.popleft()[1]

    def wait(self, at: float, cost: int) -> float:
        excess = self._used + cost - self._limit.units
        for taken_at, units in self._taken:
            if excess <= 0:
                break
            excess -= units
            if excess <= 0:
                return max(_LEAST, taken_at + self._per - at)
        return 0.0

    def take(self, at: float, cost: int) -> None:
        self._taken.append((at, cost))
        self._used += cost

    def give(self, cost: int) -> None:
        """Nothing: what was sent was sent."""

    def standing(self, at: float) -> Standing:
        reset = self._taken[-1][0] + self._per - at if self._taken else 0.0
        return Standing(self._limit, max(0, self._limit.units - self._used), reset)


class _Fixed:
    """The units of the current window, which is as old as its whole multiple of ``per`` says."""

    def __init__(self, limit: Limit, per: float, origin: float) -> None:
        self._limit, self._per, self._origin = limit, per, origin
        self._window = -1
        self._used = 0

    def settle(self, at: float) -> None:
        window = math.floor((at - self._origin) / self._per)
        if window != self._window:
            self._window, self._used = window, 0

    def wait(self, at: float, cost: int) -> float:
        return self._left(at) if self._used + cost > self._limit.units else 0.0

    def take(self, at: float, cost: int) -> None:
        self._used += cost

    def give(self, cost: int) -> None:
        """Nothing: what was sent was sent."""

    def standing(self, at: float) -> Standing:
        return Standing(self._limit, max(0, self._limit.units - self._used), self._left(at))

    def _left(self, at: float) -> float:
        return max(_LEAST, self._origin + (self._window + 1) * self._per - at)


class _AtOnce:
    """The requests that have arrived and are not answered yet."""

    # When one of them ends is unknown to the provider too; a second is what such providers say.
    _GUESS = 1.0

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._used = 0

    def settle(self, at: float) -> None:
        """Nothing: only answers make room."""

    def wait(self, at: float, cost: int) -> float:
        return self._GUESS if self._used + cost > self._limit.units else 0.0

    def take(self, at: float, cost: int) -> None:
        self._used += cost

    def give(self, cost: int) -> None:
        self._used -= cost

    def standing(self, at: float) -> Standing:
        return Standing(self._limit, max(0, self._limit.units - self._used), self._GUESS)


class Admission:
    """The limiter's word on one request; ``leave`` ends the request's place among those at once."""

    def __init__(
        self,
        refusal: Refusal | None,
        standings: tuple[Standing, ...],
        taken: list[tuple[_Count, int]],
    ) -> None:
        """Keep the word; ``refusal`` is None for an admitted request."""
        self.refusal = refusal
        self.standings = standings
        self._taken = taken

    def leave(self) -> None:
        """End the request's place; a second time does nothing."""
        taken, self._taken = self._taken, []
        for count, cost in taken:
            count.give(cost)


class Limiter:
    """All limits of a provider, each with its counts per scope."""

    def __init__(self, limits: tuple[Limit, ...], origin: float) -> None:
        """Start empty; fixed windows are counted from ``origin`` on the emulator's clock."""
        self.limits = limits
        self._origin = origin
        self._counts: dict[tuple[int, str], _Count] = {}

    def arrive(self, head: Head) -> Admission:
        """Admit the request under all limits that concern it, or refuse it and take from none."""
        concerned = [
            (self._count(index, limit, head), limit.cost(unsafe=head.unsafe), limit)
            for index, limit in enumerate(self.limits)
            if limit.concerns(head.method, head.path)
        ]
        refusal = _refusal(concerned, head.at)
        taken: list[tuple[_Count, int]] = []
        for count, cost, limit in concerned:
            if refusal is None or (limit.counts_refused and limit.per is not None):
                count.take(head.at, cost)
                taken.append((count, cost))
        standings = tuple(count.standing(head.at) for count, _, _ in concerned)
        return Admission(refusal, standings, taken)

    def _count(self, index: int, limit: Limit, head: Head) -> _Count:
        place = (index, limit.counted_under(head.path, head.account))
        count = self._counts.get(place)
        if count is None:
            count = self._counts[place] = self._empty(limit)
        count.settle(head.at)
        return count

    def _empty(self, limit: Limit) -> _Count:
        if limit.per is None:
            return _AtOnce(limit)
        if limit.kind == "fixed":
            return _Fixed(limit, limit.per, self._origin)
        return _Rolling(limit, limit.per)


def _refusal(concerned: list[tuple[_Count, int, Limit]], at: float) -> Refusal | None:
    """The refusal by the limit that has room last, as that is how long a retry must wait."""
    waits = [(count.wait(at, cost), limit) for count, cost, limit in concerned]
    refusing = [(wait, limit) for wait, limit in waits if wait > 0]
    if not refusing:
        return None
    wait, limit = max(refusing, key=lambda pair: pair[0])
    return Refusal(limit, wait)
