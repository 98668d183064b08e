"""Asking a provider what became of a send of which nobody knows.

Called by ``doubt`` through the run, once the send can no longer leave and the provider has had time
to settle.  Promises: a probe changes nothing: its calls are safe ones through the gate, never
remembered; its answer is on record under the claim before anything follows from it; what it cannot
tell, and what it raises, becomes a question for a person; if its worker dies, it is asked anew.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import msgspec

from tenure.base import clock, json
from tenure.base.errors import CallFailed, CallForbidden, UnknownName
from tenure.base.http import Response
from tenure.base.model import Send, Step
from tenure.flow import outbound
from tenure.flow.call import Call
from tenure.flow.course import Course
from tenure.flow.crossing import Crossing
from tenure.flow.http import Http
from tenure.flow.outbound import Carriers
from tenure.flow.provider import Provider
from tenure.flow.run import Run, Suspension, Waiting, waits
from tenure.flow.signals import Suspend
from tenure.flow.sync import SyncHttp

# How often a probe whose own calls fail is asked again before a person is.
_TIMES = 5
_FIRST_WAIT = 2.0
_LONGEST_WAIT = 60.0


class Sent(msgspec.Struct, frozen=True):
    """What was sent: the request as it left, credentials apart, under which key, and since when.

    ``wire_key`` is the key as the provider was given it; ``status`` what was answered, if anything.
    """

    step: str
    method: str
    url: str
    body: bytes
    key: str
    wire_key: str | None
    first_sent_at: datetime
    status: int | None = None


class Happened(msgspec.Struct, frozen=True):
    """It happened: the step is done, with this response for the handler."""

    response: Response | None = None


class DidNot(msgspec.Struct, frozen=True):
    """It did not happen: the call is sent again under its key."""


class CannotTell(msgspec.Struct, frozen=True):
    """The provider does not say: the job is held, and ``why`` is part of the question."""

    why: str = "it saw nothing either way"


Told = Happened | DidNot | CannotTell


class _Looking(Http):
    """A provider's API for a probe: safe calls alone, remembered by nobody."""

    waiting: Waiting | None = None

    async def _carry(self, call: Call, step: str | None) -> Response:
        del step
        run = self._run
        if not call.safe:
            raise CallForbidden(
                f"a probe asked for {call.operation}, which changes something: nothing was sent",
                hint="Ask with GET, or with safe=True where nothing is changed.",
            )
        name = f"~{call.operation}"
        name = f"{name[:150]}#{run.job.fence}.{run.place(name)}"
        try:
            # Not as a flight of its own: the call in doubt is one, and waits for this.
            return await outbound.send(run, call, name, self._carriers)
        except Waiting as waiting:
            self.waiting = waiting
            raise Suspend from None


class ProbeContext:
    """What a probe is given: providers to ask, and nothing that changes or remembers."""

    def __init__(
        self, run: Run, carriers: Carriers, providers: dict[str, Provider], timeout: float
    ) -> None:
        """Calls time out after so many seconds."""
        self._run = run
        self._carriers = carriers
        self._providers = providers
        self._timeout = timeout
        self._looking: list[_Looking] = []

    @property
    def job_id(self) -> UUID:
        """The id of the job whose call is in doubt."""
        return self._run.job.id

    def http(self, provider: Provider | str) -> Http:
        """A provider's API through the gate, for safe calls."""
        if isinstance(provider, str):
            if provider not in self._providers:
                raise UnknownName.of("provider", provider, self._providers)
            provider = self._providers[provider]
        looking = _Looking(self._run, provider, self._carriers, self._timeout)
        self._looking.append(looking)
        return looking

    def waiting(self) -> Waiting | None:
        """What one of its calls must wait for, whatever the probe made of that."""
        return next((look.waiting for look in self._looking if look.waiting), None)


class SyncProbeContext:
    """As ``ProbeContext``, for a ``def`` probe."""

    def __init__(self, twin: ProbeContext, crossing: Crossing) -> None:
        """Used in the probe's thread."""
        self._twin = twin
        self._crossing = crossing

    @property
    def job_id(self) -> UUID:
        """The id of the job whose call is in doubt."""
        return self._twin.job_id

    def http(self, provider: Provider | str) -> SyncHttp:
        """A provider's API through the gate, for safe calls."""
        return SyncHttp(self._twin.http(provider), self._crossing)


class Prober(msgspec.Struct, frozen=True):
    """How the calls of one run have their probes asked."""

    carriers: Carriers
    providers: dict[str, Provider]
    timeout: float

    async def ask(self, course: Course, sent: Send) -> None:
        """Ask, and record the answer; raises ``Waiting`` where the job waits, or is held."""
        probe = course.call.probe
        context = ProbeContext(course.run, self.carriers, self.providers, self.timeout)
        if probe is None:
            raise Waiting(course.held(sent, "its probe is no longer declared"))
        try:
            told = await _told(probe, course.run, context, _sent(course, sent))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if (waiting := context.waiting()) is not None:
                raise waiting from None
            if isinstance(error, CallFailed):
                await _asked_again(course, sent, error)
            raise Waiting(course.held(sent, f"its probe failed ({_said(error)})")) from error
        if (waiting := context.waiting()) is not None:
            raise waiting
        await _recorded(course, sent, told)


async def _told(
    probe: Callable[..., object], run: Run, context: ProbeContext, sent: Sent
) -> object:
    if inspect.iscoroutinefunction(probe):
        return await cast("Awaitable[object]", probe(context, sent))
    crossing = Crossing(run)
    try:
        return await asyncio.to_thread(probe, SyncProbeContext(context, crossing), sent)
    finally:
        crossing.close()


def _sent(course: Course, sent: Send) -> Sent:
    """The request in doubt, which is the one that would leave again."""
    age = sent.age + clock.now() - course.run.memory.loaded
    return Sent(
        step=sent.step,
        method=course.request.method,
        url=course.request.url,
        body=course.request.body,
        key=sent.key,
        wire_key=sent.wire_key,
        first_sent_at=course.run.now() - timedelta(seconds=age),
        status=sent.status,
    )


async def _recorded(course: Course, sent: Send, told: object) -> None:
    match told:
        case Happened(response=response):
            answer = response or Response(200, (), b"")
            await course.tell(sent, "done", answer, "its probe found that it happened")
        case DidNot():
            await course.tell(sent, "not_sent", None, "its probe found that it did not happen")
        case CannotTell(why=why):
            raise Waiting(course.held(sent, f"its probe cannot tell: {why}"))
        case _:
            why = f"its probe gave back what is no answer (a {type(told).__name__})"
            raise Waiting(course.held(sent, why))


async def _asked_again(course: Course, sent: Send, error: CallFailed) -> None:
    """Wait and have the probe asked again; return where that was done often enough."""
    run = course.run
    stem = f"~probe {course.step}#{sent.send}."
    before = sum(1 for name in run.memory.steps if name.startswith(stem))
    if before >= _TIMES:
        return
    step = Step(f"{stem}{before}", "value", None, json.encode(_said(error)).decode())
    if not await run.desk.remember(run.job.id, run.job.fence, [step]):
        raise Waiting(Suspension("lost"))
    delay = min(_FIRST_WAIT * 2.0**before, _LONGEST_WAIT)
    said = waits("in doubt", step=course.step, provider=sent.provider)
    raise Waiting(Suspension("wait", delay=delay, waits=said))


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except BaseException:  # noqa: BLE001 - an error that cannot be printed harms nobody
        return type(error).__name__
