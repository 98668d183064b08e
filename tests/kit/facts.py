"""Waiting for facts: a condition that holds, before a deadline.

Used by every story.  Nothing here waits for time: what another thread of the test learns wakes the
waiter at once, and rows and processes, which wake nobody, are looked at again every few
milliseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tenure.base.clock import now

T = TypeVar("T")

WITHIN = 30.0
_LOOK_AGAIN = 0.02

stirred = threading.Condition(threading.RLock())
# What must stay true while anybody waits, such as that a worker has not ended; each raises.
watched: list[Callable[[], object]] = []


class NeverHeld(AssertionError):
    """The fact that a test waited for did not come."""


def until(fact: Callable[[], T | None], what: str = "", within: float = WITHIN) -> T:
    """What ``fact`` gives once it is true; raises ``NeverHeld`` after ``within`` seconds."""
    deadline = now() + within
    while True:
        found = fact()
        if found:
            return found
        for check in watched:
            check()
        if now() > deadline:
            raise NeverHeld(f"not within {within:g} s: {what or fact!r} (last: {found!r})")
        with stirred:
            stirred.wait(_LOOK_AGAIN)


def stir() -> None:
    """Something has changed: whoever waits looks again."""
    with stirred:
        stirred.notify_all()
