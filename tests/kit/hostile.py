"""One automation that puts what it is given wherever Tenure stores something of an author's.

What it is to put there comes as numbers, so that an input can carry what no input may hold.
"""

from __future__ import annotations

import os

import msgspec

from tenure import Context, Defer, Fail, Hold, Tenure
from tenure.flow.provider import Allowance
from tests.kit.automations import NOWHERE

_ALLOW: tuple[Allowance, ...] = ("plain-http", "private-address")

app = Tenure()
crm = app.provider("crm", base_url=os.environ.get("KIT_CRM", NOWHERE), allow=_ALLOW)


class Task(msgspec.Struct):
    """Where to put it, and what: the numbers of its letters, and how often over."""

    place: str
    letters: list[int]
    times: int = 1


class Odd(Exception):
    """An error whose words are the task's."""


async def _step_name(ctx: Context, text: str) -> object:
    return await ctx.step(text, len, text)


async def _step_result(ctx: Context, text: str) -> object:
    return await ctx.step("odd", str, text)


async def _step_argument(ctx: Context, text: str) -> object:
    return await ctx.step("odd", len, text)


async def _decision(ctx: Context, text: str) -> object:
    return ctx.decide(text, len(text) > 3)


async def _result(ctx: Context, text: str) -> object:
    del ctx
    return {text: [text, {"again": text}]}


async def _error(ctx: Context, text: str) -> object:
    del ctx
    raise Odd(text)


async def _chained(ctx: Context, text: str) -> object:
    try:
        return await _error(ctx, text)
    except Odd as odd:
        raise Fail(text) from odd


async def _reason(ctx: Context, text: str) -> object:
    del ctx
    raise Fail(text)


async def _question(ctx: Context, text: str) -> object:
    del ctx
    raise Hold(text)


async def _deferral(ctx: Context, text: str) -> object:
    del ctx
    raise Defer(text, after=3600.0)


async def _log_line(ctx: Context, text: str) -> object:
    await ctx.log(text)
    return None


async def _log_field(ctx: Context, text: str) -> object:
    await ctx.log("odd", said=text, **{f"x{text}": [text]})
    return None


async def _body(ctx: Context, text: str) -> object:
    raw = text.encode("utf-8", "surrogatepass")
    return (await ctx.http(crm).post("/notes", step="note", content=raw)).status


async def _json_body(ctx: Context, text: str) -> object:
    return (await ctx.http(crm).post("/notes", step="note", json={"said": text})).status


async def _header(ctx: Context, text: str) -> object:
    return (await ctx.http(crm).post("/notes", step="n", json=1, headers={"x-odd": text})).status


async def _url(ctx: Context, text: str) -> object:
    return (await ctx.http(crm).post("/notes", step="n", json=1, params={"q": text})).status


async def _path(ctx: Context, text: str) -> object:
    return (await ctx.http(crm).get("/notes/" + text)).status


PLACES = {
    place.__name__.lstrip("_"): place
    for place in (
        *(_step_name, _step_result, _step_argument, _decision, _result, _error, _chained, _reason),
        *(_question, _deferral, _log_line, _log_field, _body, _json_body, _header, _url, _path),
    )
}


@app.automation(max_attempts=1)
async def odd(ctx: Context, task: Task) -> object:
    """Put it there."""
    return await PLACES[task.place](ctx, "".join(map(chr, task.letters)) * task.times)


@app.automation
async def plain(ctx: Context, n: int) -> int:
    """Somebody beside it."""
    return await ctx.step("weigh", abs, n)
