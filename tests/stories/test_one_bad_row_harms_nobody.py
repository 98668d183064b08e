"""One bad row harms nobody: whatever a payload, an error or a result is, it ends its own job."""

from __future__ import annotations

from uuid import UUID

import pytest

from tenure.store.database import Database
from tests.kit.facts import until
from tests.kit.kinds import either, live
from tests.kit.meeting import Meeting
from tests.kit.odd import RESULTS, app
from tests.kit.rows import Rows
from tests.kit.worker import Worker

_APP = "tests.kit.odd:app"

# What goes wrong -> the error's class, and words of the one line that says so.
_ERRORS = {
    "an error with NUL": ("ValueError", "a␀b\\ud800"),
    "an error without words": ("Unprintable", "cannot be printed"),
    "an error of two megabytes": ("ValueError", "xxx"),
    "an exit": ("ExitRefused", "exit"),
    "an exit in a step": ("ExitRefused", "exit"),
    "endless recursion": ("RecursionError", "recursion"),
    "a cancelled task": ("CancelledError", "cancelled"),
    "an interrupt": ("ExitRefused", "exit"),
    "a step name used twice": ("DuplicateStep", "'same' was used twice"),
    "a step name with a line feed": ("StepError", "U+000A"),
    "an effect without a name": ("UnnamedEffect", "POST /deals changes something and has no step"),
    "a host of somebody else": ("CallForbidden", "api.stripe.com"),
    "a secret that is missing": ("MissingSecret", "KIT_SECRET_THAT_NOBODY_SET"),
    "a provider nobody declared": ("UnknownName", "Did you mean 'crm'"),
    "a step whose result JSON cannot hold": ("Unserialisable", "object"),
    "a result that JSON cannot hold": ("Unserialisable", "object"),
}
_KEPT = {
    "a result with NUL": "a\0b",
    "a result with half a letter": "a\ud800b",
    "a result that is no number": None,
    "a result with a very long number": 10**40,
    "a task that nobody awaits": [False],
}


@pytest.fixture
def odd(database: Database) -> Rows:
    """The automations that go wrong, live."""
    rows = Rows(database)
    rows.declare(app)
    return rows


@either(_APP)
def test_whatever_a_handler_does_ends_its_own_job_alone(
    odd: Rows, database_url: str, path: str
) -> None:
    """Each odd job ends with one line that says why; the jobs beside it succeed."""
    live(odd, path)
    beside = [odd.enqueue("bystander", "") for _ in range(10)]
    ways = {*_ERRORS, *RESULTS, *_KEPT}
    jobs = {way: odd.enqueue("odd", way) for way in sorted(ways)}
    beside += [odd.enqueue("bystander", "") for _ in range(10)]
    with Worker(database_url, path) as worker:
        odd.until_ended(len(jobs) + len(beside))
        assert worker.stop() == 0
    assert {odd.job(job)["state"] for job in beside} == {"succeeded"}
    for way, (error_class, words) in _ERRORS.items():
        job = odd.job(jobs[way])
        assert (way, job["state"], job["error_class"]) == (way, "failed", error_class)
        assert words in job["error"].splitlines()[0], way
        assert len(job["error"]) < 70_000, way
    for way in _KEPT:
        assert (way, odd.job(jobs[way])["state"]) == (way, "succeeded")
    assert odd.broken_counts() == []


@either(_APP)
def test_results_are_kept_as_they_were_or_say_how_they_were_cut(
    odd: Rows, database_url: str, path: str
) -> None:
    """Odd text, no number, a long one: kept; two megabytes: cut, with a mark."""
    live(odd, path)
    jobs = {way: odd.enqueue("odd", way) for way in [*_KEPT, "a result of two megabytes"]}
    with Worker(database_url, path):
        odd.until_ended(len(jobs))
    texts = {
        way: odd.one(
            "select result::text as result from tenure.finished_jobs where id = %(id)s", id=job
        )["result"]
        for way, job in jobs.items()
    }
    assert texts["a result with NUL"] == '"a\\u0000b"'
    assert texts["a result with half a letter"] == '"a\\ud800b"'
    assert texts["a result that is no number"] == "null"
    assert texts["a result with a very long number"] == str(10**40)
    assert texts["a result of two megabytes"].startswith('{"tenure:cut":{"bytes":2000002')


