"""Automations: a named function with its declarations, callable as written.

Made by ``app.automation``; read by worker, server and enqueue.  Promises: declared once under one
name; its input is decoded by its own type; what code declares can be written as one row.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar, cast, overload

import msgspec

from tenure.base import content, json, leases, limits
from tenure.base import unique as uniques
from tenure.base.backoff import Backoff
from tenure.base.durations import Length
from tenure.base.errors import ConfigurationError, InvalidInput
from tenure.base.model import Declared, Event
from tenure.base.unique import Unique
from tenure.flow import inputs, version
from tenure.flow.context import Context
from tenure.flow.sync import SyncContext

I = TypeVar("I")  # noqa: E741  the input's type
O = TypeVar("O")  # noqa: E741  the result's type


class Automation(Generic[I, O]):
    """A function that runs as jobs; calling it calls the function itself."""

    def __init__(
        self,
        fn: Callable[..., Awaitable[O]] | Callable[..., O],
        *,
        name: str,
        listens: tuple[str, ...],
        lane: str,
        label: str | None = None,
        replaces: str | None = None,
        max_attempts: int = 10,
        max_crashes: int = 3,
        backoff: Backoff | None = None,
        priority: int = 5,
        tags: Iterable[str] = (),
        lease: Length | None = None,
        timeout: Length | None = None,
        concurrency: int | None = None,
        unique: Unique | str | None = None,
        expires: Length | None = None,
    ) -> None:
        """Read the function's types; raises ``ConfigurationError`` where it cannot be a handler."""
        self.threaded = _threaded(fn, name)
        limits.count(max_attempts, "max_attempts", most=limits.MOST_ATTEMPTS)
        limits.count(max_crashes, "max_crashes", most=limits.MOST_ATTEMPTS)
        self.fn = fn
        self.name = name
        self.backoff = backoff or Backoff()
        self.max_attempts = max_attempts
        self.lease = limits.length(lease, "lease", least=leases.LEAST, most=leases.MOST)
        self.timeout = limits.length(timeout, "timeout", least=limits.LEAST, most=limits.LONGEST)
        self.input_type = inputs.declared(fn)
        self.takes_input = len(inspect.signature(fn).parameters) > 1
        schema = inputs.schema(self.input_type)
        self.unique = uniques.declared(unique, schema)
        self._declared = Declared(
            name=name,
            version="",
            label=label,
            listens=listens,
            lane=lane,
            priority=limits.priority(priority),
            max_attempts=max_attempts,
            max_crashes=max_crashes,
            input_schema=schema,
            replaces=replaces,
            tags=limits.tags(tags),
            backoff=json.encode(self.backoff).decode(),
            lease=self.lease,
            timeout=self.timeout,
            concurrency=None
            if concurrency is None
            else limits.count(concurrency, "concurrency", most=limits.MOST_AT_ONCE),
            unique_by=self.unique.by if self.unique else None,
            unique_for=self.unique.seconds if self.unique else None,
            expires=limits.length(expires, "expiry", least=limits.LEAST, most=limits.LONGEST),
        )

    @property
    def declared(self) -> Declared:
        """What code declares, as one row; its version counts probes that were declared later."""
        of_now = version.of(self.fn, self._declared.input_schema)
        return msgspec.structs.replace(self._declared, version=of_now)

    @overload
    def __call__(self, ctx: Context, /, *args: object, **kwargs: object) -> Awaitable[O]: ...
    @overload
    def __call__(self, ctx: SyncContext, /, *args: object, **kwargs: object) -> O: ...
    def __call__(self, /, *args: object, **kwargs: object) -> Awaitable[O] | O:
        """The function as written."""
        return self.fn(*args, **kwargs)

    def encode(self, value: I, limit: int | None = None) -> str:
        """An input as JSON text, checked against the declared type; raises ``InvalidInput``.

        ``limit``: the longest that is taken, in bytes.
        """
        raw = content.encode(value)
        if limit is not None:
            content.check_size(raw, limit)
        inputs.decode(raw, self.input_type)
        return raw.decode()

    def encode_all(self, values: Iterable[I], limit: int) -> list[str]:
        """Each input as ``encode`` has it; an error says which of them it is, counted from 0."""
        texts: list[str] = []
        for value in values:
            try:
                texts.append(self.encode(value, limit))
            except InvalidInput as error:
                raise InvalidInput(
                    f"input {len(texts)}: {error.message}: nothing was made", hint=error.hint
                ) from error
        return texts

    def decode(self, text: str | None, event: Event | None) -> I:
        """A job's input, from its event's bytes or its own text; raises ``InvalidInput``."""
        if event is not None:
            return cast("I", inputs.decode(event.body, self.input_type, event.content_type))
        return cast("I", inputs.decode((text or "null").encode(), self.input_type))


def _threaded(fn: Callable[..., object], name: str) -> bool:
    """Whether a handler runs in a thread; raises where it cannot, or takes the other context."""
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn) or not callable(fn):
        raise ConfigurationError(
            f"the automation {name!r} is no function that returns: it could not be run to its end",
            hint="Write it as `async def` or `def`, without yield.",
        )
    threaded = not inspect.iscoroutinefunction(fn)
    wrong, right = (Context, SyncContext) if threaded else (SyncContext, Context)
    if wrong in _given(fn):
        raise ConfigurationError(
            f"the automation {name!r} takes a {wrong.__name__}: "
            f"{'a `def`' if threaded else 'an `async def`'} handler is given a {right.__name__}",
            hint=f"Write it as {'`async def`' if threaded else '`def`'}, or take {right.__name__}.",
        )
    return threaded


def _given(fn: Callable[..., object]) -> tuple[object, ...]:
    """The declared type of a handler's first parameter, where it has one that can be read."""
    try:
        hints = typing.get_type_hints(fn)
    except (TypeError, NameError, AttributeError):
        return ()
    return tuple(
        hints.get(parameter, object) for parameter in list(inspect.signature(fn).parameters)[:1]
    )
