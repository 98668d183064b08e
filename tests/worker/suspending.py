"""Automations that are suspended in the middle of something; loaded by real workers."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from tenure import Backoff, Budget, Context, Tenure
from tenure.flow.provider import Allowance
from tests.kit.automations import NOWHERE
from tests.kit.meeting import meet

_ALLOW: tuple[Allowance, ...] = ("plain-http", "private-address")
_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
wide = app.provider(
    "crm",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)
narrow = app.provider(
    "narrow",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    budgets=[Budget(1, per=3600.0)],
)


@app.automation(backoff=_SOON)
async def beside(ctx: Context) -> list[int]:
    """One of two calls at once must wait for its budget while the other is under way."""
    await ctx.http(narrow).post("/first", step="first", json=1)
    answers = await asyncio.gather(
        ctx.http(wide).post("/held", step="held", json=2),
        ctx.http(narrow).post("/second", step="second", json=3),
    )
    return [answer.status for answer in answers]


@app.automation(backoff=_SOON)
async def swallowing(ctx: Context, path: str) -> int:
    """An author who catches everything around a call that must wait, and goes on with a step."""
    await ctx.http(narrow).post("/first", step="first", json=1)
    with contextlib.suppress(BaseException):
        await ctx.http(narrow).post("/second", step="second", json=2)
    return await ctx.step("write", _write, path, "went on")


@app.automation(backoff=_SOON)
async def leaving(ctx: Context, path: str) -> str:
    """An author who starts a task and forgets it."""
    begun = asyncio.Event()
    task = asyncio.create_task(_linger(path, begun))
    await begun.wait()
    return type(task).__name__


def _write(path: str, words: str) -> int:
    return Path(path).write_text(words)


async def _linger(path: str, begun: asyncio.Event) -> None:
    try:
        begun.set()
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        _write(path, "cancelled")
        raise


@app.automation(backoff=_SOON)
async def clinging(ctx: Context, place: str) -> int:
    """Stands where it is told and goes on whatever it is told: it begins once for each arrival."""
    standing = asyncio.ensure_future(meet(place, ctx.job_id))
    while not standing.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(standing)
    return 1
