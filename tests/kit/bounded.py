"""Automations with settings of their own: a lease, a time limit, so many at once, one of a kind."""

from __future__ import annotations

import asyncio
import contextlib
import os

from tenure import Backoff, Budget, Context, Tenure
from tests.kit.automations import NOWHERE, Order
from tests.kit.meeting import meet

_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
crm = app.provider(
    "crm",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=("plain-http", "private-address"),
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)


@app.automation(lease=3.0)
async def brief(ctx: Context, order: Order) -> int:
    """A lease that is shorter than the worker's own."""
    await meet(order.meet, ctx.job_id)
    return order.n


@app.automation(lease=600)
async def lasting(ctx: Context, order: Order) -> int:
    """A lease that is longer than the worker's own."""
    await meet(order.meet, ctx.job_id)
    return order.n


@app.automation(timeout=0.5, max_attempts=2, backoff=_SOON)
async def punctual(ctx: Context, order: Order) -> int:
    """It would stand for ever, and lets itself be stopped."""
    await asyncio.Event().wait()
    return order.n


@app.automation(timeout=0.5, max_attempts=2, backoff=_SOON)
async def deaf(ctx: Context, order: Order) -> int:
    """It hears of no time limit, tries a call, and ends when the test says so."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    said = "sent"
    try:
        await ctx.http(crm).post("/late", step="late", json=order.n)
    except BaseException as error:  # noqa: BLE001 - what authors write
        said = type(error).__name__
    await meet(order.meet, said)
    return order.n


@app.automation(concurrency=1)
async def single(ctx: Context, order: Order) -> int:
    """One at a time, over all workers."""
    await meet(order.meet, ctx.job_id)
    return order.n
