"""What may be declared of an automation, and asked for a job: checks of plain values.

Called where code declares and enqueues.  Promises: whatever could not work is refused where it is
written, in one line that says what was given.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tenure.base.durations import Length, checked
from tenure.base.errors import ConfigurationError

LEAST = 0.001
# A thousand years: nobody means more, and the database can still count it.
LONGEST = 31_536_000_000.0
TAG_LIMIT = 200
MOST_ATTEMPTS = 1_000_000
MOST_AT_ONCE = 1_000


def priority(given: object) -> int:
    """A priority; raises ``ConfigurationError`` for what is none."""
    if type(given) is not int or not 0 <= given <= 9:
        raise ConfigurationError(
            f"the priority is {given!r}: priorities are whole numbers from 0 to 9",
            hint="0 comes first.",
        )
    return given


def count(given: object, what: str, *, most: int) -> int:
    """A count of at least one; raises ``ConfigurationError`` for what is none."""
    if type(given) is not int or not 1 <= given <= most:
        raise ConfigurationError(
            f"{what} is {given!r}: it is a whole number from 1 to {most}",
            hint="Leave it out for the default.",
        )
    return given


def length(given: Length | None, what: str, *, least: float, most: float) -> float | None:
    """A length of time in seconds, where one is given; raises ``ConfigurationError``."""
    return None if given is None else checked(given, what, least=least, most=most)


def tags(given: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are kept; raises ``ConfigurationError`` for what is none."""
    kept = (given,) if isinstance(given, str) else tuple(given)
    for tag in kept:
        if not isinstance(tag, str) or not 0 < len(tag) <= TAG_LIMIT or not tag.isprintable():
            raise ConfigurationError(
                f"a tag is {tag!r}: tags are printable texts of 1 to {TAG_LIMIT} characters",
                hint="Give tags as a list of short words.",
            )
    return kept


def moment(given: datetime) -> datetime:
    """A moment that one can point to; raises ``ConfigurationError`` for one without a zone."""
    if given.tzinfo is None:
        raise ConfigurationError(
            f"the time {given.isoformat()} has no zone: it names no moment",
            hint="Give a datetime with a zone, such as datetime.now(UTC).",
        )
    return given
