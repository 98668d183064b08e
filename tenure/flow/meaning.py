"""What came of a send: recorded first, then acted on.

Called by a call's course with what the carrier brought back.  Promises: the outcome is on record
before anybody acts on it; a throttle closes the right budgets for all workers and costs no attempt;
what is unknown is never taken for a success or a failure.
"""

from __future__ import annotations

import msgspec

from tenure.base import clock
from tenure.base.answers import Answer, classify
from tenure.base.errors import CallFailed
from tenure.base.http import Response
from tenure.base.model import Asked
from tenure.flow.carriers import Answered, Carried, NotSent
from tenure.flow.course import Course
from tenure.flow.doubt import refusal
from tenure.flow.run import Suspension, Waiting, Why, waits

_VOIDS_REPORTED = 3
_VOIDS_GIVEN_UP = 10
_LEAST_WAIT = 0.05
_UNSTATED_WAIT = 1.0
_LONGEST_UNSTATED = 60.0


async def told(course: Course, carried: Carried) -> Response | None:
    """The answer where it is accepted; None where the call is to go again; raises all else."""
    asked = course.asked
    if asked is None:
        reason = getattr(carried, "reason", "no admission was asked for")
        raise CallFailed(
            f"{course.call.operation} could not be sent ({reason}): nothing left",
            hint="It is tried again at the automation's backoff.",
        )
    if isinstance(carried, NotSent):
        await _not_sent(course, asked, carried)
        return None
    if not isinstance(carried, Answered):
        await course.record(asked, "unknown", why=carried.reason)
        raise _unknown(course, asked, carried.reason)
    response = carried.response
    meaning = classify(
        course.call.provider.entry,
        course.request,
        response,
        key_sent=asked.wire_key is not None,
        safe=course.call.safe,
    )
    if _twice(course, meaning, response):
        meaning = msgspec.structs.replace(meaning, stored=True)
    # What the provider remembers of another request tells nothing of what became of it.
    state = "unknown" if meaning.state == "in_flight" or meaning.mismatch else meaning.state
    await course.record(asked, state, response, meaning.why, stored=meaning.stored)
    return await _acted(course, asked, response, meaning)


def _twice(course: Course, meaning: Answer, response: Response) -> bool:
    """Whether a key that keeps failures, without marking them, has brought the same one again."""
    rule, sent = course.call.rule, course.sent
    if rule is None or not rule.stores_failures or rule.replay_marker or sent is None:
        return False
    again = (sent.epoch, sent.state, sent.status) == (course.epoch, "unknown", response.status)
    return again and meaning.state == "unknown" and response.status >= 500


async def _acted(
    course: Course, asked: Asked, response: Response, meaning: Answer
) -> Response | None:
    match meaning.state:
        case "done":
            return response
        case "refused":
            if response.status in course.call.accept:
                return response
            if meaning.mismatch:
                mismatch = f"{meaning.why}; it holds another request"
                raise Waiting(course.held(asked, mismatch, status=response.status))
            raise refusal(course, response)
        case "throttled" | "overloaded" as why:
            await _throttled(course, meaning, why)
            return None
        case "in_flight":
            wait = max(meaning.wait or _UNSTATED_WAIT, _LEAST_WAIT)
            said = _waits(course, "key in flight")
            await course.run.wait(wait, Suspension("wait", delay=wait, waits=said))
            return None
        case _:
            raise _unknown(course, asked, meaning.why, meaning=meaning, status=response.status)


async def _not_sent(course: Course, asked: Asked, carried: NotSent) -> None:
    """An admission that was not used; the budget's unit stays spent."""
    await course.record(asked, "not_sent", why=carried.reason)
    course.voids += 1
    job = course.run.job
    if course.voids == _VOIDS_REPORTED:
        said = f"{course.voids} admissions in a row were not used ({carried.reason})"
        await course.run.desk.journal(job.id, job.fence, "void", said, {"step": course.step})
    if course.voids >= _VOIDS_GIVEN_UP:
        raise CallFailed(
            f"{course.call.operation} was admitted {course.voids} times and never left in time "
            f"({carried.reason})",
            hint="The process is too busy to send within the window: lower its concurrency.",
        )


async def _throttled(course: Course, meaning: Answer, why: Why) -> None:
    """Close the budgets for everybody, then wait like everybody."""
    wait = meaning.wait
    if wait is None:
        wait = min(_UNSTATED_WAIT * 2.0**course.throttles, _LONGEST_UNSTATED)
    wait = max(wait, _LEAST_WAIT)
    course.throttles += 1
    named = [take.id for take in course.takes if take.name == meaning.budget]
    rows = named or [take.id for take in course.takes]
    lane = course.call.provider.lane
    if rows:
        await course.run.desk.close_budgets(rows, wait, f"{lane}: {meaning.why}")
    said = _waits(course, why)
    await course.run.wait(wait, Suspension("wait", delay=wait, lane=lane, waits=said))


def _unknown(
    course: Course,
    asked: Asked,
    reason: str,
    *,
    meaning: Answer | None = None,
    status: int | None = None,
) -> Exception:
    """A safe call failed and may be made again; an unsafe one is resent later, or held."""
    if course.call.safe:
        return CallFailed(f"{course.call.operation} got no usable answer ({reason})")
    if course.call.probe is not None:
        until = asked.send_window + asked.timeout + course.call.provider.entry.settle
        delay = max(until - (clock.now() - course.admitted), 0.0)
        return Waiting(Suspension("wait", delay=delay, waits=_waits(course, "in doubt")))
    if course.call.rule is None:
        why = f"{reason}; {asked.provider} absorbs no repeat"
        return Waiting(course.held(asked, why, status=status))
    if meaning is not None and meaning.stored:
        why = f"{reason}; {asked.provider} keeps that answer"
        return Waiting(course.held(asked, why, status=status))
    # Without an answer the request may still be on its way: not before send_until.
    until = asked.send_window + asked.timeout if meaning is None else 0.0
    delay = max(until - (clock.now() - course.admitted), 0.0)
    said = (
        f"the outcome of {asked.method} {asked.url} is unknown ({reason}); "
        "it goes again under the same key"
    )
    return Waiting(Suspension("failure", delay=delay, error=said, step=course.step))


def _waits(course: Course, why: Why) -> dict[str, object]:
    return waits(why, provider=course.call.provider.lane, step=course.step)
