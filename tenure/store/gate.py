"""The gate: one round trip that admits calls and writes what will leave before it may.

Called by the worker's gate threads.  Promises: the claim is current and its lease unexpired, every
budget has room, and the intent is committed, or nothing may be sent.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from uuid import UUID

import msgspec

from tenure.base.model import Answered, Asked
from tenure.store.database import Database


def ask(
    database: Database,
    *,
    worker: UUID,
    lease: float,
    takes: Sequence[tuple[int, int]],
    reserve: float,
    calls: Sequence[Asked],
) -> list[Answered]:
    """Ask for calls that all take the same ``(budget, cost)`` pairs; answers in their order.

    ``reserve``: the share of each budget these calls leave to others.
    """
    rows = database.run(
        "gate/gate",
        {
            "worker": worker,
            "lease": lease,
            "budgets": [budget for budget, _ in takes],
            "costs": [cost for _, cost in takes],
            "reserve": reserve,
            "calls": msgspec.json.encode(
                [_line(n, call, takes) for n, call in enumerate(calls)]
            ).decode(),
        },
    )
    answers = {
        row["n"]: Answered(
            verdict=row["verdict"],
            since_entry=row["since_entry"],
            admitted_at=row["admitted_at"],
            wait=row["wait"],
            budget=row["budget"],
        )
        for row in rows
    }
    return [answers[n] for n in range(len(calls))]


def _line(n: int, call: Asked, takes: Sequence[tuple[int, int]]) -> dict[str, object]:
    return {
        "n": n,
        "job": call.job,
        "fence": call.fence,
        "step": call.step,
        "send": call.send,
        "send_id": call.send_id,
        "safe": call.safe,
        "provider": call.provider,
        "account": call.account,
        "operation": call.operation,
        "method": call.method,
        "url": call.url,
        "headers": msgspec.Raw(call.headers.encode()),
        "body": None if call.body is None else base64.b64encode(call.body).decode(),
        "digest": call.digest.hex(),
        "key": call.key,
        "epoch": call.epoch,
        "wire_key": call.wire_key,
        "policy": call.policy,
        "budgets": takes,
        "send_window": call.send_window,
        "timeout": call.timeout,
    }
