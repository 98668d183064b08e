"""How a run ends its claim: from what a handler did to the row that says so.

Called by the runner.  Pure but for the dice of the backoff.  Promises: a suspension wins over
whatever the handler made of it; a failure that no repeat can mend spends no attempts on repeats;
what cannot be stored is made storable, and secrets are taken out of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from tenure.base import json, text
from tenure.base.errors import (
    CallForbidden,
    CallRefused,
    InvalidInput,
    LeaseLost,
    Misused,
    StepError,
    UnknownName,
    Unserialisable,
)
from tenure.base.http import Response
from tenure.base.model import Finish, HandBack, Job
from tenure.flow.automation import Automation
from tenure.flow.context import Context
from tenure.flow.crossing import Twin
from tenure.flow.http import Http
from tenure.flow.run import Suspension, waits
from tenure.flow.signals import Defer, Fail, Hold, Retry
from tenure.worker import trace
from tenure.worker.trace import Told

# What Tenure's own rules forbid, this version of the code will do again at every repeat.
_MISUSES = (Misused, StepError, CallForbidden, Unserialisable, UnknownName)
_HOPELESS = (CallRefused, InvalidInput, Fail)
_MISUSED = "It is not tried again: the same version would fail in the same way."

_LINE_LIMIT = 300

End = Finish | HandBack
Hide = Callable[[str], str]


def succeeded(job: Job, result: object, limit: int, hide: Hide = str) -> End:
    """The end of a run that returned; a result that JSON cannot hold fails the job for good."""
    try:
        raw = json.encode(result)
    except Unserialisable as error:
        return failed(job, error, hide)
    return Finish(job.id, job.fence, "succeeded", text.storable_json(raw, limit).decode())


def raised(
    job: Job,
    error: BaseException,
    automation: Automation[object, object],
    now: datetime,
    hide: Hide = str,
) -> End | None:
    """The end of a run that raised; None where the claim is over and nothing may be said."""
    error = _lone(error)
    if isinstance(error, LeaseLost):
        return None
    if isinstance(error, Defer):
        delay = error.after
        if delay is None:
            delay = (error.until - now).total_seconds() if error.until else 0.0
        said = text.storable(hide(error.reason), 1_000)
        why = json.encode(waits("deferred", said=said)).decode()
        return HandBack(job.id, job.fence, "deferral", max(delay, 0.0), waits=why)
    if isinstance(error, Hold):
        return HandBack(
            job.id,
            job.fence,
            "hold",
            question=text.storable(hide(error.question), 4_000),
            step=error.step,
            send_id=error.send_id,
        )
    after = error.after if isinstance(error, Retry) else None
    leaves = _leaves(error)
    misused = any(_misused(leaf) for leaf in leaves)
    told = trace.told(error, hide, handler=automation.fn, remark=_MISUSED if misused else "")
    hopeless = misused or any(isinstance(leaf, _HOPELESS) for leaf in leaves)
    if hopeless or job.failures + 1 >= automation.max_attempts:
        return _finished(job, told)
    return again(job, told, automation, after)


def suspended(
    job: Job,
    why: Suspension,
    automation: Automation[object, object],
    strand: int | None,
    hide: Hide = str,
) -> End | None:
    """The end of a run that was suspended; ``strand``: where it is parked, None at home."""
    match why.kind:
        case "lost":
            return None
        case "cancel":
            return Finish(job.id, job.fence, "cancelled")
        case "hold":
            return HandBack(
                job.id,
                job.fence,
                "hold",
                question=text.storable(hide(why.question), 4_000) if why.question else None,
                kind="doubt" if why.question else "operator",
                step=why.step,
                send_id=why.send_id,
            )
        case "failure" | "timeout":
            said = why.error or "the outcome of a call is unknown"
            error_class = "TimedOut" if why.kind == "timeout" else "OutcomeUnknown"
            told = trace.words(error_class, said, hide)
            if job.failures + 1 >= automation.max_attempts:
                return _finished(job, told)
            return again(job, told, automation, None, least=why.delay)
        case "wait" | "shutdown":
            said_why = waits("shutdown") if why.kind == "shutdown" else why.waits
            return HandBack(
                job.id,
                job.fence,
                "deferral",
                0.0 if strand is not None else why.delay,
                strand=strand,
                waits=hide(json.encode(said_why).decode()),
            )


def again(
    job: Job,
    told: Told,
    automation: Automation[object, object],
    after: float | None,
    *,
    least: float = 0.0,
) -> HandBack:
    """A failure with attempts left: due at the backoff, or after a time the handler said."""
    delay = after
    if delay is None:
        dice = random.random()  # noqa: S311 - jitter, no secret hangs on it
        delay = automation.backoff.delay(job.failures + 1, dice)
    return HandBack(
        job.id,
        job.fence,
        "failure",
        max(delay, least),
        waits=json.encode(waits("backoff", error=told.error_class)).decode(),
        error_class=told.error_class,
        error=told.error,
        traceback=told.traceback,
    )


def _misused(error: BaseException) -> bool:
    """Whether something of Tenure's was used as it cannot be, a name it has not among that."""
    if isinstance(error, AttributeError):
        return isinstance(error.obj, Context | Http | Twin | Response)
    return isinstance(error, _MISUSES)


def _leaves(error: BaseException) -> list[BaseException]:
    """What a task group gathered, however deep; the error itself where it is no group."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]


def _lone(error: BaseException) -> BaseException:
    """A task group that holds one error means that error: a signal raised in it is heard."""
    leaves = _leaves(error)
    return leaves[0] if len(leaves) == 1 else error


def line(job: Job, end: End, now: datetime) -> str | None:
    """One line for the log on a run that failed or was held, and on what follows; else None."""
    if isinstance(end, HandBack) and end.ended == "hold" and end.question:
        return f"job {job.id} ({job.automation}) is held: {_shown(end.question)}"
    if end.error is None:
        return None
    follows = "it has failed for good"
    if isinstance(end, HandBack):
        due = now + timedelta(seconds=end.delay)
        follows = f"it is tried again at {due:%Y-%m-%d %H:%M:%S} UTC"
    said = f"{end.error_class}: {_shown(end.error)}"
    return f"job {job.id} ({job.automation}), claim {job.fence}: {said}; {follows}"


def _shown(words: str) -> str:
    """The beginning of a text as it fits into a line, whatever characters it holds."""
    first = words.split("\n", 1)[0]
    cut = first if len(first) <= _LINE_LIMIT else f"{first[:_LINE_LIMIT]}…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


def failed(job: Job, error: BaseException, hide: Hide = str) -> Finish:
    """A failure for good."""
    return _finished(job, trace.told(error, hide))


def _finished(job: Job, told: Told) -> Finish:
    return Finish(
        job.id,
        job.fence,
        "failed",
        error_class=told.error_class,
        error=told.error,
        traceback=told.traceback,
    )
