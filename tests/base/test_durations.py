"""People write lengths of time in their way, and read them in theirs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.durations import parse, words
from tenure.base.errors import ConfigurationError


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10s", 10),
        ("5m", 300),
        ("2h", 7_200),
        ("30d", 2_592_000),
        ("1w", 604_800),
        ("1.5h", 5_400),
        ("250ms", 0.25),
        ("2 min 5 s", 125),
        ("1h30m", 5_400),
        (" 10 ", 10),
        ("0.5", 0.5),
        (10, 10),
        (0, 0),
        (2.5, 2.5),
        (timedelta(minutes=2), 120),
    ],
)
def test_a_duration_is_seconds(value: object, seconds: float) -> None:
    """Every form that is taken means its seconds."""
    assert parse(value) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "s",
        "10x",
        "10 10",
        "1 5s",
        "1.2.3s",
        "-5s",
        "+5s",
        "1e3",
        "nan",
        "inf",
        "1h,30m",
        "٥s",
        "9" * 400,
        "9" * 400 + "d",
        -1,
        -0.5,
        float("nan"),
        float("inf"),
        10**400,
        True,
        None,
        [],
        b"10s",
        timedelta(seconds=-1),
    ],
)
def test_nonsense_is_refused(value: object) -> None:
    """What names no length of time is an error that shows the value and says what to write."""
    with pytest.raises(ConfigurationError, match="not a duration") as caught:
        parse(value)
    assert "10s" in caught.value.hint


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0004, "less than 1 ms"),
        (0.25, "250 ms"),
        (0.9996, "1 s"),
        (2.5, "2.5 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.9, "1 min"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3_600, "1 h"),
        (3_605, "1 h"),
        (5_400, "1 h 30 min"),
        (90_000, "1 d 1 h"),
        (2_592_000, "30 d"),
        (-125, "-2 min 5 s"),
        (float("inf"), "for ever"),
    ],
)
def test_a_duration_is_said_in_two_units(seconds: float, text: str) -> None:
    """People read the two largest units, rounded, and no more."""
    assert words(seconds) == text


@given(st.floats(0, 10**9))
def test_what_is_said_can_be_read(seconds: float) -> None:
    """Whatever is printed parses again, to within a few parts in a hundred."""
    text = words(seconds)
    if not text.startswith("less"):
        assert parse(text) == pytest.approx(seconds, rel=0.05, abs=0.0005)


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_an_error(text: str) -> None:
    """Text is either read or refused by name; nothing else happens."""
    try:
        seconds = parse(text)
    except ConfigurationError:
        seconds = 0.0
    assert seconds >= 0
