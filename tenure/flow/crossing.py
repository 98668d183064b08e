"""From the thread of a ``def`` handler to the event loop of its job, and back.

One for each run of a ``def`` handler; used by what is generated in ``flow/sync.py``.  Promises:
what a thread asks is done in the loop as for an ``async def`` handler, and what is raised there is
raised in the thread; a step's function runs in the very thread that asked; once the handler has
returned, whoever still asks is refused.

    thread   ctx.step("weigh", fn) ─┐             ┌─ fn ─┐             ┌─ value, error, Suspend
    loop                            └─ the step ──┘      └─ on record ─┘
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Generic, TypeVar, cast

from tenure.base.errors import LeaseLost, StepError
from tenure.flow import orm
from tenure.flow import run as runs
from tenure.flow.run import Run
from tenure.flow.signals import Suspend

T = TypeVar("T")


class _RaisedThere(Exception):
    """A step's function raised in its thread, which raises it again itself: it never came here."""


class _Asking:
    """One thing that a thread asked of the loop; the thread waits, and runs what it is handed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._raised: BaseException | None = None
        self._value: object = None
        self.task: asyncio.Task[tuple[object, BaseException | None]] | None = None
        self.computing = False

    # -- in the loop -------------------------------------------------------------------------------

    async def compute(self, fn: Callable[[], object]) -> object:
        """Have a function run by the thread that asked; its value."""
        future: asyncio.Future[object] = self._loop.create_future()
        self.computing = True
        self._inbox.put(functools.partial(self._compute, fn, future))
        try:
            return await future
        finally:
            self.computing = False

    def end(self, value: object, error: BaseException | None) -> None:
        """Let the thread go on with what came of it."""
        self._value = value
        self._raised = self._raised or error
        self._inbox.put(None)

    # -- in the thread -----------------------------------------------------------------------------

    def _compute(self, fn: Callable[[], object], future: asyncio.Future[object]) -> None:
        value: object = None
        try:
            value = fn()
        except BaseException as error:  # noqa: BLE001 - raised in this very thread, by `answer`
            self._raised = error
        self._loop.call_soon_threadsafe(_set, future, value, self._raised is not None)

    def answer(self) -> object:
        """Wait for the end, running what is handed over meanwhile; the value, or the error."""
        while (work := self._inbox.get()) is not None:
            work()
        error = self._raised
        if error is None:
            return self._value
        try:
            raise error
        finally:
            del error, self  # they hold each other


def _set(future: asyncio.Future[object], value: object, raised: bool) -> None:  # noqa: FBT001 - taken by place
    if future.done():
        return
    if raised:
        future.set_exception(_RaisedThere())
    else:
        future.set_result(value)


_asking: ContextVar[_Asking | None] = ContextVar("tenure_asking", default=None)


class Crossing:
    """The way between one run's loop and the threads that use its context."""

    def __init__(self, run: Run) -> None:
        """Made in the loop."""
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._home = threading.get_ident()
        self._asked: set[_Asking] = set()
        self._closed = False

    # -- in a thread -------------------------------------------------------------------------------

    def over(self, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        """What comes of something awaited in the loop; this thread waits for it."""
        if threading.get_ident() == self._home:
            raise StepError(
                "a SyncContext was used in the event loop: it would have waited for itself",
                hint="Use it in the handler's thread, or write the handler as `async def`.",
            )
        asking = _Asking(self._loop)
        context = contextvars.copy_context()
        context.run(_asking.set, asking)
        context.run(runs.current.set, self._run)
        try:
            self._loop.call_soon_threadsafe(self._begin, asking, ask, context=context)
        except RuntimeError:  # the loop has ended, and the process is about to
            raise self._refusal() from None
        return cast("T", asking.answer())

    def call(self, ask: Callable[[], T]) -> T:
        """What comes of something that is called in the loop."""

        async def called() -> T:
            return ask()

        return self.over(called)

    # -- in the loop -------------------------------------------------------------------------------

    def _begin(self, asking: _Asking, ask: Callable[[], Coroutine[object, object, T]]) -> None:
        if self._closed:
            asking.end(None, self._refusal())
            return
        asking.task = self._loop.create_task(_tried(ask))
        self._asked.add(asking)
        asking.task.add_done_callback(functools.partial(self._end, asking))

    def _end(
        self, asking: _Asking, task: asyncio.Task[tuple[object, BaseException | None]]
    ) -> None:
        self._asked.discard(asking)
        if task.cancelled():
            asking.end(None, Suspend() if self._run.suspension is not None else self._refusal())
        else:
            asking.end(*task.result())

    def interrupt(self) -> None:
        """Unwind whoever waits for the loop; nothing can unwind a thread that computes."""
        for asking in self._asked:
            if asking.task is not None and not asking.computing:
                asking.task.cancel()

    def close(self) -> None:
        """The handler has returned: whatever threads it left behind can ask for nothing more."""
        self._closed = True

    def _refusal(self) -> LeaseLost:
        return LeaseLost(
            f"job {self._run.job.id} has ended: its context can no longer be used",
            hint="Join every thread before the handler returns.",
        )


async def _tried(
    ask: Callable[[], Coroutine[object, object, T]],
) -> tuple[T | None, BaseException | None]:
    """What is awaited, or what it raised: an exit that is raised here is not the loop's."""
    try:
        return await ask(), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised in the thread that asked
        return None, error


async def computed(name: str, fn: Callable[..., object], *args: object, **kwargs: object) -> object:
    """What a step's function gives: run in the thread that asked, else here, or beside the loop."""
    asking = _asking.get()
    if asking is not None:
        if inspect.iscoroutinefunction(fn):
            raise _not_awaited(name)
        value = await asking.compute(functools.partial(fn, *args, **kwargs))
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise _not_awaited(name)
        return value
    if inspect.iscoroutinefunction(fn):
        return await cast("Awaitable[object]", fn(*args, **kwargs))
    value = await asyncio.to_thread(orm.closing, fn, *args, **kwargs)
    return await value if inspect.isawaitable(value) else value


def _not_awaited(name: str) -> StepError:
    return StepError(
        f"the step {name!r} of a `def` handler was given an async function: it was not awaited",
        hint="Give it a plain function, or write the handler as `async def`.",
    )


class Twin(Generic[T]):
    """What a ``def`` handler uses in place of something that is awaited."""

    def __init__(self, twin: T, crossing: Crossing) -> None:
        """``twin`` is what an ``async def`` handler would have been given."""
        self._twin = twin
        self._crossing = crossing
