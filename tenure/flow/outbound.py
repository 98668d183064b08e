"""The course of one call: memory, doubt, gate, carrier, outcome.

Called by ``Http``.  Promises: every effect passes here; nothing leaves without the gate's admission
under the job's claim; the job's mode alone chooses the carrier.

    remembered? ─ done: its answer          in doubt? ─ wait, then repeat or hold
        │                                        │
        └────────► carrier: connection ─ gate ─ first byte ─ answer ─► recorded ─► its meaning
"""

from __future__ import annotations

import hashlib
import random
from typing import NoReturn

import msgspec

from tenure.base import budget as budgets
from tenure.base.errors import CallFailed
from tenure.base.http import Response
from tenure.base.model import Asked
from tenure.flow import doubt, meaning
from tenure.flow.call import Call
from tenure.flow.carriers import Admission, Answered, Carried, Carrier, Flight
from tenure.flow.course import Course
from tenure.flow.desk import Taken
from tenure.flow.run import Run, Stale, Suspension, Waiting, waits
from tenure.flow.standin import placeholder

_LEAST_WAIT = 0.05
# Where a budget can never have room for a call, such as a read beside its reserve.
_NEVER_WAIT = 60.0
_LONGEST_SCOPE = 200
_PAUSED_DELAY = 1.0
# Short waits add up: beyond so many inline waits' worth the job gives its slot back.
_INLINE_SHARE = 5


# The record of a step moves once, or a few times where several witnesses come late.
_RECALLS = 5


class Carriers(msgspec.Struct, frozen=True):
    """The process's ways out: ``live`` to the outside, ``dry`` to nowhere."""

    live: Carrier
    dry: Carrier


class Full(Exception):
    """A budget has no room; the connection goes back unused."""

    def __init__(self, wait: float, name: str) -> None:
        """``wait`` seconds until there should be room."""
        super().__init__(name)
        self.wait = wait
        self.name = name


async def send(run: Run, call: Call, step: str, carriers: Carriers) -> Response:
    """The answer of a call, now or remembered; raises what its course says."""
    for _ in range(_RECALLS):
        try:
            return await _course(Course(run, call, step), carriers)
        except Stale:
            fresh = await run.desk.recall(run.job.id)
            fresh.steps = run.memory.steps | fresh.steps
            run.memory = fresh
    raise Waiting(Suspension("wait", delay=1.0, waits=waits("unsettled", step=step)))


async def _course(course: Course, carriers: Carriers) -> Response:
    sent = course.sent
    if sent is not None:
        answer = await doubt.settle(course, sent)
        if answer is not None:
            return answer
    if course.run.paused:
        raise Waiting(paused(course.step))
    if _suppressed(course):
        return await _suppress(course, carriers.dry)
    course.takes = await _takes(course)
    number = sent.send + 1 if sent else 1
    while True:
        try:
            carried = await _carry(course, number, carriers.live)
        except Full as full:
            await _wait_for_room(course, full)
            continue
        answer = await meaning.told(course, carried)
        if answer is not None:
            return answer
        number += 1


def _suppressed(course: Course) -> bool:
    """Whether a call of a dry-run or shadow job is answered by a stand-in."""
    if course.run.job.mode == "live":
        return False
    request = course.call.request
    text = request.url.encode() + request.body
    return not course.call.safe or any(name.encode() in text for name in course.run.stand_ins)


async def _suppress(course: Course, dry: Carrier) -> Response:
    carried = await dry.carry(course.outgoing(), _never)
    if not isinstance(carried, Answered):
        raise CallFailed(f"the stand-in for {course.call.operation} could not be made")
    await course.record(course.ask(1), "suppressed", carried.response, "would have been sent")
    course.run.stand_ins.add(placeholder(course.key))
    return carried.response


async def _never() -> NoReturn:
    raise CallFailed("a dry carrier asked for an admission")


