"""Connections that an author's ORM keeps open, closed when a job is done with them.

Called where author's code has run: at the end of a job, and of a step in a thread of its own.  It
knows Django, where the author has loaded and configured it, and imports nothing: what other
libraries keep is let go by the author's own ``app.after_job``.  Promises: nothing that goes wrong
here harms a job.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("tenure.flow")


def _django() -> Callable[[], object] | None:
    """What closes the connections of the calling thread; None where none can have been opened."""
    settings = getattr(sys.modules.get("django.conf"), "settings", None)
    connections = getattr(sys.modules.get("django.db"), "connections", None)
    if connections is None or not getattr(settings, "configured", False):
        return None
    close: Callable[[], object] = connections.close_all
    return close


def close() -> None:
    """Close the connections of the calling thread."""
    closes = _django()
    if closes is None:
        return
    try:
        closes()
    except Exception:
        log.exception("Django's connections could not be closed; the job's end stands")


async def close_awaited() -> None:
    """Close those that are used in an event loop: Django keeps them in one thread of its own."""
    beside = getattr(sys.modules.get("asgiref.sync"), "sync_to_async", None)
    if beside is None or _django() is None:
        return
    try:
        await beside(close)()
    except Exception:
        log.exception("Django's connections could not be closed; the job's end stands")


def closing(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function gives, run in a thread that keeps no connection after it."""
    try:
        return fn(*args, **kwargs)
    finally:
        close()
