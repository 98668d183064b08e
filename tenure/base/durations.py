"""Lengths of time as people write them, and as they read them.

Settings, the command line and declarations parse; pages and sentences print.  Promises: inside
Tenure a duration is always seconds as a float, finite and not negative.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta

from tenure.base.errors import ConfigurationError

Duration = str | float | timedelta
# As code gives it; text is for settings and the command line.
Length = float | timedelta

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|min|[smhdw])\s*")
_NUMBER = re.compile(r"\s*[0-9]+(?:\.[0-9]+)?\s*")


def parse(value: object) -> float:
    """Seconds from a number, a ``timedelta`` or text such as ``10s``, ``1.5h``, ``2 min 5 s``.

    Those forms are a ``Duration``.  Raises ``ConfigurationError`` for anything else, for what is
    negative and for what has no end.
    """
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        seconds = _read(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = _number(value)
    else:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ConfigurationError(
            f"not a duration ({value!r}): it names no length of time",
            hint="Write seconds, or a number with ms, s, m, h, d or w: 10s, 1.5h, 30d.",
        )
    return seconds


def checked(value: object, what: str, *, least: float, most: float) -> float:
    """Seconds of a duration in code: a number or a ``timedelta`` within bounds, each allowed.

    Raises ``ConfigurationError`` that says what was given, for what.
    """
    try:
        seconds = math.nan if isinstance(value, str) else parse(value)
    except ConfigurationError:
        seconds = math.nan
    if not least <= seconds <= most:
        raise ConfigurationError(
            f"the {what} is {value!r}: it is a length of time from {words(least)} to {words(most)}",
            hint="Give seconds as a number, or a timedelta.",
        )
    return seconds


def words(seconds: float) -> str:
    """The duration for people, in its two largest units: ``2 min 5 s``, ``3 d 4 h``, ``250 ms``."""
    if seconds < 0:
        return f"-{words(-seconds)}"
    if math.isinf(seconds):
        return "for ever"
    if 0 < seconds < 0.9995:
        return f"{round(seconds * 1000)} ms" if seconds >= 0.001 else "less than 1 ms"
    if seconds < 9.95:
        return f"{round(seconds, 1):g} s"
    left = round(seconds)
    parts = []
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, length)
        parts.append((count, unit))
    first = next(index for index, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


def _read(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        return math.nan
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
