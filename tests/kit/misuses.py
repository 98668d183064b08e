"""Handlers that use Tenure as it cannot be used, each in its own way, and a few mere mistakes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeAlias

from tenure import Backoff, Budget, Context, Defer, Retry, SyncContext, Tenure
from tests.kit.automations import NOWHERE

# A context as an author without a type checker has it.
Loose: TypeAlias = Any

app = Tenure()
crm = app.provider(
    "crm",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=("plain-http", "private-address"),
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)


async def _same_step_twice(ctx: Loose) -> None:
    await ctx.step("same", len, "a")
    await ctx.step("same", len, "b")


async def _naive_moment(ctx: Loose) -> None:
    raise Defer(until=datetime(2030, 1, 1))  # noqa: DTZ001 - what an author may forget


async def _both(ctx: Loose) -> None:
    raise Defer(until=ctx.now(), after=1.0)


async def _retry_in_words(ctx: Loose) -> None:
    words: Loose = "5 s"
    raise Retry(after=words)


async def _grouped(ctx: Loose) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(ctx.http(crm).post("/deals", json={}))
        group.create_task(ctx.http(crm).put("/deals", json={}))


async def _status_code(ctx: Loose) -> int:
    code: int = (await ctx.http(crm).get("/deals", accept=[404])).status_code
    return code


# How Tenure is misused -> words of the one line that says so.  No retry can help.
MISUSES: dict[str, tuple[Callable[[Loose], Awaitable[object]], str]] = {
    "a call without step=": (
        lambda ctx: ctx.http(crm).post("/deals", json={}),
        "post was called with arguments that it does not take (missing a required",
    ),
    "calls without step= in a group": (_grouped, "post was called with arguments"),
    "a call without an address": (lambda ctx: ctx.http(crm).get(), "argument: 'url'"),
    "an address that is none": (
        lambda ctx: ctx.http(crm).get(None),
        "GET cannot be made of what it was given",
    ),
    "a misspelt option": (
        lambda ctx: ctx.http(crm).post("/deals", step="s", jsn={}),
        "post has no option 'jsn': nothing was sent. Did you mean 'json'?",
    ),
    "a body on a read": (
        lambda ctx: ctx.http(crm).get("/deals", json={}),
        "get has no option 'json'",
    ),
    "a step that is no text": (
        lambda ctx: ctx.http(crm).post("/deals", step=5),
        "a step's name is of type int",
    ),
    "a timeout in words": (
        lambda ctx: ctx.http(crm).get("/deals", timeout="5 s"),
        "a duration was given that is none ('5 s')",
    ),
    "accepting one number": (
        lambda ctx: ctx.http(crm).get("/deals", accept=404),
        "GET cannot be made of what it was given",
    ),
    "a body that JSON cannot hold": (
        lambda ctx: ctx.http(crm).post("/deals", step="s", json=object()),
        "cannot be written as JSON",
    ),
    "a provider that is none": (lambda ctx: _called(ctx.http, 5), "what is no provider (int)"),
    "a name that a call has not": (_status_code, "has no attribute 'status_code'"),
    "a name that a context has not": (lambda ctx: ctx.htpp(crm), "no attribute 'htpp'"),
    "a step twice": (_same_step_twice, "'same' was used twice"),
    "a step without its function": (lambda ctx: ctx.step("s"), "argument: 'fn'"),
    "a step of what cannot be called": (
        lambda ctx: ctx.step("s", 5),
        "the step 's' was given what cannot be called (int)",
    ),
    "a decision without a choice": (lambda ctx: _called(ctx.decide, "big"), "argument: 'choice'"),
    "a sleep in words": (lambda ctx: ctx.sleep("a day"), "none ('a day')"),
    "a log line that is none": (lambda ctx: ctx.log(5), "ctx.log was given what is no text (int)"),
    "a retry in words": (_retry_in_words, "none ('5 s')"),
    "a moment without a zone": (_naive_moment, "a moment without a zone"),
    "a moment and a duration": (_both, "a moment nor a duration, or both"),
}


async def _called(method: Callable[..., object], *given: object) -> object:
    return method(*given)


def _weigh(n: int) -> int:
    return n * 2


async def _attribute(ctx: Loose) -> object:
    return ctx.job_id.no_such_name


# An author's own mistake -> its class.  Another version is not needed: data may change.
MISTAKES: dict[str, tuple[Callable[[Loose], Awaitable[object]], str]] = {
    "a step given too much": (lambda ctx: ctx.step("s", _weigh, 1, 2), "TypeError"),
    "a step that is wrong": (lambda ctx: ctx.step("s", len, 5), "TypeError"),
    "a function called wrongly": (lambda _: _called(_weigh), "TypeError"),
    "a name that a value has not": (_attribute, "AttributeError"),
}


# The same from a `def` handler.
IN_A_THREAD: dict[str, tuple[Callable[[Loose], object], str]] = {
    "a call without step=": (lambda ctx: ctx.http(crm).post("/deals", json={}), "argument: 'step'"),
    "a decision without a choice": (lambda ctx: ctx.decide("big"), "argument: 'choice'"),
    "a name that a context has not": (lambda ctx: ctx.htpp(crm), "no attribute 'htpp'"),
}


@app.automation(max_attempts=2, backoff=Backoff(base=0.05, cap=0.1))
def misuse_in_a_thread(ctx: SyncContext, way: str) -> None:
    """Does what it is told, in a thread."""
    act, _ = IN_A_THREAD[way]
    act(ctx)


@app.automation(max_attempts=2, backoff=Backoff(base=0.05, cap=0.1))
async def misuse(ctx: Context, way: str) -> None:
    """Does what it is told."""
    act, _ = {**MISUSES, **MISTAKES}[way]
    await act(ctx)
