"""Writing down what happened under a claim: steps, outcomes, safe calls; and evidence.

Called by the worker's recording thread.  Promises: everything but evidence holds the job's row
while it writes, so a worker whose claim is over writes nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from uuid import UUID

import msgspec

from tenure.base.model import Asked, Outcome, Step
from tenure.store.database import Database


class Kept(msgspec.Struct, frozen=True):
    """A step to be remembered under a claim."""

    job: UUID
    fence: int
    step: Step


class Closed(msgspec.Struct, frozen=True):
    """A safe or suppressed call that has ended; ``age`` in seconds since it was admitted."""

    call: Asked
    budgets: Sequence[tuple[int, int]]
    age: float
    outcome: Outcome


def steps(database: Database, worker: UUID, told: Sequence[Kept]) -> set[tuple[UUID, str]]:
    """Remember steps; tells which (job, name) were under a current claim."""
    batch = sorted(told, key=lambda kept: kept.job)
    rows = database.run(
        "records/steps",
        {
            "worker": worker,
            "ids": [kept.job for kept in batch],
            "fences": [kept.fence for kept in batch],
            "names": [kept.step.name for kept in batch],
            "kinds": [kept.step.kind for kept in batch],
            "arguments": [kept.step.arguments for kept in batch],
            "results": [kept.step.result for kept in batch],
        },
    )
    return {(row["job_id"], row["name"]) for row in rows}


def outcomes(database: Database, worker: UUID, told: Sequence[Outcome]) -> set[UUID]:
    """Record what came of sends; tells which were under a current claim."""
    batch = sorted(told, key=lambda outcome: outcome.job)
    rows = database.run(
        "records/outcomes",
        {
            **_seen(worker, batch),
            "fences": [outcome.fence for outcome in batch],
            "steps": [outcome.step for outcome in batch],
            "sends": [outcome.send for outcome in batch],
            "tellers": [outcome.told_by for outcome in batch],
        },
    )
    return {row["send_id"] for row in rows}


def testify(database: Database, worker: UUID, told: Sequence[Outcome]) -> set[UUID]:
    """Put down what was seen of sends whose claims were over; tells which were new."""
    batch = sorted(told, key=lambda outcome: outcome.job)
    return {row["send_id"] for row in database.run("records/testify", _seen(worker, batch))}


def calls(database: Database, worker: UUID, told: Sequence[Closed]) -> set[UUID]:
    """Record safe and suppressed calls; tells which were under a current claim."""
    batch = sorted(told, key=lambda closed: closed.call.job)
    lines = msgspec.json.encode([_line(closed) for closed in batch]).decode()
    rows = database.run("records/calls", {"worker": worker, "calls": lines})
    return {row["send_id"] for row in rows}


def _seen(worker: UUID, batch: Sequence[Outcome]) -> dict[str, object]:
    return {
        "worker": worker,
        "ids": [outcome.job for outcome in batch],
        "send_ids": [outcome.send_id for outcome in batch],
        "states": [outcome.state for outcome in batch],
        "statuses": [outcome.status for outcome in batch],
        "answer_headers": [outcome.answer_headers for outcome in batch],
        "answers": [outcome.answer for outcome in batch],
        "whys": [outcome.why for outcome in batch],
        "stored": [outcome.stored for outcome in batch],
    }


def _line(closed: Closed) -> dict[str, object]:
    call, outcome = closed.call, closed.outcome
    return {
        "job": call.job,
        "fence": call.fence,
        "step": call.step,
        "send": call.send,
        "send_id": call.send_id,
        "state": outcome.state,
        "provider": call.provider,
        "account": call.account,
        "operation": call.operation,
        "safe": call.safe,
        "method": call.method,
        "url": call.url,
        "headers": msgspec.Raw(call.headers.encode()),
        "body": None if call.body is None else base64.b64encode(call.body).decode(),
        "digest": call.digest.hex(),
        "key": call.key,
        "wire_key": call.wire_key,
        "policy": call.policy,
        "budgets": closed.budgets,
        "age": closed.age,
        "status": outcome.status,
        "answer_headers": msgspec.Raw((outcome.answer_headers or "null").encode()),
        "answer": outcome.answer and base64.b64encode(outcome.answer).decode(),
        "why": outcome.why,
    }


class Entry(msgspec.Struct, frozen=True):
    """One line of a job's story; ``detail`` is JSON text."""

    job: UUID
    fence: int
    kind: str
    said: str
    detail: str | None = None


def journal(database: Database, worker: UUID, told: Sequence[Entry]) -> set[UUID]:
    """Append to the stories of jobs; tells which were under a current claim."""
    batch = sorted(told, key=lambda entry: entry.job)
    rows = database.run(
        "records/journal",
        {
            "worker": worker,
            "ids": [entry.job for entry in batch],
            "fences": [entry.fence for entry in batch],
            "kinds": [entry.kind for entry in batch],
            "said": [entry.said for entry in batch],
            "details": [entry.detail for entry in batch],
        },
    )
    return {row["job_id"] for row in rows}
