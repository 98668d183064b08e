"""A peak is what it says: no window of the limit's kind holds more."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tenure.testing.emulators import Arrival, Limit, Record
from tenure.testing.emulators.limits import Limiter
from tenure.testing.emulators.message import Head
from tenure.testing.emulators.peaks import peak

# Whole numbers, so that every sum and difference is exact.
_TIMES = st.lists(st.integers(0, 60), min_size=1, max_size=30).map(sorted)


def _record(times: list[int], *, lasting: int = 1, origin: int = 0) -> Record:
    arrivals = (
        Arrival(n, float(at), "GET", "/a", ended=float(at + lasting))
        for n, at in enumerate(times, start=1)
    )
    return Record(origin=float(origin), arrivals=tuple(arrivals))


@given(_TIMES, st.integers(1, 20))
def test_a_rolling_peak_is_the_fullest_window(times: list[int], per: int) -> None:
    """No half-open window of this length holds more arrivals, and one holds as many."""
    windows = [sum(start <= at < start + per for at in times) for start in range(-per, 61)]
    assert peak(Limit(1, per=float(per)), _record(times)) == max(windows)


@given(_TIMES, st.integers(1, 20), st.integers(0, 5))
def test_a_fixed_peak_is_the_fullest_multiple(times: list[int], per: int, origin: int) -> None:
    """Arrivals are counted between whole multiples of the length after the origin."""
    windows = [math.floor((at - origin) / per) for at in times]
    limit = Limit(1, per=float(per), kind="fixed")
    expected = max(windows.count(window) for window in windows)
    assert peak(limit, _record(times, origin=origin)) == expected


@given(_TIMES, st.integers(1, 10))
def test_a_peak_at_once_is_the_most_that_were_there(times: list[int], lasting: int) -> None:
    """An answer at the very moment of an arrival has made room for it."""
    expected = max(sum(at <= now < at + lasting for at in times) for now in range(72))
    assert peak(Limit(1), _record(times, lasting=lasting)) == expected


@given(_TIMES, st.integers(1, 6), st.integers(1, 20), st.sampled_from(["rolling", "fixed"]))
def test_what_a_limiter_admits_never_peaks_above_its_limit(
    times: list[int], units: int, per: int, kind: str
) -> None:
    """Whatever the order of arrivals, the admitted ones stay within; the first is never refused."""
    limit = Limit(units, per=float(per), kind="fixed" if kind == "fixed" else "rolling")
    limiter = Limiter((limit,), 0.0)
    words = [limiter.arrive(Head("GET", "/a", at=float(at))) for at in times]
    admitted = [at for at, word in zip(times, words, strict=True) if word.refusal is None]
    assert words[0].refusal is None
    assert peak(limit, _record(admitted)) <= units


@given(_TIMES, st.integers(1, 6), st.integers(1, 20), st.sampled_from(["rolling", "fixed"]))
def test_whoever_waits_as_told_is_admitted(
    times: list[int], units: int, per: int, kind: str
) -> None:
    """The wait in a refusal is enough, and a second less is not."""
    limit = Limit(units, per=float(per), kind="fixed" if kind == "fixed" else "rolling")
    limiter = Limiter((limit,), 0.0)
    for at in times:
        refusal = limiter.arrive(Head("GET", "/a", at=float(at))).refusal
        if refusal is not None:
            assert refusal.wait is not None
            early = limiter.arrive(Head("GET", "/a", at=at + refusal.wait - 1.0))
            assert early.refusal is not None
            late = limiter.arrive(Head("GET", "/a", at=at + refusal.wait))
            assert late.refusal is None
            return
