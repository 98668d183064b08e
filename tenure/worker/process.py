"""One worker process: an event loop of jobs, with threads that claim, beat and write.

Started by the worker's service, one for live jobs and one for those that are not, and one on demand
for each job that must run alone.  Promises: a process runs jobs of one mode kind; when told to stop
it hands back what it can within its grace, and leaves to lapse what it cannot.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

from tenure.app import Tenure
from tenure.base import clock, leases
from tenure.base.model import Job, Kind, Remembered
from tenure.flow import run as runs
from tenure.flow.carriers import Dry, Live
from tenure.flow.outbound import Carriers
from tenure.flow.run import Run, Suspension
from tenure.store import automations, schedules, workers
from tenure.store.database import Database
from tenure.store.leases import Renewal
from tenure.worker.desk import WorkerDesk
from tenure.worker.dispatch import Dispatch, Duty
from tenure.worker.duties import Duties
from tenure.worker.heartbeat import Heartbeat
from tenure.worker.pulse import Pulse
from tenure.worker.runner import Runner
from tenure.worker.threads import Threads

log = logging.getLogger("tenure.worker")

# Jobs this short are claimed a batch ahead; longer ones would wait here while others are idle.
_SHORT_JOB = 0.05
# A quarantine process with nothing to do for so long ends.
_QUARANTINE_IDLE = 5.0
_STOP_SECONDS = 5.0
# Of the grace, what is left to handlers to notice that they are cancelled, and to their hand-back.
_ENDING_SECONDS = 5.0
_ENDING_SHARE = 0.5
_OWN_THREADS = 16
# How long a job waits whose former run, of a lost claim, has not ended in this very process.
_FORMER_SECONDS = 5.0


class Process:
    """The life of one process."""

    def __init__(
        self, app: Tenure, *, url: str, kind: Kind, live: bool, aside: Callable[[], None]
    ) -> None:
        """``aside`` tells the service that a quarantine process has work."""
        settings = app.settings
        self._app = app
        self._url = url
        self._pooled = settings.pooled
        self._aside = aside
        self._slots = 1 if kind == "quarantine" else settings.concurrency
        self._duty = Duty(
            worker=uuid4(),
            kind=kind,
            live=live,
            automations=tuple(sorted(app.automations)),
            lease=settings.lease,
            poll=settings.poll,
            leases={
                name: automation.lease
                for name, automation in app.automations.items()
                if automation.lease is not None
            },
        )
        self._held: dict[UUID, Job] = {}
        self._lock = threading.Lock()
        self._average = 1.0
        self._stopping = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._dispatch: Dispatch | None = None
        self.drained = threading.Event()

    @property
    def worker(self) -> UUID:
        """The name of this process in rows."""
        return self._duty.worker

    def _database(self, name: str) -> Database:
        return Database(self._url, name=f"tenure {name}", pooled=self._pooled)

    def _every(self, lease: float) -> float:
        """Seconds between beats for a lease: the setting, or what a lease of its own asks for."""
        settings = self._app.settings
        own = lease != settings.lease
        return leases.heartbeat(lease, settings.heartbeat) if own else settings.heartbeat

    def _margin(self, lease: float) -> float:
        """Seconds before the end of a lease in which nothing is sent any more."""
        settings = self._app.settings
        own = lease != settings.lease
        return leases.margin(lease, settings.margin) if own else settings.margin

    async def run(self, ready: Callable[[], None]) -> None:
        """Run until told to stop, or, in quarantine, until there is nothing more to do."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_task_factory(_tracked)
        self._semaphore = asyncio.Semaphore(self._slots)
        # A thread for each job's plain step, and some for ourselves: neither waits for the other.
        self._loop.set_default_executor(ThreadPoolExecutor(self._slots + _OWN_THREADS))
        await asyncio.to_thread(self._arrive)
        live = Live()
        settings = self._app.settings
        desk = WorkerDesk(
            self._duty.worker,
            self._url,
            margin=self._margin,
            pooled=self._pooled,
        )
        threads = Threads(self._slots)
        self._runner = Runner(self._app, desk, Carriers(live, Dry()), threads=threads)
        self._heartbeat = Heartbeat(
            self._duty,
            self._database("heartbeat"),
            self._every,
            held=self._claims,
            heard=self._heard,
            blocked=Pulse(self._runner, settings.heartbeat).feel,
            aside=self._aside,
        )
        self._dispatch = Dispatch(
            self._duty,
            workers.listening(self._url, name="tenure claim", pooled=self._pooled),
            self._room,
            self._start,
            self._aside,
        )
        duties = None
        if self._duty.kind != "quarantine":
            duties = Duties(self._duty.worker, self._database("duties"), settings)
        self._desk = desk
        ready()
        await self._until_stopped(self._dispatch)
        await self._drain(self._dispatch, settings.drain)
        self.drained.set()
        if duties is not None:
            await asyncio.to_thread(duties.stop)
        await asyncio.to_thread(self._heartbeat.stop)
        await asyncio.to_thread(desk.stop, _STOP_SECONDS)
        await live.aclose()

    def _arrive(self) -> None:
        database, by = self._database("arrive"), f"worker:{platform.node()}"
        limit = self._app.settings.input_limit
        for declared in self._app.automations.values():
            automations.declare(database, declared.declared, by=by, input_limit=limit)
        # After all that listens to them: no tick finds nobody.
        for schedule in self._app.schedules.values():
            schedules.declare(database, schedule.name, schedule.intent, by=by)
        workers.arrive(
            database,
            id=self._duty.worker,
            host=platform.node(),
            pid=os.getpid(),
            kind=self._duty.kind,
            automations={
                name: self._app.automations[name].declared.version
                for name in self._duty.automations
            },
        )
        database.close()

    def stop(self) -> None:
        """Ask the process to stop; from the event loop."""
        self._stopping.set()

    def halt(self) -> None:
        """Claim nothing more; from any thread, also where the event loop does not turn."""
        if self._dispatch is not None:
            self._dispatch.halt()

    def abandon(self) -> None:
        """Write what has ended and say goodbye, from another thread: the loop does not turn."""
        if self._dispatch is None:
            return  # nothing was ever begun
        self._give_up()
        self._heartbeat.stop()
        self._desk.stop(_STOP_SECONDS)

    async def _until_stopped(self, dispatch: Dispatch) -> None:
        if self._duty.kind != "quarantine":
            await self._stopping.wait()
            return
        while not self._stopping.is_set():
            idle = clock.now() - dispatch.idle_since
            if not self._held and idle > _QUARANTINE_IDLE:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), 0.5)

    # -- jobs --------------------------------------------------------------------------------------

    def _room(self) -> int:
        """Free slots; a batch more where jobs are so short that they would run dry meanwhile."""
        with self._lock:
            held = len(self._held)
        ahead = 0
        if self._duty.kind != "quarantine" and self._average < _SHORT_JOB:
            ahead = self._slots
        return self._slots + ahead - held

    def _start(self, jobs: Sequence[tuple[Job, Remembered]]) -> None:
        """From the claiming thread: hold the claims at once, run them in the loop."""
        with self._lock:
            for job, _ in jobs:
                self._held[job.id] = job
        self._loop.call_soon_threadsafe(self._spawn, jobs)

    def _spawn(self, jobs: Sequence[tuple[Job, Remembered]]) -> None:
        for job, memory in jobs:
            task = asyncio.create_task(self._job(job, memory))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _job(self, job: Job, memory: Remembered) -> None:
        try:
            async with self._semaphore:
                if self._stopping.is_set():
                    await self._runner.hand_back(job, "shutdown")
                elif (former := self._runner.runs.get(job.id)) is not None:
                    # A former claim of it still runs here; its end comes first.
                    former.stop(Suspension("lost"))
                    await self._runner.hand_back(job, "former run", delay=_FORMER_SECONDS)
                else:
                    began = clock.now()
                    await self._runner.run(job, memory)
                    self._average += (clock.now() - began - self._average) / 20
        except Exception:
            log.exception("job %s could not be ended here; its lease will run out", job.id)
        finally:
            with self._lock:
                if self._holds(job):
                    del self._held[job.id]
            if self._dispatch is not None:
                self._dispatch.wake()

    # -- what the heartbeat asks and tells ---------------------------------------------------------

    def _holds(self, job: Job) -> bool:
        """Whether this claim of the job is the one that is held here."""
        held = self._held.get(job.id)
        return held is not None and held.fence == job.fence

    def _claims(self) -> dict[UUID, Job]:
        with self._lock:
            return dict(self._held)

    def _heard(self, renewals: Sequence[Renewal]) -> None:
        telling = [r for r in renewals if r.said == "lost" or r.request or self._pausing(r)]
        if telling:
            self._loop.call_soon_threadsafe(self._told, telling)

    def _pausing(self, renewal: Renewal) -> bool:
        """Whether a pause of its job began or ended since the last beat."""
        run = self._runner.runs.get(renewal.job)
        return run is not None and run.paused != renewal.paused

    def _told(self, renewals: Sequence[Renewal]) -> None:
        for renewal in renewals:
            run = self._runner.runs.get(renewal.job)
            if run is None or run.closed or not self._holds(run.job):
                continue  # its end, on its way or done, is what the row says
            run.paused = renewal.paused
            if renewal.said == "lost":
                log.warning("job %s: its lease was lost", renewal.job)
                self._unwind(run, Suspension("lost"))
            elif renewal.request == "cancel":
                self._unwind(run, Suspension("cancel"))
            elif renewal.request == "hold":
                run.stop(Suspension("hold"))

    def _unwind(self, run: Run, why: Suspension) -> None:
        """Stop a run where it stands; its calls in flight are carried to their end."""
        run.stop(why)
        self._runner.interrupt(run.job.id)

    # -- the end -----------------------------------------------------------------------------------

    async def _drain(self, dispatch: Dispatch, grace: float) -> None:
        """Claim nothing more, unwind what runs, hand it back uncharged; all within the grace."""
        ending = min(_ENDING_SECONDS, grace * _ENDING_SHARE)
        over = clock.now() + grace
        dispatch.halt()
        await asyncio.to_thread(dispatch.stop)
        for run in list(self._runner.runs.values()):
            run.stop(Suspension("shutdown"))
        if not await self._ended(over - ending - clock.now()):
            for job in list(self._runner.runs):
                self._runner.interrupt(job)
            if not await self._ended(over - clock.now()):
                self._give_up()

    def _give_up(self) -> None:
        names = ", ".join(
            f"{run.job.automation} {job}" for job, run in list(self._runner.runs.items())
        )
        log.warning(
            "jobs did not end within the %g s of their grace (%s): "
            "their process ends without them, and their leases run out",
            self._app.settings.drain,
            names or "none that had begun",
        )

    async def _ended(self, seconds: float) -> bool:
        running = set(self._running)
        if not running:
            return True
        _, still = await asyncio.wait(running, timeout=max(seconds, 0.0))
        return not still


def _tracked(
    loop: asyncio.AbstractEventLoop,
    coro: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    **options: Any,  # noqa: ANN401 - the shape of a task factory is asyncio's
) -> asyncio.Task[Any]:
    """Every task that is started inside a run belongs to it; the shape is asyncio's."""
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    run = runs.current.get()
    if run is not None:
        run.tasks.add(task)
        task.add_done_callback(run.tasks.discard)
    return task
