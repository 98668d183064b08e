"""What a handler says instead of returning, and what unwinds it when it must wait.

Raised by authors: ``Retry``, ``Defer``, ``Fail``, ``Hold``.  Raised by Tenure: ``Suspend``, a
``BaseException`` that no author catches; where a bare ``except`` swallows it all the same, the next
thing asked of the context raises it again, and the run counts as suspended however it ends.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from uuid import UUID

from tenure.base.errors import Misused

Duration = float | timedelta


def seconds(duration: Duration) -> float:
    """A duration as seconds; raises ``Misused`` for what is none."""
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if not isinstance(duration, int | float) or not math.isfinite(duration):
        raise Misused(
            f"a duration was given that is none ({duration!r}): nothing was done",
            hint="Give seconds as a number, or a timedelta.",
        )
    return float(duration)


class Signal(Exception):
    """What a handler raises to say how its run ends."""


class Retry(Signal):
    """The run failed and is tried again: after a given time, else at the automation's backoff."""

    def __init__(self, reason: str = "", *, after: Duration | None = None) -> None:
        """``after`` in seconds or as a timedelta."""
        super().__init__(reason)
        self.reason = reason
        self.after = None if after is None else seconds(after)


class Defer(Signal):
    """Not now: the job is handed back at no cost in attempts."""

    def __init__(
        self, reason: str = "", *, until: datetime | None = None, after: Duration | None = None
    ) -> None:
        """Until a moment with a zone, or after seconds or a timedelta; exactly one of the two."""
        if (until is None) == (after is None):
            raise Misused(
                "Defer was given neither a moment nor a duration, or both: it does not say when",
                hint="Give one of until= and after=.",
            )
        if until is not None and until.tzinfo is None:
            raise Misused(
                f"Defer was given a moment without a zone ({until}): it may mean any of 24",
                hint="Give until= a zone, as ctx.now() has one.",
            )
        super().__init__(reason)
        self.reason = reason
        self.until = until
        self.after = None if after is None else seconds(after)


class Fail(Signal):
    """The job has failed for good; no attempt is left to it."""

    def __init__(self, reason: str) -> None:
        """``reason`` is shown wherever the job is explained."""
        super().__init__(reason)
        self.reason = reason


class Hold(Signal):
    """The job stops for a person, with a question."""

    def __init__(
        self, question: str, *, step: str | None = None, send_id: UUID | None = None
    ) -> None:
        """``question`` is what the person is asked; step and send name the call it is about."""
        super().__init__(question)
        self.question = question
        self.step = step
        self.send_id = send_id


class Suspend(BaseException):
    """Unwinds a handler that must wait or stop, or lost its claim; never caught by authors."""
