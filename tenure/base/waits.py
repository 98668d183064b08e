"""How long a provider asks to wait, read from whatever it wrote.

Owned here: the forms of wait hints and their defects.  Called by ``answers``.  Promised: nothing a
provider sends raises; no wait exceeds 24 hours; moments are measured against the answer's own
``Date``, never against this machine's clock, which may be wrong by minutes.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tenure.base.entries import Hint
    from tenure.base.http import Response

LONGEST = 86_400.0

# Below it a number cannot be a moment of this century, above it no provider means a duration:
# the same header name carries either, and entries can be out of date.
_MOMENT_FROM = 1_000_000.0
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?")


class Wait(NamedTuple):
    """Seconds to wait, None where nothing readable was said; ``remark`` is for people."""

    seconds: float | None
    remark: str = ""


def stated(response: Response, hints: tuple[Hint, ...]) -> Wait:
    """The wait by the first hint that applies and can be read."""
    remarks: list[str] = []
    for hint in hints:
        if hint.when is not None and not has_header(response, hint.when):
            continue
        found = _read(response, hint)
        if found.remark:
            remarks.append(found.remark)
        if found.seconds is not None:
            return Wait(found.seconds, "; ".join(remarks))
    return Wait(None, "; ".join(remarks))


def has_header(response: Response, wanted: str) -> bool:
    """Whether a header is present (``name``), or has that value without case (``name: value``)."""
    name, colon, value = wanted.partition(":")
    found = response.header(name.strip())
    if found is None:
        return False
    return not colon or found.strip().casefold() == value.strip().casefold()


def capped(seconds: float) -> Wait:
    """The wait, cut to 24 hours with a remark where it is longer."""
    if seconds <= LONGEST:
        return Wait(seconds)
    # Not the number itself: it may have four hundred digits.
    return Wait(LONGEST, "it asked for more than 24 h, which is cut to 24 h")


def _read(response: Response, hint: Hint) -> Wait:
    if hint.seconds is not None:
        return capped(hint.seconds)
    name = hint.header or "retry-after"
    text = response.header(name)
    if text is None:
        return Wait(None)
    now = _moment(response.header("date") or "")
    if _NUMBER.fullmatch(text.strip()):
        seconds = _from_number(float(text.strip()), now, is_moment=hint.form == "epoch")
    else:
        seconds = _until(_moment(text), now)
    if seconds is None:
        return Wait(None, f"its {name} header could not be read")
    return capped(seconds)


def _from_number(number: float, now: float | None, *, is_moment: bool) -> float | None:
    if number < _MOMENT_FROM:
        return number
    if now is None or math.isinf(number):
        return None if is_moment else number
    return max(0.0, number - now)


def _until(moment: float | None, now: float | None) -> float | None:
    return None if moment is None or now is None else max(0.0, moment - now)


def _moment(text: str) -> float | None:
    """Seconds since 1970 of an HTTP or ISO 8601 date; UTC where it names no zone."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text.strip())
            zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return zoned.timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
