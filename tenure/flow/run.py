"""One run of one job: what it remembers, what it has under way, and whether it must unwind.

Shared by a job's context and its calls, driven by the worker.  Promises: once a run is suspended,
whatever is asked of it raises ``Suspend`` again; it is suspended only when its calls in flight have
settled; a value is on record before anything that could carry it may leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Literal, NoReturn, TypeVar
from uuid import UUID

import msgspec

from tenure.base import clock, durations
from tenure.base.errors import DuplicateStep, LeaseLost, StepError
from tenure.base.keys import check_step_name
from tenure.base.model import Job, Remembered, Step
from tenure.flow.desk import Desk
from tenure.flow.signals import Suspend
from tenure.flow.standin import placeholder

T = TypeVar("T")
# Asks what became of a call's send, and records it.
Prober = Callable[..., Awaitable[None]]

current: ContextVar[Run | None] = ContextVar("tenure_run", default=None)


# A suspended handler that asks again and again is answered ever more slowly.
_PATIENCE = 10
_PAUSE = 0.1


# Why a job waits: each kind has its sentence in the function tenure.said_wait, and is let in by the
# check of tenure.attempts.
Why = Literal[
    "budget",
    "throttled",
    "overloaded",
    "sleep",
    "deferred",
    "in doubt",
    "key in flight",
    "unsettled",
    "former run",
    "backoff",
    "shutdown",
    "paused",
]


def waits(why: Why, **more: object) -> dict[str, object]:
    """The machine-readable reason of a wait."""
    return {"why": why, **more}


class Suspension(msgspec.Struct, frozen=True):
    """Why a run unwinds, and how its claim then ends.

    ``delay`` seconds until it is due; ``lane``: parked until that lane's budget has room;
    ``waits``: the machine-readable reason.
    """

    kind: Literal["wait", "hold", "lost", "cancel", "shutdown", "failure", "timeout"]
    delay: float = 0.0
    lane: str | None = None
    waits: dict[str, object] = {}
    question: str | None = None
    step: str | None = None
    send_id: UUID | None = None
    error: str | None = None


class Waiting(Exception):
    """Raised inside a call that must wait; its outermost frame turns it into a suspension."""

    def __init__(self, why: Suspension) -> None:
        """``why`` is handed to the run."""
        super().__init__(why.kind)
        self.why = why


class Stale(Exception):
    """The record of a step has moved on since this run read it."""


class Run:
    """The state of one run."""

    def __init__(
        self,
        job: Job,
        desk: Desk,
        memory: Remembered,
        *,
        max_inline_wait: float = 2.0,
        timeout: float | None = None,
    ) -> None:
        """Begin a run of a claimed job; ``max_inline_wait`` seconds are slept on the lease.

        ``timeout``: seconds after which nothing more is done in its name.
        """
        self.job = job
        self.desk = desk
        self.memory = memory
        self.max_inline_wait = max_inline_wait
        self.timeout = timeout
        self.began = clock.now()
        self.suspension: Suspension | None = None
        # Told by the heartbeat: the next call is not made, and what makes none goes on.
        self.paused = False
        self.tasks: set[asyncio.Task[object]] = set()
        self.stand_ins = {
            placeholder(send.key) for send in memory.sends.values() if send.state == "suppressed"
        }
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}
        self._unsaved: list[Step] = []
        self._saving = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._flights: set[asyncio.Task[object]] = set()
        self._closed = False
        self._refusals = 0
        self.context: object = None
        self.prober: Prober | None = None
        self.hide: Callable[[str], str] = str

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return clock.now() - self.began

    def now(self) -> datetime:
        """The database's time, carried on from the claim by the process's stopwatch."""
        return self.job.claimed_at + timedelta(seconds=self.elapsed())

    def overrun(self) -> bool:
        """Whether the time of this claim is over; the run then unwinds."""
        if self.timeout is None or self.elapsed() < self.timeout:
            return False
        error = f"timed out after {durations.words(self.timeout)}"
        self.stop(Suspension("timeout", error=error))
        return True

    def check(self) -> None:
        """Raise where nothing more may be done in this run's name."""
        self.overrun()
        if self.suspension is not None:
            raise Suspend
        if self._closed:
            raise LeaseLost(
                f"job {self.job.id} has ended: its context can no longer be used",
                hint="Await every task before the handler returns.",
            )

    async def pace(self) -> None:
        """As ``check``, from what is awaited: who swallows ``Suspend`` in a loop blocks nobody.

        Raises ``StepError`` in an event loop that is not the run's own: what its calls share with
        those of other jobs belongs to that one.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise StepError(
                "the context was used from another event loop: nothing was done",
                hint="Await it in the handler itself; in a thread, compute and return.",
            )
        self.overrun()
        if self.suspension is not None:
            self._refusals += 1
            await asyncio.sleep(0.0 if self._refusals < _PATIENCE else _PAUSE)
        self.check()

    def name(self, name: str) -> str:
        """Take a step's name for this run; raises where it cannot be one or was taken."""
        check_step_name(name)
        if name.startswith("~"):
            raise StepError(
                f"the step name {name!r} begins with '~': such names are Tenure's own",
                hint="Begin it with a letter.",
            )
        if name in self._names:
            raise DuplicateStep(
                f"the step name {name!r} was used twice in one run: each names one effect",
                hint="Name steps in a loop by what they are about, as in f'line-{item.id}'.",
            )
        self._names.add(name)
        return name

    def place(self, kind: str) -> int:
        """How often a nameless thing of this kind was asked for before in this run."""
        count = self._counts.get(kind, 0)
        self._counts[kind] = count + 1
        return count

    def keep(self, step: Step) -> None:
        """Remember a value; it is on record before the next thing that may carry it."""
        self.memory.steps[step.name] = step
        self._unsaved.append(step)

    async def save(self) -> None:
        """Put what was kept on record; unwinds where the claim is over."""
        async with self._saving:
            steps = list(self._unsaved)
            if steps and not await self.desk.remember(self.job.id, self.job.fence, steps):
                self.stop(Suspension("lost"))
            del self._unsaved[: len(steps)]
        if self.suspension is not None and self.suspension.kind == "lost":
            await self.suspend(self.suspension)

    def stop(self, why: Suspension) -> None:
        """Ask the run to unwind at its next step, from outside of it."""
        self.suspension = self.suspension or why

    async def suspend(self, why: Suspension) -> NoReturn:
        """Unwind the run once its calls in flight have settled."""
        self.stop(why)
        await self.quiet()
        raise Suspend

    async def wait(self, delay: float, why: Suspension) -> None:
        """Sleep a short wait on the lease; unwind for a longer one."""
        if delay > self.max_inline_wait:
            raise Waiting(why)
        await asyncio.sleep(max(delay, 0.0))
        if self.suspension is not None:
            raise Waiting(self.suspension)

    async def fly(self, flight: Coroutine[object, object, T]) -> T:
        """Carry something to its end even where whoever waits for it is cancelled."""
        task = asyncio.create_task(flight)
        self._flights.add(task)
        task.add_done_callback(self._landed)
        try:
            return await asyncio.shield(task)
        except Waiting as waiting:
            await self.suspend(waiting.why)

    def _landed(self, task: asyncio.Task[T]) -> None:
        self._flights.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, Waiting):
            # Whoever waited may have given up, as a time limit of the author's does.
            self.stop(error.why)

    @property
    def closed(self) -> bool:
        """Whether the run has ended."""
        return self._closed

    async def quiet(self) -> None:
        """Wait until no call is under way."""
        while self._flights:
            await asyncio.wait(self._flights)

    def close(self) -> None:
        """Nothing more may be done in this run's name."""
        self._closed = True
