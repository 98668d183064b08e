"""The context of the job that the calling code runs for, for code that was not handed one.

Called by author's code.  Promises: what it gives is the handler's own context, in an ``async def``
handler's tasks and in a ``def`` handler's thread alike.
"""

from __future__ import annotations

from typing import overload

from tenure.base.errors import ConfigurationError
from tenure.flow import run as runs
from tenure.flow.context import Context
from tenure.flow.sync import SyncContext


@overload
def current(kind: type[Context] | None = None, /) -> Context: ...
@overload
def current(kind: type[SyncContext], /) -> SyncContext: ...
def current(kind: type[Context | SyncContext] | None = None, /) -> Context | SyncContext:
    """The context of the job that the calling code runs for; raises where there is none.

    Under a ``def`` handler it is a ``SyncContext``: ``current(SyncContext)`` tells type checkers,
    and raises where the handler is of the other kind.
    """
    context = getattr(runs.current.get(), "context", None)
    if not isinstance(context, Context | SyncContext):
        raise ConfigurationError(
            "no job is running here: there is no context",
            hint="Call it from a handler or from what a handler calls.",
        )
    if kind is not None and not isinstance(context, kind):
        raise ConfigurationError(
            f"the context here is a {type(context).__name__}, not a {kind.__name__}",
            hint="`async def` handlers have a Context, `def` handlers a SyncContext.",
        )
    return context
