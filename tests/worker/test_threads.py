"""A plain function is a handler too: it runs in a thread, and every promise holds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tenure import Context, SyncContext, Tenure
from tenure.base.errors import ConfigurationError
from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.facts import until
from tests.kit.hands import Hand, taken_from
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker
from tests.worker.in_threads import app

_APP = "tests.worker.in_threads:app"
Begin = Callable[..., Worker]


@pytest.fixture
def rows(database: Database) -> Rows:
    """The plain functions, live."""
    rows = Rows(database)
    rows.declare(app)
    return rows


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """Where a handler says what nobody else would hear."""
    return tmp_path / "said"


@pytest.fixture
def begin(database_url: str, crm: Emulator, meeting: Meeting, said: Path) -> Iterator[Begin]:
    """Starts the one worker of a test."""
    environ = {**providers(crm=crm.url, said=str(said)), **meeting.environ}
    workers: list[Worker] = []

    def begun(**settings: float) -> Worker:
        workers.append(Worker(database_url, _APP, environ=environ, settings=settings).start())
        return workers[-1]

    yield begun
    for worker in workers:
        worker.__exit__(None, None, None)


def _beat(rows: Rows) -> None:
    """Wait until the worker has beaten once more."""
    seen = rows.one("select last_seen from tenure.workers")["last_seen"]
    until(lambda: rows.one("select last_seen from tenure.workers")["last_seen"] > seen, "a beat")


def _act(rows: Rows, act: str, job: UUID) -> str:
    texts = {
        "cancel": "select tenure.cancel(%(id)s, 'test', 'test') as became",
        "hold": "select tenure.hold_job(%(id)s, 'test', 'test') as became",
    }
    return str(rows.one(texts[act], id=job)["became"])


def test_a_handler_and_its_steps_run_in_one_thread_named_after_the_job(
    begin: Begin, rows: Rows
) -> None:
    """``current()`` finds its context there; a thread of the author's computes its own steps."""
    job = rows.enqueue("places")
    begin()
    ended = rows.until(job, "succeeded", "failed")
    assert ended["result"] == [f"places {job}", f"places {job} for {job}", "True", "own thread"]


def test_what_a_step_raises_comes_with_the_authors_frames(begin: Begin, rows: Rows) -> None:
    """The traceback leads from the handler through its own functions to the line that failed."""
    job = rows.enqueue("traced")
    begin()
    failed = rows.until(job, "failed")
    assert failed["error_class"] == "ZeroDivisionError"
    lines = ["_through(ctx)", 'ctx.step("broken", _broken, 0)', "return 1 // n"]
    places = [failed["traceback"].find(line) for line in lines]
    assert -1 not in places
    assert places == sorted(places)


def test_threads_of_the_authors_own_may_use_the_context(begin: Begin, rows: Rows) -> None:
    """One step name, asked for by eight threads at once, is given to exactly one of them."""
    job = rows.enqueue("crowd", 8)
    begin()
    assert rows.until(job, "succeeded")["result"] == ["DuplicateStep"] * 7 + ["NoneType"]


@pytest.mark.parametrize(
    ("way", "error_class", "words"),
    [
        ("an async step", "StepError", "'async' of a `def` handler was given an async function"),
        ("a step that gives a coroutine", "StepError", "'given' of a `def` handler was given an"),
        ("a coroutine returned", "ConfigurationError", "returned something to be awaited"),
        ("the other context", "ConfigurationError", "here is a SyncContext, not a Context"),
    ],
)
def test_what_belongs_to_the_other_kind_is_refused(
    begin: Begin, rows: Rows, way: str, error_class: str, words: str
) -> None:
    """It fails at once with a sentence that says what to write instead."""
    job = rows.enqueue("misused", way)
    begin()
    failed = rows.until(job, "failed", "succeeded")
    assert (failed["state"], failed["error_class"]) == ("failed", error_class)
    assert words in failed["error"].splitlines()[0]


def test_an_async_handler_has_no_sync_context(begin: Begin, rows: Rows) -> None:
    """Asked for the other kind, ``current`` says which one is there."""
    job = rows.enqueue("inside")
    begin()
    assert "is a Context, not a SyncContext" in rows.until(job, "succeeded")["result"]


@pytest.mark.parametrize(("act", "state"), [("cancel", "cancelled"), ("hold", "held")])
def test_a_handler_that_computes_ends_at_its_next_call(
    begin: Begin, rows: Rows, meeting: Meeting, said: Path, *, crm: Emulator, act: str, state: str
) -> None:
    """It cannot be interrupted: its claim goes on until it has returned, and it acts no more."""
    job = rows.enqueue("computing", "here")
    begin()
    meeting.wait_for("here")
    assert _act(rows, act, job) == "asked"
    _beat(rows)
    assert rows.job(job)["state"] == "running"
    meeting.release("here")
    assert rows.until(job, state, "succeeded")["state"] == state
    assert "Suspend" in said.read_text().splitlines()[-1]
    assert (rows.calls(job), crm.effects) == ([], ())
    assert rows.broken_counts() == []


def test_a_cancel_unwinds_a_handler_that_waits_for_its_call(
    begin: Begin, rows: Rows, crm: Emulator, said: Path
) -> None:
    """The thread is unwound at once, its finally runs, and the call is carried to its end."""
    job = rows.enqueue("unwound")
    with crm.hold("/held", when="after") as gate:
        begin()
        gate.wait_arrived()
        assert _act(rows, "cancel", job) == "asked"
        until(lambda: said.exists() and said.read_text() == "Suspend finally", "it is unwound")
        assert rows.job(job)["state"] == "running"
    rows.until(job, "cancelled")
    assert [(call["step"], call["state"]) for call in rows.calls(job)] == [("held", "done")]


