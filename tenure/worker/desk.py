"""The desk of a worker process: what its runs ask of the database, batched.

Implements ``tenure.flow.desk.Desk``.  Promises: an admission is dated, on this process's stopwatch,
not later than the database gave it; what a run saw of a send is recorded, as an outcome or, where
its claim is over, as evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import msgspec

from tenure.base import budget as budgets
from tenure.base import clock, json, text
from tenure.base.budget import Budget
from tenure.base.model import Asked, Finish, HandBack, Outcome, Remembered, Step
from tenure.flow.desk import Pass, Taken
from tenure.store import budgets as budget_rows
from tenure.store import ends, gate, memory, records, strands
from tenure.store.database import Database
from tenure.worker.batch import Batches

_SAID_LIMIT = 10_000
_DETAIL_LIMIT = 100_000
_GATE_THREADS = 4


class _Ask(msgspec.Struct, frozen=True):
    call: Asked
    takes: tuple[tuple[int, int], ...]
    reserve: float
    lease: float


class _BudgetOf(msgspec.Struct, frozen=True):
    provider: str
    account: str
    budget: Budget
    scope: str


class _Closing(msgspec.Struct, frozen=True):
    budgets: tuple[int, ...]
    seconds: float
    by: str


class _Parking(msgspec.Struct, frozen=True):
    automation: str
    lane: str
    live: bool
    seconds: float
    by: str


class WorkerDesk:
    """One process's desk."""

    def __init__(
        self,
        worker: UUID,
        url: str,
        *,
        margin: Callable[[float], float],
        pooled: bool | None = None,
    ) -> None:
        """``worker`` names this process; ``margin``: of a lease, both in seconds."""
        self._worker = worker
        self._margin = margin
        self._budgets: dict[tuple[str, str, str, str], int] = {}
        self._gate: Batches[_Ask, Pass] = Batches(
            "gate",
            url,
            self._ask,
            pooled=pooled,
            key=lambda asked: (asked.takes, asked.reserve, asked.lease),
            threads=_GATE_THREADS,
        )
        self._outcomes: Batches[Outcome, bool] = Batches(
            "outcomes", url, self._record, pooled=pooled
        )
        self._others: Batches[object, object] = Batches(
            "records", url, self._other, pooled=pooled, key=type
        )
        self._ends: Batches[Finish | HandBack, str | bool] = Batches(
            "ends", url, self._end, pooled=pooled, key=type
        )

    def stop(self, seconds: float) -> None:
        """Write what is still to be written, for at most so many seconds a kind."""
        for batches in (self._gate, self._outcomes, self._others, self._ends):
            batches.stop(seconds)

    async def ask(self, call: Asked, takes: Sequence[Taken], reserve: float) -> Pass:
        """Put one call to the gate."""
        pairs = tuple((take.id, take.cost) for take in takes)
        return await self._gate.put(_Ask(call, pairs, reserve, call.lease))

    def _ask(self, database: Database, asked: list[_Ask]) -> list[Pass]:
        database.connect()
        before = clock.now()
        lease = asked[0].lease
        answers = gate.ask(
            database,
            worker=self._worker,
            lease=lease,
            takes=asked[0].takes,
            reserve=asked[0].reserve,
            calls=[ask.call for ask in asked],
        )
        deadline = before + lease - self._margin(lease)
        return [Pass(answer, before + answer.since_entry, deadline) for answer in answers]

    async def outcome(self, outcome: Outcome) -> bool:
        """Record what came of a send; False where it went in as evidence."""
        return await self._outcomes.put(outcome)

    def _record(self, database: Database, told: list[Outcome]) -> list[bool]:
        current = records.outcomes(database, self._worker, told)
        late = [outcome for outcome in told if outcome.send_id not in current]
        if late:
            records.testify(database, self._worker, late)
        return [outcome.send_id in current for outcome in told]

    async def closed(
        self, call: Asked, takes: Sequence[Taken], age: float, outcome: Outcome
    ) -> bool:
        """Record a safe or suppressed call that has ended."""
        pairs = [(take.id, take.cost) for take in takes]
        return bool(await self._others.put(records.Closed(call, pairs, age, outcome)))

    async def remember(self, job: UUID, fence: int, steps: Sequence[Step]) -> bool:
        """Remember steps, in their order; False where the claim was over."""
        kept = tuple(records.Kept(job, fence, step) for step in steps)
        return bool(await self._others.put(_Kept(kept)))

    async def journal(self, job: UUID, fence: int, kind: str, said: str, detail: object) -> None:
        """Append to a job's story."""
        shown = None
        if detail is not None:
            shown = text.storable_json(json.encode(detail), _DETAIL_LIMIT).decode()
        line = text.storable(said, _SAID_LIMIT)
        await self._others.put(records.Entry(job, fence, kind, line, shown))

    async def recall(self, job: UUID) -> Remembered:
        """A job's memory as it stands now."""
        found = await self._others.put(job)
        return found if isinstance(found, Remembered) else Remembered()

    async def budget(self, provider: str, account: str, budget: Budget, scope: str) -> int:
        """The row of a budget for one scope; looked up once a process."""
        place = (provider, account, budget.name, scope)
        if place not in self._budgets:
            found = await self._others.put(_BudgetOf(provider, account, budget, scope))
            self._budgets[place] = found if isinstance(found, int) else 0
        return self._budgets[place]

    async def close_budgets(self, budgets: Sequence[int], seconds: float, by: str) -> None:
        """Close budgets for all workers."""
        await self._others.put(_Closing(tuple(budgets), seconds, by))

    async def park(self, *, automation: str, lane: str, live: bool, seconds: float, by: str) -> int:
        """The strand in which a job waits for a lane's budget."""
        strand = await self._others.put(_Parking(automation, lane, live, seconds, by))
        return strand if isinstance(strand, int) else 0

    async def end(self, end: Finish | HandBack) -> str | bool:
        """End a claim: whether it was current, or why the end could not be stored."""
        return await self._ends.put(end)

    def _end(self, database: Database, told: list[Finish | HandBack]) -> list[str | bool]:
        finishes = [end for end in told if isinstance(end, Finish)]
        backs = [end for end in told if isinstance(end, HandBack)]
        ended = (
            ends.finish(database, self._worker, finishes)
            if finishes
            else ends.hand_back(database, self._worker, backs)
        )
        return [ended.unstorable.get(end.job) or end.job in ended.done for end in told]

    def _other(self, database: Database, told: list[object]) -> list[object]:
        """Items of one type; each type is a batch of its own."""
        match told[0]:
            case records.Closed():
                closed = [item for item in told if isinstance(item, records.Closed)]
                done = records.calls(database, self._worker, closed)
                return [item.call.send_id in done for item in closed]
            case _Kept():
                return self._keep(database, [item for item in told if isinstance(item, _Kept)])
            case records.Entry():
                lines = [item for item in told if isinstance(item, records.Entry)]
                written = records.journal(database, self._worker, lines)
                return [item.job in written for item in lines]
            case UUID():
                jobs = [item for item in told if isinstance(item, UUID)]
                found = memory.load(database, jobs)
                return [found[job] for job in jobs]
            case _:
                return [self._single(database, item) for item in told]

    def _keep(self, database: Database, told: list[_Kept]) -> list[object]:
        kept = [step for item in told for step in item.steps]
        done = records.steps(database, self._worker, kept)
        return [all((step.job, step.step.name) in done for step in item.steps) for item in told]

    def _single(self, database: Database, item: object) -> object:
        match item:
            case _BudgetOf(provider, account, budget, scope):
                return budget_rows.ensure(
                    database,
                    provider=provider,
                    account=account,
                    name=budget.name,
                    scope=scope,
                    units=budgets.units(budget),
                    counted=budgets.window(budget),
                    declared=json.encode(budget).decode(),
                )
            case _Closing(rows, seconds, by):
                return budget_rows.close(database, rows, seconds=seconds, by=text.storable(by, 500))
            case _Parking(automation, lane, live, seconds, by):
                return strands.park(
                    database, automation=automation, lane=lane, live=live, seconds=seconds, by=by
                )
            case _:
                raise TypeError(type(item).__name__)


class _Kept(msgspec.Struct, frozen=True):
    steps: tuple[records.Kept, ...]
