"""Some of the automations of ``tests.kit.automations`` as plain functions, under the same names."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from concurrent.futures import ThreadPoolExecutor

from tenure import Backoff, Budget, SyncContext, SyncHttp, Tenure
from tenure.flow.provider import Allowance
from tests.kit.around import WAYS
from tests.kit.automations import NOWHERE, Order, weigh
from tests.kit.meeting import meet_blocking

_ALLOW: tuple[Allowance, ...] = ("plain-http", "private-address")
_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
crm = app.provider(
    "crm",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)
slow = app.provider(
    "slow",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    budgets=[Budget(1, per=1.0)],
)


@app.automation(lane=crm, backoff=_SOON)
def deal(ctx: SyncContext, order: Order) -> int:
    """One step and two effects at a provider that honours none."""
    weight = ctx.step("weigh", weigh, order.n)
    ctx.http(crm).post("/deals", step="deal", json={"job": str(ctx.job_id), "n": order.n})
    if order.meet:
        meet_blocking(order.meet, ctx.job_id)
    ctx.http(crm).post("/notes", step="note", json={"job": str(ctx.job_id), "w": weight})
    return weight


@app.automation(backoff=_SOON)
def stand(ctx: SyncContext, order: Order) -> int:
    """No call at all: it stands where the test says until it is let go."""
    if order.meet:
        meet_blocking(order.meet, ctx.job_id)
    return ctx.step("weigh", weigh, order.n)


def _grouped(http: SyncHttp, n: int) -> int:
    return http.post("/grouped", step=f"group-{n}", json=n).status


@app.automation(backoff=_SOON)
def tangle(ctx: SyncContext, order: Order) -> list[int]:
    """Calls at once in threads of its own, in a finally and under a bare except."""
    http = ctx.http(slow)
    said: list[int] = []
    try:
        with ThreadPoolExecutor(2) as threads:
            asked = [
                threads.submit(http.post, "/gathered", step=f"gather-{n}", json=n) for n in (1, 2)
            ]
        said += [future.result().status for future in asked]
        with ThreadPoolExecutor(2) as threads:
            said += threads.map(lambda n: _grouped(http, n), (1, 2))
        try:
            said.append(http.post("/guarded", step="guarded", json=1).status)
        except:  # noqa: E722 - what authors write
            said.append(-1)
    finally:
        said.append(http.post("/last", step="last", json=1).status)
    return said


@app.automation(backoff=_SOON)
def greedy(ctx: SyncContext, order: Order) -> int:
    """An author who catches everything, around a call that must wait."""
    with contextlib.suppress(BaseException):
        ctx.http(slow).post("/first", step="first", json=order.n)
    with contextlib.suppress(BaseException):
        ctx.http(slow).post("/second", step="second", json=order.n)
    return order.n


@app.automation(backoff=_SOON)
def around(ctx: SyncContext, way: str) -> str:
    """An author who goes around the gate, in a thread."""

    async def gone() -> str:
        return await WAYS[way](crm.base_url)

    return asyncio.run(gone())


@app.automation(backoff=_SOON)
def nap(ctx: SyncContext, order: Order) -> int:
    """Sleeps a day."""
    ctx.sleep(86_400.0)
    return order.n


@app.automation(backoff=_SOON)
def recall(ctx: SyncContext, order: Order) -> list[str]:
    """Says what its context gives it, at each run, and stands before it goes on."""
    given = [
        ctx.now().isoformat(),
        str(ctx.uuid()),
        str(ctx.uuid()),
        str(ctx.random()),
        ctx.now().isoformat(),
        str(ctx.step("pid", os.getpid)),
        str(ctx.decide("first", os.getpid() > 0)),
    ]
    ctx.step("weighed", weigh, os.getpid())
    meet_blocking("given", json.dumps(given))
    return given


@app.automation(lane=crm, backoff=_SOON)
def look(ctx: SyncContext, order: Order) -> list[int]:
    """Two reads: one with a name, which is remembered, and one without."""
    http = ctx.http(crm)
    named = http.get("/named", step="look", accept=[404])
    nameless = http.get("/nameless", accept=[404])
    ctx.sleep(60.0)
    return [named.status, nameless.status]
