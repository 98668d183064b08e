"""The automations of ``tests.worker.suspending`` as plain functions, under the same names."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tenure import Backoff, Budget, SyncContext, Tenure
from tenure.base.errors import LeaseLost
from tests.kit.meeting import meet_blocking
from tests.worker import suspending

_SOON = Backoff(base=0.05, cap=0.1)

app = Tenure()
wide = app.provider(
    "crm",
    base_url=suspending.wide.base_url,
    allow=("plain-http", "private-address"),
    budgets=[Budget(10_000, per=10.0, jitter=2.0)],
)
narrow = app.provider(
    "narrow",
    base_url=suspending.wide.base_url,
    allow=("plain-http", "private-address"),
    budgets=[Budget(1, per=3600.0)],
)


@app.automation(backoff=_SOON)
def beside(ctx: SyncContext) -> list[int]:
    """One of two calls at once must wait for its budget while the other is under way."""
    ctx.http(narrow).post("/first", step="first", json=1)
    with ThreadPoolExecutor(2) as threads:
        asked = [
            threads.submit(ctx.http(wide).post, "/held", step="held", json=2),
            threads.submit(ctx.http(narrow).post, "/second", step="second", json=3),
        ]
    return [future.result().status for future in asked]


@app.automation(backoff=_SOON)
def swallowing(ctx: SyncContext, path: str) -> int:
    """An author who catches everything around a call that must wait, and goes on with a step."""
    ctx.http(narrow).post("/first", step="first", json=1)
    with contextlib.suppress(BaseException):
        ctx.http(narrow).post("/second", step="second", json=2)
    return ctx.step("write", _write, path, "went on")


@app.automation(backoff=_SOON)
def leaving(ctx: SyncContext, path: str) -> str:
    """An author who starts a thread and forgets it."""
    begun = threading.Event()
    thread = threading.Thread(target=_linger, args=(ctx, path, begun), daemon=True)
    thread.start()
    begun.wait()
    return "Task" if thread.daemon else ""


def _write(path: str, words: str) -> int:
    return Path(path).write_text(words)


def _linger(ctx: SyncContext, path: str, begun: threading.Event) -> None:
    n = 0
    try:
        while True:
            ctx.step(f"linger-{n}", len, "on")
            begun.set()
            n += 1
    except LeaseLost:
        _write(path, "cancelled")


@app.automation(backoff=_SOON)
def clinging(ctx: SyncContext, place: str) -> int:
    """Stands where it is told: it begins once for each arrival."""
    meet_blocking(place, ctx.job_id)
    return 1
