"""The automations of the stories: one provider that honours keys, one that does not.

Loaded by real workers.  Where the providers listen stands in ``KIT_STRIPE`` and ``KIT_CRM``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import cast

import msgspec

from tenure import (
    Backoff,
    Budget,
    CannotTell,
    Context,
    DidNot,
    Happened,
    KeyRule,
    ProbeContext,
    Response,
    Sent,
    SyncProbeContext,
    Tenure,
)
from tenure.flow.provider import Allowance
from tests.kit.around import WAYS
from tests.kit.meeting import meet

NOWHERE = "http://127.0.0.1:9"
_ALLOW: tuple[Allowance, ...] = ("plain-http", "private-address")
# Wide open, with a send window that a busy machine keeps.
_WIDE = (Budget(10_000, per=10.0, jitter=2.0),)
_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
stripe = app.provider(
    "stripe", base_url=os.environ.get("KIT_STRIPE", NOWHERE), allow=_ALLOW, budgets=_WIDE
)
crm = app.provider("crm", base_url=os.environ.get("KIT_CRM", NOWHERE), allow=_ALLOW, budgets=_WIDE)
slow = app.provider(
    "slow",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    budgets=[Budget(1, per=1.0)],
)


_RULE = KeyRule(
    where="body",
    name="meta.key",
    form="base64url43",
    max_length=45,
    window=86_400.0,
    honors=("POST /bookings",),
)
# Keys in the three places that are no header.
places = app.provider(
    "places",
    base_url=os.environ.get("KIT_PLACES", NOWHERE),
    allow=_ALLOW,
    budgets=_WIDE,
    keys=[
        _RULE,
        msgspec.structs.replace(_RULE, name="key", form="hex32", honors=("POST /forms",)),
        msgspec.structs.replace(
            _RULE, where="query", name="requestid", form="uuid", honors=("POST /invoices",)
        ),
    ],
)


# The same CRM as one that can be asked what became of a call.
asked = app.provider(
    "asked",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    budgets=_WIDE,
    settle=3.0,
)


def _found(answer: Response, job: object) -> list[dict[str, object]]:
    results = cast("dict[str, list[dict[str, object]]]", answer.json())["results"]
    return [found for found in results if found["job"] == job]


@asked.probe("POST /deals")
async def look_for_deal(ctx: ProbeContext, sent: Sent) -> Happened | DidNot | CannotTell:
    """Looks for the deal by what the request said of its job."""
    way = os.environ.get("KIT_PROBE", "")
    job = json.loads(sent.body)["job"]
    deals = _found(await ctx.http(asked).get("/deals"), job)
    if way == "raise":
        raise ValueError("the CRM speaks in riddles")
    if way == "change":
        await ctx.http(asked).post("/deals", step="again", json={"job": job})
    if way == "cannot":
        return CannotTell(f"{len(deals)} deals look like it")
    if not deals:
        return DidNot()
    return Happened(Response(201, (), json.dumps(deals[0]).encode()))


@asked.probe("POST /notes")
def look_for_note(ctx: SyncProbeContext, sent: Sent) -> Happened | DidNot:
    """As a plain function."""
    notes = _found(ctx.http(asked).get("/notes"), json.loads(sent.body)["job"])
    return Happened() if notes else DidNot()


class Order(msgspec.Struct):
    """What the automations take: a number, and where to meet the test on the way."""

    n: int = 0
    meet: str = ""


def _id(answer: Response) -> str:
    return str(answer.json()["id"])


def weigh(n: int) -> int:
    """A step that takes no time."""
    return n * 2


@app.automation(lane=stripe, backoff=_SOON)
async def charge(ctx: Context, order: Order) -> int:
    """One step and two effects at a provider that honours keys."""
    weight = await ctx.step("weigh", weigh, order.n)
    await ctx.http(stripe).post(
        "/v1/charges", step="charge", data={"job": ctx.job_id, "n": order.n}
    )
    if order.meet:
        await meet(order.meet, ctx.job_id)
    await ctx.http(stripe).post("/v1/refunds", step="refund", data={"job": ctx.job_id, "w": weight})
    return weight


@app.automation(lane=crm, backoff=_SOON)
async def deal(ctx: Context, order: Order) -> int:
    """One step and two effects at a provider that honours none."""
    weight = await ctx.step("weigh", weigh, order.n)
    await ctx.http(crm).post("/deals", step="deal", json={"job": str(ctx.job_id), "n": order.n})
    if order.meet:
        await meet(order.meet, ctx.job_id)
    await ctx.http(crm).post("/notes", step="note", json={"job": str(ctx.job_id), "w": weight})
    return weight


@app.automation(backoff=_SOON)
async def stand(ctx: Context, order: Order) -> int:
    """No call at all: it stands where the test says until it is let go."""
    if order.meet:
        await meet(order.meet, ctx.job_id)
    return await ctx.step("weigh", weigh, order.n)


@app.automation(backoff=_SOON)
async def tangle(ctx: Context, order: Order) -> list[int]:
    """Calls in a gather and in a task group, in a finally and under a bare except."""
    http = ctx.http(slow)
    said: list[int] = []
    try:
        first = await asyncio.gather(
            http.post("/gathered", step="gather-1", json=1),
            http.post("/gathered", step="gather-2", json=2),
        )
        async with asyncio.TaskGroup() as group:
            grouped = [
                group.create_task(http.post("/grouped", step=f"group-{n}", json=n)) for n in (1, 2)
            ]
        said += [answer.status for answer in first]
        said += [task.result().status for task in grouped]
        try:
            said.append((await http.post("/guarded", step="guarded", json=1)).status)
        except:  # noqa: E722 - what authors write
            said.append(-1)
    finally:
        said.append((await http.post("/last", step="last", json=1)).status)
    return said


@app.automation(backoff=_SOON)
async def greedy(ctx: Context, order: Order) -> int:
    """An author who catches everything, around a call that must wait."""
    with contextlib.suppress(BaseException):
        await ctx.http(slow).post("/first", step="first", json=order.n)
    with contextlib.suppress(BaseException):
        await ctx.http(slow).post("/second", step="second", json=order.n)
    return order.n


@app.automation(backoff=_SOON)
async def hibernate(ctx: Context, order: Order) -> str:
    """Sleeps ninety days between two effects, and remembers what came before."""
    answer = await ctx.http(stripe).post("/v1/charges", step="before", data={"n": order.n})
    await ctx.sleep(90 * 86_400.0)
    await ctx.http(stripe).post("/v1/refunds", step="after", data={"charge": _id(answer)})
    return _id(answer)


@app.automation(backoff=_SOON)
async def far(ctx: Context, order: Order) -> int:
    """One effect behind a budget of one a second."""
    return (await ctx.http(slow).post("/far", step="far", json=order.n)).status


@app.automation(lane=stripe, backoff=_SOON)
async def fickle(ctx: Context, order: Order) -> int:
    """Builds another body in every process."""
    body = {"n": order.n, "pid": os.getpid()}
    return (await ctx.http(stripe).post("/v1/charges", step="charge", data=body)).status


@app.automation(lane=stripe, backoff=_SOON)
async def mended(ctx: Context, order: Order) -> int:
    """Its first effect is built as the environment says: code that was mended between two runs."""
    http = ctx.http(stripe)
    amount = os.environ.get("KIT_AMOUNT", "0")
    await http.post("/v1/customers", step="customer", data={"n": order.n})
    return (await http.post("/v1/charges", step="charge", data={"amount": amount})).status


@app.automation(backoff=_SOON)
async def probed(ctx: Context, order: Order) -> str:
    """Two effects at a provider that can be asked what became of them."""
    http = ctx.http(asked)
    deal = await http.post("/deals", step="deal", json={"job": str(ctx.job_id), "n": order.n})
    await http.post("/notes", step="note", json={"job": str(ctx.job_id), "deal": _id(deal)})
    return _id(deal)


@app.automation(backoff=_SOON)
async def place(ctx: Context, where: str) -> int:
    """One effect whose key stands in the body, in a form or in the query."""
    http = ctx.http(places)
    if where == "forms":
        return (await http.post("/forms", step="put", data={"n": 1})).status
    if where == "invoices":
        return (await http.post("/invoices?draft=1", step="put", json={"n": 1})).status
    body = {"n": 1.10, "meta": {"by": "ann"}}
    return (await http.post("/bookings", step="put", json=body)).status


@app.automation(lane=crm, backoff=_SOON)
async def survey(ctx: Context, order: Order) -> list[str]:
    """Reads, writes, reads what it wrote, and writes about that: what dry runs must get through."""
    http = ctx.http(crm)
    listed = await http.get("/deals")
    made = _id(await http.post("/deals", step="make", json={"n": order.n}))
    await http.get(f"/deals/{made}", step="look")
    if ctx.decide("big", order.n > 10):
        await http.patch(f"/deals/{made}", step="mark", json={"big": True})
    await http.delete("/deals/9", step="drop")
    return [str(listed.status), made]


@app.automation(backoff=_SOON)
async def around(ctx: Context, way: str) -> str:
    """An author who goes around the gate."""
    return await WAYS[way](crm.base_url)


@app.automation(backoff=_SOON)
async def nap(ctx: Context, order: Order) -> int:
    """Sleeps a day."""
    await ctx.sleep(86_400.0)
    return order.n


@app.automation(backoff=_SOON)
async def doze(ctx: Context, seconds: float) -> float:
    """Sleeps as long as it is told."""
    await ctx.sleep(seconds)
    return seconds


@app.automation(backoff=_SOON)
async def recall(ctx: Context, order: Order) -> list[str]:
    """Says what its context gives it, at each run, and stands before it goes on."""
    given = [
        ctx.now().isoformat(),
        str(ctx.uuid()),
        str(ctx.uuid()),
        str(ctx.random()),
        ctx.now().isoformat(),
        str(await ctx.step("pid", os.getpid)),
        str(ctx.decide("first", os.getpid() > 0)),
    ]
    await ctx.step("weighed", weigh, os.getpid())
    await meet("given", json.dumps(given))
    return given


@app.automation(lane=crm, backoff=_SOON)
async def look(ctx: Context, order: Order) -> list[int]:
    """Two reads: one with a name, which is remembered, and one without."""
    http = ctx.http(crm)
    named = await http.get("/named", step="look", accept=[404])
    nameless = await http.get("/nameless", accept=[404])
    await ctx.sleep(60.0)
    return [named.status, nameless.status]
