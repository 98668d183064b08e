"""How much a provider saw at most in any window of a limit: pure counting over a ledger's arrivals.

Called by emulators, in the process and apart, and by tests with limits of their own.  Refused
requests count too: a peak says what was sent, not what was let in.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence

from tenure.testing.emulators.ledger import Record
from tenure.testing.emulators.message import UNSAFE
from tenure.testing.emulators.rules import Limit

_Mark = tuple[float, float, int]  # when it came, when it ended, what it cost


def peak(limit: Limit, record: Record) -> int:
    """The most units that arrived in any one window of the limit, over all of its scopes.

    A rolling window holds what came less than ``per`` seconds apart, a fixed one what came between
    two whole multiples of ``per`` after the origin, and ``per=None`` what was there at once.
    """
    scopes: defaultdict[str, list[_Mark]] = defaultdict(list)
    for arrival in record.arrivals:
        if limit.concerns(arrival.method, arrival.path):
            end = math.inf if arrival.ended is None else arrival.ended
            cost = limit.cost(unsafe=arrival.method in UNSAFE)
            scope = limit.counted_under(arrival.path, arrival.account)
            scopes[scope].append((arrival.at, end, cost))
    return max(
        (_highest(limit, sorted(marks), record.origin) for marks in scopes.values()), default=0
    )


def _highest(limit: Limit, marks: Sequence[_Mark], origin: float) -> int:
    if limit.per is None:
        return _at_once(marks)
    if limit.kind == "fixed":
        return _fixed(marks, limit.per, origin)
    return _rolling(marks, limit.per)


def _rolling(marks: Sequence[_Mark], per: float) -> int:
    """Every fullest window can be moved until it ends with an arrival, so those are all to try."""
    window: deque[tuple[float, int]] = deque()
    used = highest = 0
    for at, _, cost in marks:
        while window and at - window[0][0] >= per:
            used -= window.popleft()[1]
        window.append((at, cost))
        used += cost
        highest = max(highest, used)
    return highest


def _fixed(marks: Sequence[_Mark], per: float, origin: float) -> int:
    windows: defaultdict[int, int] = defaultdict(int)
    for at, _, cost in marks:
        windows[math.floor((at - origin) / per)] += cost
    return max(windows.values())


def _at_once(marks: Sequence[_Mark]) -> int:
    """An end at the very instant of an arrival goes first: the place was free again."""
    turns = [(at, 1, cost) for at, _, cost in marks] + [(end, 0, -cost) for _, end, cost in marks]
    used = highest = 0
    for _, _, change in sorted(turns):
        used += change
        highest = max(highest, used)
    return highest