def paused(step: str, *, lane: str | None = None) -> Suspension:
    """The wait for the end of a pause: at home, or in the strand of a lane that is paused.

    The strand keeps it; the delay is for one that missed the pause, and is mended soon.
    """
    delay = 0.0 if lane else _PAUSED_DELAY
    said = waits("paused", step=step, provider=lane)
    return Suspension("wait", delay=delay, lane=lane, waits=said)


async def _takes(course: Course) -> list[Taken]:
    """Every budget that matches the call, by id: the order in which the gate locks them."""
    call, run = course.call, course.run
    account = call.provider.account
    taken = []
    for budget in call.provider.entry.budgets:
        if not budget.matches(call.request.method, call.path):
            continue
        scope = ""
        if budget.scope != "account":
            scope = _bounded(
                budgets.scope_value(budget, account, call.request.method, call.path, call.operation)
            )
        row = await run.desk.budget(call.provider.name, account, budget, scope)
        taken.append(Taken(row, budget.cost, budget.name, budgets.send_window(budget)))
    return sorted(taken, key=lambda take: take.id)


def _bounded(scope: str) -> str:
    """A scope that an index can hold; a longer one by its digest."""
    if len(scope) <= _LONGEST_SCOPE:
        return scope
    return hashlib.sha256(scope.encode("utf-8", "backslashreplace")).hexdigest()


async def _carry(course: Course, number: int, live: Carrier) -> Carried:
    course.asked = None
    asked = course.ask(number)

    async def admit() -> Admission:
        return await _admit(course, asked)

    flight = Flight()
    try:
        return await live.carry(course.outgoing(), admit, flight)
    except Exception as error:
        # Admitted, and then found impossible to write: proved unsent, and the author's to mend.
        if course.asked is not None and not flight.first_byte:
            await course.record(course.asked, "not_sent", why=str(error))
        raise


async def _admit(course: Course, asked: Asked) -> Admission:
    """Ask the gate; raises ``Full``, ``Stale`` or ``Waiting`` where it does not admit."""
    run = course.run
    run.overrun()
    if run.suspension is not None:
        raise Waiting(run.suspension)
    passed = await run.desk.ask(asked, course.takes, _reserve(course))
    match passed.answer.verdict:
        case "admitted":
            course.asked = asked
            course.admitted = passed.admitted
        case "full":
            full = next((t for t in course.takes if t.id == passed.answer.budget), None)
            wait = passed.answer.wait
            wait = _NEVER_WAIT if wait is None else max(wait, _LEAST_WAIT)
            raise Full(wait, full.name if full else "budget")
        case "found":
            # Its admission was committed, but word of it came too late to send on.
            await course.record(asked, "not_sent", why="its admission was not heard of in time")
            raise Stale
        case "known" | "evidence":
            raise Stale
        case "lost" | "cancel" | "hold" as ended:
            raise Waiting(Suspension(ended))
        case "paused":
            raise Waiting(paused(course.step))
        case "lane_paused":
            raise Waiting(paused(course.step, lane=course.call.provider.lane))
    return Admission(
        admitted=passed.admitted,
        window=asked.send_window,
        deadline=passed.deadline,
        headers=course.key_headers(),
    )


def _reserve(course: Course) -> float:
    """The share of each budget that dry-run and shadow reads leave to live calls."""
    if course.run.job.mode == "live":
        return 0.0
    call = course.call
    matching = (b for b in call.provider.entry.budgets if b.matches(call.request.method, call.path))
    return max((budget.reserve for budget in matching), default=0.0)


async def _wait_for_room(course: Course, full: Full) -> None:
    lane = course.call.provider.lane
    why = waits("budget", budget=full.name, provider=lane, step=course.step)
    parked = Suspension("wait", delay=full.wait, lane=lane, waits=why)
    if course.waited > _INLINE_SHARE * course.run.max_inline_wait:
        raise Waiting(parked)
    # A little apart, so that those who wait for one slot do not all ask at once.
    delay = full.wait + random.uniform(0.0, 0.02)  # noqa: S311 - no secret hangs on it
    course.waited += delay
    await course.run.wait(delay, parked)
