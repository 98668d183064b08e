"""What a context asks of the process it runs in: the seam between an automation and its worker.

Implemented by the worker over the store, and by the test kit.  Promises of whoever implements it:
``ask`` is one answer of the gate under the job's claim; what is recorded is committed when the call
returns; a database that is away is waited for, not reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

import msgspec

from tenure.base.budget import Budget
from tenure.base.model import Answered, Asked, Outcome, Remembered, Step


class Pass(msgspec.Struct, frozen=True):
    """The gate's answer with what the carrier needs to keep to it, on this process's stopwatch."""

    answer: Answered
    admitted: float
    deadline: float


class Taken(msgspec.Struct, frozen=True):
    """A budget that a call draws on: its row, its cost, its name for people."""

    id: int
    cost: int
    name: str
    send_window: float


class Desk(Protocol):
    """The worker's side of one process, shared by its jobs."""

    async def ask(self, call: Asked, takes: Sequence[Taken], reserve: float) -> Pass:
        """Put one call to the gate."""
        ...

    async def outcome(self, outcome: Outcome) -> bool:
        """Record what came of a send; False where the claim was over and it went in as evidence."""
        ...

    async def closed(
        self, call: Asked, takes: Sequence[Taken], age: float, outcome: Outcome
    ) -> bool:
        """Record a safe or suppressed call that has ended; False where the claim was over."""
        ...

    async def remember(self, job: UUID, fence: int, steps: Sequence[Step]) -> bool:
        """Remember steps; False where the claim was over."""
        ...

    async def journal(self, job: UUID, fence: int, kind: str, said: str, detail: object) -> None:
        """Append to a job's story, as far as its claim is current."""
        ...

    async def budget(self, provider: str, account: str, budget: Budget, scope: str) -> int:
        """The row of a budget for one scope, made when first needed."""
        ...

    async def recall(self, job: UUID) -> Remembered:
        """A job's memory as it stands now."""
        ...

    async def close_budgets(self, budgets: Sequence[int], seconds: float, by: str) -> None:
        """Close budgets for all workers."""
        ...
