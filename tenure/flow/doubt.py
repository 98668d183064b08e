"""What a step's record says of sending it (again): its answer, a wait, a repeat, or a hold.

Called at the start of a call's course.  Promises: what is done is never sent again; what is in
doubt waits until its send can no longer leave, is repeated only where the provider is known to
absorb it within the time it remembers keys, and is held otherwise, with a question for a person.
"""

from __future__ import annotations

from tenure.base import clock
from tenure.base.errors import CallRefused
from tenure.base.http import Response
from tenure.base.model import Outcome, Send
from tenure.flow.course import Course
from tenure.flow.run import Stale, Suspension, Waiting, waits

# A key is trusted for less than the provider promises: clocks and clean-ups differ.
_WINDOW_SHARE = 0.9


async def settle(course: Course, sent: Send) -> Response | None:
    """The remembered answer; None where the step may be sent (again) as ``course.request``."""
    if sent.testified:
        await _adopt(course, sent)
    answer = _remembered(course, sent)
    if answer is not None or course.call.safe:
        return answer
    if sent.next_epoch is not None and sent.next_epoch > sent.epoch:
        # Nothing of the old request is in doubt: what this run built leaves, under its own key.
        course.begin(sent.next_epoch)
        return None
    if not course.restore(sent):
        why = "its body was too large to keep, and this run built another one"
        raise Waiting(course.held(sent, why, status=sent.status))
    if sent.state in ("sending", "unknown", "refused"):
        await _may_repeat(course, sent)
    if course.drifted:
        job = course.run.job
        said = f"{course.step} differs from what was sent before; the first request leaves again"
        await course.run.desk.journal(job.id, job.fence, "drift", said, {"step": course.step})
    return None


def _remembered(course: Course, sent: Send) -> Response | None:
    """The answer that stands; None where the record leaves the step open; raises a refusal."""
    if sent.state in ("done", "suppressed"):
        return course.remembered(sent)
    if sent.state != "refused":
        return None
    answer = course.remembered(sent)
    if answer.status in course.call.accept:
        return answer
    if sent.next_epoch is None:
        raise refusal(course, answer)
    return None


def refusal(course: Course, response: Response) -> CallRefused:
    """The provider's refusal as the author sees it."""
    text = response.text().strip()[:300]
    said = f"{response.status}: {text}" if text else str(response.status)
    return CallRefused(
        f"{course.call.provider.name} refused {course.call.operation} ({said})",
        status=response.status,
        body=response.body,
        hint="Mend the request and retry the job, or take the status with accept=.",
    )


async def _adopt(course: Course, sent: Send) -> None:
    """Evidence of a worker that had lost its claim becomes the outcome."""
    job = course.run.job
    outcome = Outcome(
        job=job.id,
        fence=job.fence,
        send_id=sent.send_id,
        step=sent.step,
        send=sent.send,
        state=sent.state,
        status=sent.status,
        answer_headers=sent.answer_headers,
        answer=sent.answer,
        why=sent.why,
        stored=sent.stored,
        told_by="evidence",
    )
    if not await course.run.desk.outcome(outcome):
        raise Waiting(Suspension("lost"))


async def _may_repeat(course: Course, sent: Send) -> None:
    """Return where a repeat is absorbed; wait for an open send; hold the rest."""
    elapsed = clock.now() - course.run.memory.loaded
    rule, provider = course.call.rule, sent.provider
    prober = course.run.prober if course.call.probe and sent.state != "refused" else None
    # A probe is asked once nothing of the send can arrive any more, and what arrived can be seen.
    wait = sent.wait + course.call.provider.entry.settle if prober else sent.wait
    if (prober or sent.status is None) and wait > elapsed:
        delay = wait - elapsed
        said = waits("in doubt", step=sent.step, provider=provider)
        await course.run.wait(delay, Suspension("wait", delay=delay, waits=said))
        raise Stale  # somebody may have testified meanwhile
    if prober:
        await prober(course, sent)
        raise Stale  # what it told is on record
    if sent.stored:
        why = f"{provider} keeps its answer under that key"
        raise Waiting(course.held(sent, why, status=sent.status))
    if sent.policy != "resend" or rule is None:
        why = f"{provider} is not known to absorb a repeat"
        raise Waiting(course.held(sent, why, status=sent.status))
    if (
        sent.age + clock.now() - course.run.memory.loaded
        > rule.window * _WINDOW_SHARE - course.call.timeout
    ):
        why = f"{provider} may have forgotten the key by now"
        raise Waiting(course.held(sent, why, status=sent.status))
