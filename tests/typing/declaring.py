"""What type checkers infer of declared automations: read by them, and run by nobody."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import assert_type

from tenure import (
    Automation,
    Context,
    Enqueued,
    Response,
    SyncContext,
    SyncHttp,
    Tenure,
    current,
)

app = Tenure()


class Lead:
    """An input."""


@app.automation
async def bare(ctx: Context, lead: Lead) -> int:
    """An async handler, declared by its name alone."""
    return 1


@app.automation(priority=1)
async def given(ctx: Context) -> str:
    """An async handler of no input, declared with more."""
    return ""


@app.automation
def threaded(ctx: SyncContext, lead: Lead) -> bytes:
    """A plain handler, declared by its name alone."""
    assert_type(ctx.http("crm"), SyncHttp)
    assert_type(ctx.http("crm").post("/deals", step="make", json={}), Response)
    assert_type(ctx.step("count", len, "four"), int)
    assert_type(current(SyncContext), SyncContext)
    return b""


@app.automation(priority=1)
def threaded_given(ctx: SyncContext) -> None:
    """A plain handler of no input, declared with more."""
    ctx.sleep(1.0)


def inferred(ctx: Context, sync: SyncContext, lead: Lead) -> None:
    """Input and result of each, called as written and enqueued."""
    assert_type(bare, Automation[Lead, int])
    assert_type(given, Automation[None, str])
    assert_type(threaded, Automation[Lead, bytes])
    assert_type(threaded_given, Automation[None, None])
    assert_type(bare(ctx, lead), Awaitable[int])
    assert_type(threaded(sync, lead), bytes)
    assert_type(threaded.enqueue(lead), Enqueued)
    assert_type(current(), Context)


def refused(ctx: SyncContext) -> None:
    """A call that changes something has a step, in a thread too."""
    ctx.http("crm").post("/deals", json={})  # type: ignore[call-arg]  # the step is missing
    threaded.enqueue("a text")  # type: ignore[arg-type]  # not a lead
