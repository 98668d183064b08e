"""How a run ends its claim: from what a handler did to the row that says so.

Called by the runner.  Pure but for the dice of the backoff.  Promises: a suspension wins over
whatever the handler made of it; a failure that no repeat can mend spends no attempts on repeats; a
text that cannot be stored is made storable.
"""

from __future__ import annotations

import random
import traceback
from datetime import datetime

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
from tenure.flow.run import Suspension
from tenure.flow.signals import Defer, Fail, Hold, Retry

ERROR_LIMIT = 64_000
# What Tenure's own rules forbid, this version of the code will do again at every repeat.
_MISUSES = (Misused, StepError, CallForbidden, Unserialisable, UnknownName)
_HOPELESS = (*_MISUSES, CallRefused, InvalidInput, Fail)
_MISUSED = "It is not tried again: the same version would fail in the same way."

End = Finish | HandBack


def succeeded(job: Job, result: object, limit: int) -> End:
    """The end of a run that returned; a result that JSON cannot hold fails the job for good."""
    try:
        raw = json.encode(result)
    except Unserialisable as error:
        return failed(job, error)
    return Finish(job.id, job.fence, "succeeded", text.storable_json(raw, limit).decode())


def raised(
    job: Job, error: BaseException, automation: Automation[object, object], now: datetime
) -> End | None:
    """The end of a run that raised; None where the claim is over and nothing may be said."""
    error = _lone(error)
    if isinstance(error, LeaseLost):
        return None
    if isinstance(error, Defer):
        delay = error.after
        if delay is None:
            delay = (error.until - now).total_seconds() if error.until else 0.0
        waits = {"why": "deferred", "said": text.storable(error.reason, 1_000)}
        return HandBack(
            job.id, job.fence, "deferral", max(delay, 0.0), waits=json.encode(waits).decode()
        )
    if isinstance(error, Hold):
        return HandBack(
            job.id,
            job.fence,
            "hold",
            question=text.storable(error.question, 4_000),
            step=error.step,
            send_id=error.send_id,
        )
    after = error.after if isinstance(error, Retry) else None
    leaves = _leaves(error)
    hopeless = any(isinstance(leaf, _HOPELESS) or _misused(leaf) for leaf in leaves)
    if hopeless or job.failures + 1 >= automation.max_attempts:
        return failed(job, error)
    return again(job, type(error).__name__, described(error), automation, after)


def suspended(
    job: Job, why: Suspension, automation: Automation[object, object], strand: int | None
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
                question=text.storable(why.question, 4_000) if why.question else None,
                step=why.step,
                send_id=why.send_id,
            )
        case "failure" | "timeout":
            error = why.error or "the outcome of a call is unknown"
            error_class = "TimedOut" if why.kind == "timeout" else "OutcomeUnknown"
            if job.failures + 1 >= automation.max_attempts:
                return _finished(job, error_class, error)
            return again(job, error_class, error, automation, None, least=why.delay)
        case "wait" | "shutdown":
            waits = {"why": "shutdown"} if why.kind == "shutdown" else why.waits
            return HandBack(
                job.id,
                job.fence,
                "deferral",
                0.0 if strand is not None else why.delay,
                strand=strand,
                waits=json.encode(waits).decode(),
            )


def again(
    job: Job,
    error_class: str,
    error: str,
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
        waits=json.encode({"why": "backoff", "error": error_class}).decode(),
        error_class=text.storable(error_class, 200),
        error=text.storable(error, ERROR_LIMIT),
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


def failed(job: Job, error: BaseException) -> Finish:
    """A failure for good."""
    return _finished(job, type(error).__name__, described(error))


def _finished(job: Job, error_class: str, error: str) -> Finish:
    return Finish(
        job.id,
        job.fence,
        "failed",
        error_class=text.storable(error_class, 200),
        error=text.storable(error, ERROR_LIMIT),
    )


def described(error: BaseException) -> str:
    """The error's first line, then where it came from."""
    try:
        mark = f" {_MISUSED}" if any(_misused(leaf) for leaf in _leaves(error)) else ""
        said = f"{error}{mark}\n\n{''.join(traceback.format_exception(error))}"
    except BaseException as odd:  # noqa: BLE001 - an error that cannot be printed harms nobody
        return f"{type(error).__name__} cannot be printed ({type(odd).__name__})"
    return said
