"""Plain functions as handlers, which look about them; loaded by real workers."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tenure import Backoff, Budget, Context, SyncContext, Tenure, current
from tenure.base.errors import TenureError
from tests.kit.automations import NOWHERE
from tests.kit.meeting import meet_blocking

_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
crm = app.provider(
    "crm",
    base_url=os.environ.get("KIT_CRM", NOWHERE),
    allow=("plain-http", "private-address"),
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)


def _thread() -> str:
    return threading.current_thread().name


def _told() -> str:
    """Where this runs, and for which job."""
    return f"{_thread()} for {current(SyncContext).job_id}"


@app.automation(backoff=_SOON)
def places(ctx: SyncContext) -> list[str]:
    """Says in which threads it and its steps run, and which context is found there."""
    own = threading.Thread(target=lambda: found.append(ctx.step("own", _thread)), name="own thread")
    found = [_thread(), ctx.step("told", _told), str(current(SyncContext) is ctx)]
    own.start()
    own.join()
    return found


@app.automation(backoff=_SOON, max_attempts=1)
def traced(ctx: SyncContext) -> None:
    """Fails in a step, three functions deep."""
    _through(ctx)


def _through(ctx: SyncContext) -> int:
    return ctx.step("broken", _broken, 0)


def _broken(n: int) -> int:
    return 1 // n


@app.automation(backoff=_SOON)
def crowd(ctx: SyncContext, size: int) -> list[str]:
    """Asks for one step name from many threads at once: one of them has it."""
    with ThreadPoolExecutor(size) as threads:
        asked = [threads.submit(ctx.step, "one", len, "four") for _ in range(size)]
    return sorted(type(future.exception()).__name__ for future in asked)


async def _async() -> int:
    return 1


@app.automation(backoff=_SOON, max_attempts=1)
def misused(ctx: SyncContext, way: str) -> object:
    """Mixes the two kinds up."""
    match way:
        case "an async step":
            return ctx.step("async", _async)
        case "a step that gives a coroutine":
            return ctx.step("given", lambda: _async())  # noqa: PLW0108 - a plain function is the point
        case "a coroutine returned":
            return _async()
        case _:
            return _kind()


def _kind() -> str:
    return type(current(Context)).__name__


@app.automation(backoff=_SOON)
async def inside(ctx: Context) -> str:
    """An async handler, in which a ``SyncContext`` is not to be had."""
    try:
        return type(current(SyncContext)).__name__
    except TenureError as error:
        return await asyncio.to_thread(str, error)


@app.automation(backoff=_SOON)
def computing(ctx: SyncContext, place: str) -> str:
    """Computes, deaf to everything, and then wants to act; says what became of it in a file."""
    meet_blocking(place, ctx.job_id)
    try:
        ctx.http(crm).post("/late", step="late", json=1)
    except BaseException as error:
        Path(os.environ["KIT_SAID"]).write_text("".join(traceback.format_exception(error)))
        raise
    return "acted"


@app.automation(backoff=_SOON)
def unwound(ctx: SyncContext) -> None:
    """Waits for its own call, and leaves a trace of how it was unwound."""
    said = Path(os.environ["KIT_SAID"])
    try:
        ctx.http(crm).post("/held", step="held", json=1)
    except BaseException as error:
        said.write_text(f"{type(error).__name__} ")
        raise
    finally:
        said.write_text(f"{said.read_text()}finally")


@app.automation(timeout=0.5, max_attempts=1)
def late(ctx: SyncContext, place: str) -> str:
    """Computes beyond its time, and then wants to act."""
    meet_blocking(place, ctx.job_id)
    try:
        ctx.http(crm).post("/late", step="late", json=1)
    except BaseException as error:
        meet_blocking("refused", type(error).__name__)
        raise
    return "acted"


@app.automation(timeout=0.5, max_attempts=1)
def overdue(ctx: SyncContext) -> None:
    """Waits beyond its time for an answer."""
    try:
        ctx.http(crm).post("/held", step="held", json=1)
    except BaseException as error:
        meet_blocking("unwound", type(error).__name__)
        raise


@app.automation(backoff=_SOON)
def deaf(ctx: SyncContext, place: str) -> int:
    """Stands for ever where nobody can reach it."""
    meet_blocking(place, ctx.job_id)
    return 1


@app.automation(backoff=_SOON)
def quick(ctx: SyncContext, n: int) -> list[object]:
    """Takes no time; says its thread and how many there are."""
    return [threading.get_ident(), sum("idle" in t.name for t in threading.enumerate())]
