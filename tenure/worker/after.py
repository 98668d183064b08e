"""What is done after each run of a job: what the author declared, and connections of an ORM.

Called by the runner where the handler ran, in its task or its thread, once it has returned, raised
or been unwound.  Promises: whatever goes wrong here is logged, and the job ends as its handler did.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import cast

from tenure.flow import orm
from tenure.flow.crossing import Crossing

Hooks = Sequence[Callable[[], object]]

log = logging.getLogger("tenure.worker")


async def in_task(hooks: Hooks) -> None:
    """After an ``async def`` handler, in its task."""
    for hook in hooks:
        with _contained(hook):
            await _awaited(hook)
    await orm.close_awaited()


def in_thread(hooks: Hooks, crossing: Crossing) -> None:
    """After a ``def`` handler, in its thread; what is to be awaited is awaited in the loop."""
    for hook in hooks:
        with _contained(hook):
            if inspect.iscoroutinefunction(hook):
                crossing.over(functools.partial(_awaited, hook))
            else:
                hook()
    orm.close()


async def _awaited(hook: Callable[[], object]) -> None:
    value = hook()
    if inspect.isawaitable(value):
        await cast("Awaitable[object]", value)


@contextlib.contextmanager
def _contained(hook: Callable[[], object]) -> Iterator[None]:
    """Whatever is raised in it, an exit among it, is not the job's."""
    try:
        yield
    except BaseException:
        name = getattr(hook, "__qualname__", repr(hook))
        log.exception("%s failed after a job; the job's end stands", name)
