"""Automations that go wrong, each in its own way, and the bystanders they must not harm."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
import threading
from uuid import UUID

import msgspec
import pydantic

from tenure import (
    Backoff,
    Bearer,
    Budget,
    Context,
    Defer,
    Fail,
    Hold,
    Retry,
    Tenure,
    env,
)
from tenure.flow.provider import Allowance
from tests.kit.automations import NOWHERE
from tests.kit.meeting import begun, meet, meet_blocking

_ALLOW: tuple[Allowance, ...] = ("plain-http", "private-address")
_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
crm = app.provider(
    "crm",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)
locked = app.provider(
    "locked",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=_ALLOW,
    auth=Bearer(env("KIT_SECRET_THAT_NOBODY_SET")),
)


class Line(msgspec.Struct):
    """A part of an order, msgspec's way."""

    id: int
    amount: float


class Basket(msgspec.Struct):
    """An order, msgspec's way."""

    lines: list[Line]


class Part(pydantic.BaseModel):
    """A part of an order, pydantic's way."""

    id: int
    amount: float


class Lead(pydantic.BaseModel):
    """An order, pydantic's way."""

    name: str
    lines: list[Part]


@dataclasses.dataclass
class Note:
    """An order, the standard library's way."""

    text: str
    stars: int = 0


@app.automation(backoff=_SOON)
async def by_struct(ctx: Context, basket: Basket) -> float:
    """Takes a msgspec struct."""
    return sum(line.amount for line in basket.lines)


@app.automation(backoff=_SOON)
async def by_model(ctx: Context, lead: Lead) -> str:
    """Takes a pydantic model."""
    return lead.name.upper() + str(lead.lines[0].id)


@app.automation(backoff=_SOON)
async def by_dataclass(ctx: Context, note: Note) -> Note:
    """Takes a dataclass, and gives one."""
    return Note(note.text, note.stars + 1)


class Unprintable(Exception):
    """An error whose words cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


async def _deep(n: int) -> int:
    return await _deep(n + 1)


@app.automation(backoff=_SOON, max_attempts=2)
async def odd(ctx: Context, way: str) -> object:
    """Ends in the way it is told."""
    if way in RESULTS:
        return RESULTS[way]
    return await _raised(ctx, way)


RESULTS: dict[str, object] = {
    "a result with NUL": "a\0b",
    "a result with half a letter": "a\ud800b",
    "a result that is no number": float("nan"),
    "a result with a very long number": 10**40,
    "a result of two megabytes": "x" * 2_000_000,
    "a result that JSON cannot hold": object(),
}


async def _raised(ctx: Context, way: str) -> object:
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
            return await ctx.step("leave", sys.exit, 3)
        case "endless recursion":
            return await _deep(0)
        case "a cancelled task":
            raise asyncio.CancelledError
        case "an interrupt":
            raise KeyboardInterrupt
        case _:
            return await _misused(ctx, way)


async def _misused(ctx: Context, way: str) -> object:
    match way:
        case "a step name used twice":
            await ctx.step("same", len, "a")
            return await ctx.step("same", len, "b")
        case "a step name with a line feed":
            return await ctx.step("two\nlines", len, "a")
        case "an effect without a name":
            return await ctx.http(crm).post("/deals", step=None, json={})
        case "a host of somebody else":
            return await ctx.http(crm).post("https://api.stripe.com/v1/charges", step="s", json={})
        case "a secret that is missing":
            return await ctx.http(locked).post("/deals", step="s", json={})
        case "a provider nobody declared":
            return await ctx.http("crn").post("/deals", step="s", json={})
        case "a step whose result JSON cannot hold":
            return await ctx.step("odd", object)
        case "a task that nobody awaits":
            return [asyncio.create_task(asyncio.Event().wait()) is None]
        case _:
            raise LookupError(way)


@app.automation(backoff=_SOON)
async def bystander(ctx: Context, place: str) -> int:
    """Does no harm to anybody."""
    if place:
        await meet(place, ctx.job_id)
    return await ctx.step("count", len, "four")


@app.automation(backoff=_SOON)
async def killer(ctx: Context, place: str) -> None:
    """Ends its whole process without a word."""
    if place:
        await meet(place, ctx.job_id)
    os.kill(os.getpid(), signal.SIGKILL)


@app.automation(backoff=_SOON)
async def blocker(ctx: Context, place: str) -> int:
    """Blocks the event loop, and with it every other job of its process."""
    meet_blocking(place, ctx.job_id)
    return await ctx.step("count", len, "four")


@app.automation(backoff=_SOON)
async def locker(ctx: Context, place: str) -> int:
    """Blocks the event loop with a lock that a thread lets go when the test says so."""
    lock = threading.Lock()
    lock.acquire()
    threading.Thread(target=_unlock, args=(lock, place, ctx.job_id)).start()
    return await _locked(lock)


async def _locked(lock: threading.Lock) -> int:
    with lock:
        return 4


def _unlock(lock: threading.Lock, place: str, brought: object) -> None:
    meet_blocking(place, brought)
    lock.release()


@app.automation(backoff=_SOON)
async def spinner(ctx: Context, place: str) -> int:
    """Computes for ever, and never awaits anything again."""
    with begun(place, ctx.job_id):
        n = 0
        while True:
            n += 1


@app.automation(backoff=_SOON)
async def stubborn(ctx: Context, place: str) -> str:
    """Goes on whatever it is told, until the test lets it."""
    while True:
        try:
            await meet(place, ctx.job_id)
        except asyncio.CancelledError:
            continue
        return "let go"


@app.automation(backoff=_SOON, max_attempts=3)
async def ends(ctx: Context, way: str) -> str:
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
            await ctx.sleep(86_400.0)
        case "grouped fail":
            async with asyncio.TaskGroup() as group:
                group.create_task(_said(Fail("in a group")))
    return way


async def _said(signal: Exception) -> None:
    raise signal


_SEEN: set[UUID] = set()


def _once(ctx: Context, signal: Exception) -> None:
    """Raise at the first run in this process, and at no later one."""
    if ctx.job_id not in _SEEN:
        _SEEN.add(ctx.job_id)
        raise signal
