"""Running one claimed job, from its row to the row that ends its claim.

Called by the process for each job.  Whatever an author's code does, an exit and a recursion without
end among it, ends its own job and nothing else.

    request? ─ input ─ handler ─ calls in flight settle ─ what is left is cancelled ─ end
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar, cast
from uuid import UUID

from tenure.app import Tenure
from tenure.base import conceal, json
from tenure.base.errors import (
    ConfigurationError,
    DatabaseError,
    ExitRefused,
    InvalidInput,
    MissingSecret,
    Unserialisable,
)
from tenure.base.model import HandBack, Job, Remembered
from tenure.flow import run as runs
from tenure.flow.automation import Automation
from tenure.flow.context import Context
from tenure.flow.crossing import Crossing
from tenure.flow.outbound import Carriers
from tenure.flow.probes import Prober
from tenure.flow.run import Run, Suspension, Why, waits
from tenure.flow.signals import Suspend
from tenure.flow.sync import SyncContext
from tenure.worker import after, verdict
from tenure.worker.desk import WorkerDesk
from tenure.worker.threads import Threads
from tenure.worker.verdict import End

T = TypeVar("T")

log = logging.getLogger("tenure.worker")

# How long what a handler left behind may take to notice that it is cancelled.
_LEFTOVER_SECONDS = 5.0


def _escaped(exit_: BaseException) -> ExitRefused:
    return ExitRefused(
        f"the handler asked its process to exit ({exit_!r}): only its run has ended",
        hint="Return, or raise Fail with the reason.",
    )


def _returned(value: object) -> object:
    """What a ``def`` handler returned; raises where it is something that should be awaited."""
    if not inspect.isawaitable(value):
        return value
    if inspect.iscoroutine(value):
        value.close()
    raise ConfigurationError(
        f"a `def` handler returned something to be awaited ({type(value).__name__}): it never was",
        hint="Write the handler as `async def`.",
    )


class Runner:
    """Runs jobs of one application in one process."""

    def __init__(
        self, app: Tenure, desk: WorkerDesk, carriers: Carriers, *, threads: Threads
    ) -> None:
        """Settings are the application's own; ``threads`` are those of ``def`` handlers."""
        self._app = app
        self._desk = desk
        self._carriers = carriers
        self._threads = threads
        self.runs: dict[UUID, Run] = {}
        self.tasks: dict[UUID, asyncio.Task[object]] = {}
        self.crossings: dict[UUID, Crossing] = {}

    @property
    def automations(self) -> Mapping[str, Automation[object, object]]:
        """What this process knows."""
        return self._app.automations

    async def run(self, job: Job, memory: Remembered) -> bool:
        """Run a job and end its claim; False where the claim was over before it could."""
        automation = self.automations[job.automation]
        inline = self._app.settings.max_inline_wait
        timeout = automation.timeout
        run = Run(job, self._desk, memory, max_inline_wait=inline, timeout=timeout)
        self.runs[job.id] = run
        try:
            end = await self._end(run, automation)
        except Exception as odd:  # noqa: BLE001 - what cannot be told of a run fails its job alone
            end = verdict.failed(job, odd, self.hide)
        finally:
            run.close()
            self.tasks.pop(job.id, None)
            self.crossings.pop(job.id, None)
        try:
            return end is not None and await self._settled(run, end)
        finally:
            if self.runs.get(job.id) is run:
                del self.runs[job.id]

    async def _end(self, run: Run, automation: Automation[object, object]) -> End | None:
        """What the run comes to, as the row that ends its claim."""
        job = run.job
        if job.request == "cancel":
            return verdict.suspended(job, Suspension("cancel"), automation, None)
        if job.request == "hold":
            return verdict.suspended(job, Suspension("hold"), automation, None)
        try:
            given = automation.decode(job.input, job.event)
        except InvalidInput as misfit:
            return verdict.failed(job, misfit, self.hide)
        result, error = await self._handled(run, automation, given)
        await run.quiet()
        await self._tidied(run)
        if error is None and run.suspension is None:
            with contextlib.suppress(Suspend):
                await run.save()
        if run.suspension is not None:
            return await self._suspended(run, run.suspension, automation)
        if error is not None:
            return verdict.raised(job, error, automation, run.now(), self.hide)
        return verdict.succeeded(job, result, self._app.settings.result_limit, self.hide)

    async def _handled(
        self, run: Run, automation: Automation[object, object], given: object
    ) -> tuple[object, BaseException | None]:
        """The handler's result or what it raised; nothing of it escapes."""
        timeout = self._app.settings.call_timeout
        context = Context(run, self._carriers, self._app.providers, call_timeout=timeout)
        run.hide = self.hide
        run.prober = Prober(self._carriers, self._app.providers, timeout).ask
        rest = (given,) if automation.takes_input else ()
        if automation.threaded:
            return await self._in_thread(run, context, automation, rest)
        run.context = context
        fn = cast("Callable[..., Awaitable[object]]", automation.fn)

        async def contained() -> object:
            runs.current.set(run)
            try:
                return await fn(context, *rest)
            except (SystemExit, KeyboardInterrupt, GeneratorExit) as exit_:
                raise _escaped(exit_) from exit_
            finally:
                await after.in_task(self._app.after_jobs)

        task = asyncio.create_task(contained())
        self.tasks[run.job.id] = task
        await self._in_time(run, task)
        if task.cancelled():
            return None, asyncio.CancelledError("the handler was cancelled")
        raised = task.exception()
        return (None, raised) if raised is not None else (task.result(), None)

    async def _in_thread(
        self,
        run: Run,
        context: Context,
        automation: Automation[object, object],
        rest: tuple[object, ...],
    ) -> tuple[object, BaseException | None]:
        """As ``_handled``, of a ``def`` handler: however long it takes, it has really returned."""
        crossing = self.crossings[run.job.id] = Crossing(run)
        run.context = own = SyncContext(context, crossing)

        def contained() -> tuple[object, BaseException | None]:
            runs.current.set(run)
            try:
                return _returned(automation.fn(own, *rest)), None
            except (SystemExit, KeyboardInterrupt, GeneratorExit) as exit_:
                escaped = _escaped(exit_)
                escaped.__cause__ = exit_
                return None, escaped
            except asyncio.CancelledError:
                return None, asyncio.CancelledError("the handler was cancelled")
            except BaseException as error:  # noqa: BLE001 - whatever a handler raises ends its job
                return None, error
            finally:
                after.in_thread(self._app.after_jobs, crossing)

        name = f"{automation.name} {run.job.id}"
        copied = contextvars.copy_context()
        returned = self._threads.run(name, lambda: copied.run(contained))
        await self._in_time(run, returned)
        crossing.close()
        return returned.result()

    async def _in_time(self, run: Run, handler: asyncio.Future[T]) -> None:
        """Wait for the end of a handler, which is stopped when its time is over."""
        await asyncio.wait((handler,), timeout=run.timeout)
        if not handler.done() and run.overrun():
            # The claim is kept until the handler has ended, however long it takes to notice.
            log.warning("job %s of %s timed out, and is stopped", run.job.id, run.job.automation)
            self.interrupt(run.job.id)
            await asyncio.wait((handler,))

    def interrupt(self, job: UUID) -> None:
        """Unwind a handler where it stands; one in a thread, where it waits for its context."""
        if job in self.tasks:
            self.tasks[job].cancel()
        if job in self.crossings:
            self.crossings[job].interrupt()

    async def _tidied(self, run: Run) -> None:
        """Tasks that the handler left behind end with it."""
        left = {task for task in run.tasks if not task.done()}
        for task in left:
            task.cancel()
        if left:
            _, still = await asyncio.wait(left, timeout=_LEFTOVER_SECONDS)
            for task in left - still:
                if not task.cancelled():
                    task.exception()
            if still:
                log.warning("job %s left %d tasks that do not end", run.job.id, len(still))

    async def _suspended(
        self, run: Run, why: Suspension, automation: Automation[object, object]
    ) -> End | None:
        strand = None
        if why.kind == "wait" and why.lane is not None:
            said = why.waits
            strand = await self._desk.park(
                automation=automation.name,
                lane=why.lane,
                live=run.job.mode == "live",
                seconds=why.delay,
                by=f"{said.get('provider')}: {said.get('budget') or said.get('why')}",
            )
        return verdict.suspended(run.job, why, automation, strand, self.hide)

    def hide(self, text: str) -> str:
        """A text without the secrets of this application's providers."""
        found: dict[str, str] = {}
        for provider in self._app.providers.values():
            with contextlib.suppress(MissingSecret):  # what is not there is in no text
                found |= getattr(provider.auth, "secrets", dict)()
        return conceal.of(found).mask_text(text)

    async def _settled(self, run: Run, end: End) -> bool:
        """End the claim; an end that cannot be stored fails the job and says why."""
        job = run.job
        try:
            ended = await self._desk.end(end)
        except DatabaseError:
            raise
        except Exception as objection:  # noqa: BLE001 - whatever it objects to, the job ends
            ended = str(objection) or type(objection).__name__
        if isinstance(ended, str):
            error = Unserialisable(
                f"the job's end could not be stored ({ended})",
                hint="Return plain values; see what the database objects to.",
            )
            end = verdict.failed(job, error, self.hide)
            ended = await self._desk.end(end)
        if ended is False:
            log.warning("job %s: the claim was over before it ended", job.id)
        elif line := verdict.line(job, end, run.now()):
            log.warning("%s", line)
        return ended is True

    async def hand_back(self, job: Job, why: Why, *, delay: float = 0.0) -> None:
        """Give back a job that was never started, for so many seconds."""
        said = json.encode(waits(why)).decode()
        await self._desk.end(HandBack(job.id, job.fence, "deferral", delay, waits=said))
