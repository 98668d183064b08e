"""Wait hints: every form providers use, every way in which they are broken."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.entries import Hint
from tenure.base.http import Response
from tenure.base.waits import LONGEST, capped, has_header, stated

NOON = "Thu, 01 Oct 2026 12:00:00 GMT"
NOON_EPOCH = 1_790_856_000

RETRY_AFTER = (Hint(form="retry_after"),)
EPOCH = (Hint(form="epoch", header="x-reset"),)
DELTA = (Hint(form="delta", header="x-reset"),)


def answer(**headers: str) -> Response:
    """A 429 with these headers, underscores as hyphens."""
    return Response(429, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30.0),
        (" 30 ", 30.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("81000", 81_000.0),
        ("90000", LONGEST),
        ("9" * 400, LONGEST),
        (str(NOON_EPOCH + 45), 45.0),
        ("Thu, 01 Oct 2026 12:02:00 GMT", 120.0),
        ("Thursday, 01-Oct-26 12:02:00 GMT", 120.0),
        ("Thu Oct  1 12:02:00 2026", 120.0),
        ("Thu, 01 Oct 2026 12:02:00", 120.0),
        ("Thu, 01 Oct 2026 14:02:00 +0200", 120.0),
        ("2026-10-01T12:02:00Z", 120.0),
        ("2026-10-01T12:02:00", 120.0),
        ("Thu, 01 Oct 2026 11:00:00 GMT", 0.0),
        ("Fri, 01 Oct 2027 12:00:00 GMT", LONGEST),
        ("-5", None),
        ("+5", None),
        ("1e3", None),
        ("1_000", None),
        ("nan", None),
        ("inf", None),
        ("\u0663", None),
        ("soon", None),
        ("", None),
        ("Thu, 99 Oct 2026 12:00:00 GMT", None),
        ("Thu, 01 Oct 2026 12:00:00 +9999", None),
        ("Thu, 01 Oct 99999999999999999999 12:00:00 GMT", None),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    """Seconds and dates of any form are read; what is neither is no wait, and says so."""
    found = stated(answer(Date=NOON, Retry_After=text), RETRY_AFTER)
    assert found.seconds == seconds
    if seconds is None:
        assert "retry-after" in found.remark


def test_a_date_is_measured_against_the_answer_not_this_machine() -> None:
    """Two answers that are years apart and ask for the same distance give the same wait."""
    old = answer(Date="Wed, 01 Oct 2003 12:00:00 GMT", Retry_After="Wed, 01 Oct 2003 12:05:00 GMT")
    new = answer(Date=NOON, Retry_After="Thu, 01 Oct 2026 12:05:00 GMT")
    assert stated(old, RETRY_AFTER).seconds == stated(new, RETRY_AFTER).seconds == 300.0


def test_the_zone_of_this_machine_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A date that names no zone is UTC, wherever this machine stands."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        response = answer(Date=NOON, Retry_After="2026-10-01T12:02:00")
        assert stated(response, RETRY_AFTER).seconds == 120.0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_moment_without_a_date_to_measure_it_is_not_guessed() -> None:
    """Without the answer's own date, a moment is no wait."""
    assert stated(answer(Retry_After="Thu, 01 Oct 2026 12:05:00 GMT"), RETRY_AFTER).seconds is None
    assert stated(answer(x_reset=str(NOON_EPOCH)), EPOCH).seconds is None
    assert stated(answer(Date="today", x_reset=str(NOON_EPOCH)), EPOCH).seconds is None


@pytest.mark.parametrize(
    ("hints", "text", "seconds"),
    [
        (EPOCH, str(NOON_EPOCH + 900), 900.0),
        (EPOCH, f"{NOON_EPOCH + 1}.5", 1.5),
        (EPOCH, str(NOON_EPOCH - 900), 0.0),
        (EPOCH, "60", 60.0),
        (EPOCH, f"{NOON_EPOCH}000", LONGEST),
        (EPOCH, "2026-10-01T12:00:30Z", 30.0),
        (EPOCH, "9" * 400, None),
        (DELTA, "60", 60.0),
        (DELTA, "0.25", 0.25),
        (DELTA, str(NOON_EPOCH + 60), 60.0),
        (DELTA, "6m0s", None),
    ],
)
def test_resets(hints: tuple[Hint, ...], text: str, seconds: float | None) -> None:
    """A reset is read as the entry says; a number that cannot be of that form is of the other."""
    assert stated(answer(Date=NOON, x_reset=text), hints).seconds == seconds


def test_hints_are_read_in_order() -> None:
    """The first hint that can be read counts; one that cannot leaves a remark and the next."""
    hints = (*RETRY_AFTER, *DELTA, Hint(form="fixed", seconds=60))
    assert stated(answer(Retry_After="1", x_reset="2"), hints).seconds == 1.0
    assert stated(answer(x_reset="2"), hints).seconds == 2.0
    assert stated(answer(), hints) == (60.0, "")
    broken = stated(answer(Retry_After="later", x_reset="2"), hints)
    assert broken.seconds == 2.0
    assert "retry-after" in broken.remark


def test_a_conditional_hint() -> None:
    """A hint with a condition is read only where the answer meets it."""
    hints = (Hint(form="delta", header="x-reset", when="x-remaining: 0"),)
    assert stated(answer(x_reset="9", x_remaining="0"), hints).seconds == 9.0
    assert stated(answer(x_reset="9", x_remaining="10"), hints).seconds is None
    assert stated(answer(x_reset="9"), hints).seconds is None


def test_a_long_wait_is_cut_with_a_remark() -> None:
    """No wait is longer than a day, and whoever reads of it learns that it was cut."""
    assert capped(LONGEST) == (LONGEST, "")
    cut = capped(LONGEST + 1)
    assert cut.seconds == LONGEST
    assert "cut to 24 h" in cut.remark


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("x-one", True),
        ("X-ONE: Yes", True),
        ("x-one:yes", True),
        ("x-one: no", False),
        ("x-two", False),
    ],
)
def test_a_header_condition(wanted: str, *, expected: bool) -> None:
    """A header is found without regard to case, its value compared whole."""
    assert has_header(answer(x_one=" YES "), wanted) is expected


NUMBERS = st.integers().map(str) | st.floats().map(str) | st.datetimes().map(str)


@given(st.text() | NUMBERS, st.text() | NUMBERS | st.just(NOON), st.sampled_from([EPOCH, DELTA]))
def test_nothing_a_provider_writes_raises(text: str, date: str, hints: tuple[Hint, ...]) -> None:
    """Whatever stands in the headers, there is a wait within a day, or none."""
    response = answer(Date=date, Retry_After=text, x_reset=text)
    for found in (stated(response, hints), stated(response, RETRY_AFTER)):
        assert found.seconds is None or 0 <= found.seconds <= LONGEST