@pytest.mark.parametrize(
    ("automation", "given", "result"),
    [
        ("by_struct", '{"lines": [{"id": 1, "amount": 2.5}, {"id": 2, "amount": 1}]}', 3.5),
        ("by_model", '{"name": "ada", "lines": [{"id": 7, "amount": 1}]}', "ADA7"),
        ("by_dataclass", '{"text": "good"}', {"text": "good", "stars": 1}),
    ],
)
def test_an_input_has_its_declared_type(
    odd: Rows, database_url: str, automation: str, given: str, result: object
) -> None:
    """msgspec, pydantic, dataclasses: a handler is given what it declares."""
    job = _enqueued(odd, automation, given)
    with Worker(database_url, _APP):
        assert odd.until(job, "succeeded", "failed")["result"] == result


def _enqueued(odd: Rows, automation: str, text: str) -> UUID:
    """As a caller in SQL does it, whose input nobody checks at the door."""
    made = odd.one(
        "select job_id from tenure.enqueue(%(name)s, %(given)s::json)", name=automation, given=text
    )
    job: UUID = made["job_id"]
    return job


def test_an_input_that_does_not_fit_fails_with_its_path_and_value(
    odd: Rows, database_url: str
) -> None:
    """It fails at once, spends no attempt on repeats, and says where and what."""
    wrong = {
        _enqueued(odd, "by_struct", '{"lines": [{"id": 1, "amount": "much"}]}'): (
            "$.lines[0].amount",
            "'much'",
        ),
        _enqueued(odd, "by_model", '{"name": "ada", "lines": [{"id": "x", "amount": 1}]}'): (
            "$.lines[0].id",
            "'x'",
        ),
        _enqueued(odd, "by_dataclass", '{"text": "good", "stars": null}'): ("$.stars", "None"),
        _enqueued(odd, "by_dataclass", '{"text": "\\ufffe", "stars": []}'): ("$.stars", "[]"),
    }
    with Worker(database_url, _APP):
        odd.until_ended(len(wrong))
    for id, (path, value) in wrong.items():
        job = odd.job(id)
        assert (job["state"], job["error_class"]) == ("failed", "InvalidInput")
        first = job["error"].splitlines()[0]
        assert path in first
        assert value in first
        assert job["failure_count"] == 1


@either(_APP)
def test_a_job_that_kills_its_process_is_held_and_its_bystanders_are_not_blamed(
    odd: Rows, database_url: str, path: str, meeting: Meeting
) -> None:
    """Run alone from its second crash on, it is held after three more; the others succeed."""
    live(odd, path)
    beside = [odd.enqueue("bystander", "crowd") for _ in range(4)]
    job = odd.enqueue("killer", "crowd")
    with Worker(database_url, path, environ=meeting.environ, lease=2.0):
        meeting.wait_for("crowd", 5)
        meeting.release("crowd")
        held = odd.until(job, "held", within=100.0)
        odd.until_ended(len(beside))
    assert (held["crash_count"], held["quarantine_crashes"], held["fence"]) == (4, 3, 4)
    assert "ended 3 times while it ran alone" in odd.questions(job)[0]["question"]
    others = [odd.job(other) for other in beside]
    assert {other["state"] for other in others} == {"succeeded"}
    assert {(other["crash_count"], other["quarantine_crashes"]) for other in others} == {(1, 0)}
    assert odd.broken_counts() == []


def test_a_handler_that_blocks_its_process_keeps_its_lease_and_is_named(
    odd: Rows, database_url: str, meeting: Meeting
) -> None:
    """Leases are renewed beside the event loop, and the log says who blocks it."""
    job = odd.enqueue("blocker", "here")
    with Worker(database_url, _APP, environ=meeting.environ, lease=2.0) as worker:
        meeting.wait_for("here")
        claimed = odd.job(job)["claimed_at"]
        until(
            lambda: (odd.job(job)["heartbeat_at"] - claimed).total_seconds() > 4.0,
            "the lease has been renewed beyond its length",
        )
        assert odd.job(job)["state"] == "running"
        assert worker.said(f"job {job} (blocker) has blocked the event loop")
        meeting.release("here")
        assert odd.until(job, "succeeded")["claim_count"] == 1
