"""What a handler is given: steps, decisions, time, chance, calls, waits, story.

Made by the worker for each run.  Promises: what is named is remembered and given back on a re-run;
``now``, ``uuid`` and ``random`` give back what they gave; a wait costs no slot and no attempt.
"""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import ParamSpec, TypeVar, overload

from tenure.base import json
from tenure.base.errors import Misused, UnknownName
from tenure.base.model import Event, Mode, Step
from tenure.flow import inputs
from tenure.flow.crossing import computed
from tenure.flow.http import Http
from tenure.flow.outbound import Carriers
from tenure.flow.provider import Provider
from tenure.flow.run import Run, Suspension, Waiting, waits
from tenure.flow.signals import Duration, seconds
from tenure.flow.surface import checked

P = ParamSpec("P")
T = TypeVar("T")


class Context:
    """One run's side of a handler."""

    def __init__(
        self,
        run: Run,
        carriers: Carriers,
        providers: dict[str, Provider],
        *,
        call_timeout: float = 30.0,
    ) -> None:
        """Made by the worker; ``call_timeout`` in seconds."""
        self._run = run
        self._carriers = carriers
        self._providers = providers
        self._call_timeout = call_timeout

    @property
    def job_id(self) -> uuid.UUID:
        """The job's id."""
        return self._run.job.id

    @property
    def mode(self) -> Mode:
        """How this job runs: ``dry_run``, ``shadow`` or ``live``."""
        return self._run.job.mode

    @property
    def event(self) -> Event | None:
        """The event that made this job; None where it was enqueued by hand."""
        return self._run.job.event

    @checked
    def http(self, provider: Provider | str) -> Http:
        """A provider's API through the gate; raises ``UnknownName`` for one nobody declared."""
        if isinstance(provider, str):
            if provider not in self._providers:
                raise UnknownName.of("provider", provider, self._providers)
            provider = self._providers[provider]
        if not isinstance(provider, Provider):
            raise Misused(
                f"ctx.http was given what is no provider ({type(provider).__name__})",
                hint="Give what app.provider returned, or its name.",
            )
        return Http(self._run, provider, self._carriers, self._call_timeout)

    @overload
    async def step(
        self, name: str, fn: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T: ...
    @overload
    async def step(self, name: str, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...
    @checked
    async def step(
        self, name: str, fn: Callable[..., object], *args: object, **kwargs: object
    ) -> object:
        """The result of a function, computed once and remembered under a name.

        The result passes through JSON and is decoded by the function's return annotation, so first
        run and re-run see the same type.  A plain function runs in a thread: of a ``def`` handler,
        in the very one that asks for it.
        """
        run = self._run
        await run.pace()
        run.name(name)
        if not callable(fn):
            raise Misused(
                f"the step {name!r} was given what cannot be called ({type(fn).__name__})",
                hint="Give the function and its arguments, as in ctx.step('weigh', weigh, order).",
            )
        arguments = hashlib.sha256(json.encode([args, kwargs])).digest() if args or kwargs else None
        type_ = inputs.returned(fn)
        known = run.memory.steps.get(name)
        if known is not None:
            await self._compare(known, arguments)
            return inputs.decode(known.result.encode(), type_)
        text = json.encode(await computed(name, fn, *args, **kwargs))
        if not run.closed:
            # Kept even where the run is to unwind: what was computed need not be computed again.
            run.keep(Step(name, "step", arguments, text.decode()))
            await run.save()
        run.check()
        return inputs.decode(text, type_)

    async def _compare(self, known: Step, arguments: bytes | None) -> None:
        if known.arguments != arguments:
            job = self._run.job
            said = f"{known.name} was given other arguments than before; its first result stands"
            await self._run.desk.journal(job.id, job.fence, "drift", said, {"step": known.name})

    @checked
    def decide(self, name: str, choice: bool) -> bool:  # noqa: FBT001 - the choice is the point
        """A named branch, remembered and later compared; gives back the choice of the first run."""
        run = self._run
        run.check()
        run.name(name)
        known = run.memory.steps.get(name)
        if known is not None:
            return known.result == "true"
        run.keep(Step(name, "decision", None, "true" if choice else "false"))
        return bool(choice)

    def now(self) -> datetime:
        """The time in UTC, the same on every re-run at this place."""
        run = self._run
        run.check()
        name = f"~now#{run.place('now')}"
        known = run.memory.steps.get(name)
        if known is None:
            known = Step(name, "value", None, json.encode(run.now()).decode())
            run.keep(known)
        return json.convert(json.decode(known.result), datetime)

    def uuid(self) -> uuid.UUID:
        """A UUID, the same on every re-run at this place: derived from the job, not stored."""
        self._run.check()
        return uuid.uuid5(self._run.job.id, f"uuid#{self._run.place('uuid')}")

    def random(self) -> float:
        """A number in [0, 1), the same on every re-run at this place; not for secrets."""
        self._run.check()
        seed = f"{self._run.job.id}:random#{self._run.place('random')}"
        return random.Random(seed).random()  # noqa: S311  repeatable on purpose

    @checked
    async def sleep(self, duration: Duration, *, name: str | None = None) -> None:
        """Wait; a wait beyond a moment gives the slot back and costs no attempt."""
        run = self._run
        await run.pace()
        place = run.name(name) if name else f"~sleep#{run.place('sleep')}"
        known = run.memory.steps.get(place)
        if known is None:
            due = run.now() + timedelta(seconds=seconds(duration))
            known = Step(place, "sleep", None, json.encode(due).decode())
            run.keep(known)
        await run.save()
        due = json.convert(json.decode(known.result), datetime)
        delay = (due - run.now()).total_seconds()
        why = waits("sleep", until=due.isoformat(), step=place)
        if delay > 0:
            try:
                await run.wait(delay, Suspension("wait", delay=delay, waits=why))
            except Waiting as waiting:
                await run.suspend(waiting.why)

    @checked
    async def log(self, message: str, **fields: object) -> None:
        """A line in the job's story."""
        run = self._run
        await run.pace()
        if not isinstance(message, str):
            raise Misused(
                f"ctx.log was given what is no text ({type(message).__name__})",
                hint="Give a message, and values by name.",
            )
        shown = json.decode(run.hide(json.encode(fields).decode())) if fields else None
        await run.desk.journal(run.job.id, run.job.fence, "log", run.hide(message), shown)