def test_a_handler_that_computes_beyond_its_time_ends_when_it_returns(
    begin: Begin, rows: Rows, meeting: Meeting, crm: Emulator
) -> None:
    """It cannot be stopped: it acts no more, and keeps its claim until it has returned."""
    job = rows.enqueue("late", "here")
    worker = begin()
    meeting.wait_for("here")
    until(lambda: worker.said(f"job {job} of late timed out"), "its time is over")
    _beat(rows)
    assert rows.job(job)["state"] == "running"
    meeting.release("here")
    assert meeting.wait_for("refused")[0].brought == "Suspend"
    assert rows.job(job)["state"] == "running"
    meeting.release("refused")
    failed = rows.until(job, "failed", "succeeded")
    assert (failed["error_class"], failed["error"]) == ("TimedOut", "timed out after 500 ms")
    assert (rows.calls(job), crm.effects) == ([], ())


def test_a_handler_that_waits_beyond_its_time_is_unwound(
    begin: Begin, rows: Rows, meeting: Meeting, crm: Emulator
) -> None:
    """Its thread goes on at once, while its call is carried to its end."""
    job = rows.enqueue("overdue")
    meeting.release("unwound")
    with crm.hold("/held", when="after") as gate:
        begin()
        gate.wait_arrived()
        assert meeting.wait_for("unwound")[0].brought == "Suspend"
        assert rows.job(job)["state"] == "running"
    assert rows.until(job, "failed", "succeeded")["error_class"] == "TimedOut"
    assert [(call["step"], call["state"]) for call in rows.calls(job)] == [("held", "done")]


def test_a_handler_whose_claim_was_lost_says_and_does_nothing_more(
    begin: Begin, rows: Rows, meeting: Meeting, clock: Clock, *, crm: Emulator, said: Path
) -> None:
    """Its next call raises; the claim of another worker is untouched by all that it does."""
    job = rows.enqueue("computing", "here")
    worker = begin(lease=10.0)
    pid = worker.wait_ready()
    meeting.wait_for("here")
    worker.freeze(pid)
    clock.advance(11.0)
    hand = Hand(rows.database.url, lease=600.0)
    theirs = taken_from(hand, rows.database, job)
    worker.thaw()
    until(lambda: worker.said("its lease was lost"), "the worker has heard of it")
    meeting.release("here")
    until(lambda: said.exists() and "Suspend" in said.read_text(), "it was refused")
    assert worker.stop() == 0
    row = rows.job(job)
    assert (row["state"], row["worker_id"], row["fence"]) == ("running", hand.worker, theirs.fence)
    assert (rows.calls(job), crm.effects) == ([], ())
    hand.close()


def test_a_drain_hands_back_what_returns_in_time(
    begin: Begin, rows: Rows, meeting: Meeting, said: Path
) -> None:
    """At its next call after SIGTERM a handler is unwound, and its job goes back uncharged."""
    job = rows.enqueue("computing", "here")
    worker = begin(drain=20.0)
    meeting.wait_for("here")
    worker.terminate()
    until(lambda: rows.read(_CLAIMS_NO_MORE), "it drains")
    meeting.release("here")
    assert worker.popen.wait(30.0) == 0
    back = rows.job(job)
    assert (back["state"], back["failure_count"], back["deferral_count"]) == ("ready", 0, 1)
    assert "Suspend" in said.read_text()


# The claiming connection goes when a drain begins, and before any other.
_CLAIMS_NO_MORE = """
    select 1 as gone where not exists (
        select from pg_stat_activity
         where datname = current_database() and application_name = 'tenure claim')
"""


def test_a_deaf_handler_stops_nobody_and_its_claim_is_left_to_lapse(
    begin: Begin, rows: Rows, meeting: Meeting
) -> None:
    """Others run beside it, the worker ends when its grace is over, and says which job it left."""
    job = rows.enqueue("deaf", "here")
    worker = begin(concurrency=2, drain=0.5, lease=60.0)
    meeting.wait_for("here")
    others = [rows.enqueue("quick", n) for n in range(20)]
    assert rows.until_ended(20) == {"succeeded": 20, "running": 1}
    assert worker.stop() == 0
    assert worker.said(f"grace (deaf {job})")
    row = rows.job(job)
    assert (row["state"], rows.attempts(job)) == ("running", [])
    assert {rows.job(other)["failure_count"] for other in others} == {0}


def test_a_thousand_jobs_use_as_many_threads_as_there_are_slots(begin: Begin, rows: Rows) -> None:
    """Threads are used again, and there are never more than jobs that may run at once."""
    rows.read("select tenure.enqueue('quick', n::text::json) from generate_series(1, 1000) as n")
    begin(concurrency=5)
    assert rows.until_ended(1000) == {"succeeded": 1000}
    results = [row["result"] for row in rows.read("select result from tenure.finished_jobs")]
    assert 1 <= len({thread for thread, _ in results}) <= 5
    assert max(idle for _, idle in results) < 5


def test_what_cannot_be_a_handler_is_refused_where_it_is_declared() -> None:
    """The context of the other kind, and a function that yields."""
    own = Tenure()

    def wrong(ctx: Context) -> None: ...

    async def other(ctx: SyncContext) -> None: ...

    def yielding(ctx: SyncContext) -> Iterator[int]:
        yield 1

    with pytest.raises(ConfigurationError, match="'wrong' takes a Context"):
        own.automation(wrong)  # type: ignore[arg-type]  # as types do
    with pytest.raises(ConfigurationError, match="'other' takes a SyncContext"):
        own.automation(other)
    with pytest.raises(ConfigurationError, match="'yielding' is no function that returns"):
        own.automation(yielding)
    assert own.automations == {}
