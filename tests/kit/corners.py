"""Automations in the corners of the promises: they enqueue, read again, give up early."""

from __future__ import annotations

import asyncio
import contextlib
import os

from tenure import Backoff, Budget, Context, Tenure, env
from tenure.base.secrets import Header
from tests.kit.automations import NOWHERE

_WIDE = (Budget(10_000, per=10.0, jitter=2.0),)

app = Tenure()
crm = app.provider(
    "crm",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    auth=Header("x-client-id", env("KIT_SECRET")),
    allow=("plain-http", "private-address"),
    budgets=_WIDE,
)


@app.automation(lane=crm)
async def child(ctx: Context, n: int) -> None:
    """Changes something at the provider."""
    await ctx.http(crm).post("/deals", step="make", json={"n": n})


@app.automation
async def parent(ctx: Context, n: int) -> None:
    """Makes a job of another automation."""
    await child.aenqueue(n)


@app.automation(lane=crm)
async def revisit(ctx: Context, seconds: float) -> int:
    """Makes something, sleeps, and looks at what it made."""
    made = await ctx.http(crm).post("/deals", step="make", json={"n": 1})
    await ctx.sleep(seconds)
    name = made.json()["id"]
    return (await ctx.http(crm).get(f"/deals/{name}")).status


@app.automation(lane=crm, max_attempts=2, backoff=Backoff(base=0.05, cap=0.1))
async def impatient(ctx: Context, seconds: float) -> str:
    """Gives up on its call before the call has ended, and goes on as if nothing were."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await ctx.http(crm).post("/deals", step="make", json={"n": 1})
    return "went on"


@app.automation(lane=crm)
async def echoing(ctx: Context, n: int) -> None:
    """Says a credential where it does not belong."""
    secret = os.environ["KIT_SECRET"]
    await ctx.http(crm).post(
        "/deals", step="make", json={"note": secret}, headers={"x-note": f"is {secret} good?"}
    )
    raise RuntimeError(f"the key {secret} does not work")
