"""The automations of ``tests.kit.odd`` as plain functions, each of which runs in a thread.

Under the same names, so that one test tells of both kinds.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from uuid import UUID

from tenure import Backoff, Budget, Defer, Fail, Hold, Retry, SyncContext, Tenure
from tests.kit import odd as originals
from tests.kit.meeting import meet_blocking
from tests.kit.odd import RESULTS, Unprintable

_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
crm = app.provider(
    "crm",
    base_url=originals.crm.base_url,
    allow=("plain-http", "private-address"),
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)
locked = app.provider(
    "locked",
    base_url=originals.locked.base_url,
    allow=("plain-http", "private-address"),
    auth=originals.locked.auth,
)


def _deep(n: int) -> int:
    return _deep(n + 1)


@app.automation(backoff=_SOON, max_attempts=2)
def odd(ctx: SyncContext, way: str) -> object:
    """Ends in the way it is told."""
    if way in RESULTS:
        return RESULTS[way]
    return _raised(ctx, way)


def _raised(ctx: SyncContext, way: str) -> object:
    match way:
        case "an error with NUL":
            raise ValueError("a\0b\ud800")
        case "an error without words":
            raise Unprintable
        case "an error of two megabytes":
            raise ValueError("x" * 2_000_000)
        case "an exit":
            sys.exit(3)
        case "an exit in a step":
            return ctx.step("leave", sys.exit, 3)
        case "endless recursion":
            return _deep(0)
        case "a cancelled task":
            raise asyncio.CancelledError
        case "an interrupt":
            raise KeyboardInterrupt
        case _:
            return _misused(ctx, way)


def _misused(ctx: SyncContext, way: str) -> object:
    match way:
        case "a step name used twice":
            ctx.step("same", len, "a")
            return ctx.step("same", len, "b")
        case "a step name with a line feed":
            return ctx.step("two\nlines", len, "a")
        case "an effect without a name":
            return ctx.http(crm).post("/deals", step=None, json={})
        case "a host of somebody else":
            return ctx.http(crm).post("https://api.stripe.com/v1/charges", step="s", json={})
        case "a secret that is missing":
            return ctx.http(locked).post("/deals", step="s", json={})
        case "a provider nobody declared":
            return ctx.http("crn").post("/deals", step="s", json={})
        case "a step whose result JSON cannot hold":
            return ctx.step("odd", object)
        case "a task that nobody awaits":
            thread = threading.Thread(target=threading.Event().wait, daemon=True)
            thread.start()
            return [thread is None]
        case _:
            raise LookupError(way)


@app.automation(backoff=_SOON)
def bystander(ctx: SyncContext, place: str) -> int:
    """Does no harm to anybody."""
    if place:
        meet_blocking(place, ctx.job_id)
    return ctx.step("count", len, "four")


@app.automation(backoff=_SOON)
def killer(ctx: SyncContext, place: str) -> None:
    """Ends its whole process without a word."""
    if place:
        meet_blocking(place, ctx.job_id)
    os.kill(os.getpid(), signal.SIGKILL)


@app.automation(backoff=_SOON)
def stubborn(ctx: SyncContext, place: str) -> str:
    """Goes on whatever it is told, until the test lets it."""
    meet_blocking(place, ctx.job_id)
    return "let go"


@app.automation(backoff=_SOON, max_attempts=3)
def ends(ctx: SyncContext, way: str) -> str:
    """Ends its first claims in the way it is told, and succeeds where that leaves it one more."""
    match way:
        case "fail":
            raise Fail("no")
        case "always":
            raise ValueError("always")
        case "retry":
            _once(ctx, Retry("again", after=0.01))
        case "defer":
            _once(ctx, Defer("later", after=0.01))
        case "hold":
            _once(ctx, Hold("shall it?"))
        case "error":
            _once(ctx, ValueError("once"))
        case "nap":
            ctx.sleep(86_400.0)
        case "grouped fail":
            raise ExceptionGroup("a group", [Fail("in a group")])
    return way


_SEEN: set[UUID] = set()


def _once(ctx: SyncContext, signal: Exception) -> None:
    """Raise at the first run in this process, and at no later one."""
    if ctx.job_id not in _SEEN:
        _SEEN.add(ctx.job_id)
        raise signal
