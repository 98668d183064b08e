"""Nothing accepted is lost: every job ends, or stands held or waiting with its reason."""

from __future__ import annotations

import pytest

from tenure.embedded import Embedded
from tenure.store import migrate
from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.kit.automations import Order, app
from tests.kit.facts import until
from tests.kit.meeting import Meeting
from tests.kit.pgproxy import Proxy, When, drop, warn
from tests.kit.rows import Rows
from tests.stories.conftest import Start, answers, stop_at_once


def test_a_worker_killed_in_the_middle_of_a_handler_loses_nothing(
    start: Start, rows: Rows, meeting: Meeting, payments: Emulator
) -> None:
    """A job whose worker is killed mid-handler is run again by the next one, to its end."""
    job = rows.enqueue("charge", Order(7, "middle"))
    first = start(lease=2.0)
    meeting.wait_for("middle")
    first.kill()
    meeting.release("middle")
    start()
    ended = rows.until(job, "succeeded")
    assert (ended["result"], ended["crash_count"]) == (14, 1)
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]
    assert rows.broken_counts() == []


def test_a_worker_killed_while_a_provider_answers_loses_nothing(
    start: Start, rows: Rows, payments: Emulator
) -> None:
    """A job whose worker is killed after the effect and before the answer has its effect once."""
    job = rows.enqueue("charge", Order(1))
    with payments.hold("/v1/charges", when="after") as gate:
        first = start(lease=2.0, call_timeout=1.0)
        gate.wait_arrived()
        first.kill()
    start(call_timeout=1.0)
    rows.until(job, "succeeded")
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]
    states = [(call["step"], call["send"], call["state"]) for call in rows.calls(job)]
    assert states == [("charge", 1, "sending"), ("charge", 2, "done"), ("refund", 1, "done")]


def test_of_several_workers_one_may_die(
    start: Start, rows: Rows, meeting: Meeting, payments: Emulator
) -> None:
    """Forty jobs end, each with its effects once, though one of two workers is killed over them."""
    jobs = [rows.enqueue("charge", Order(n, "crowd")) for n in range(40)]
    first, second = start(lease=3.0), start(lease=3.0)
    second.wait_ready()
    mine = first.wait_ready()
    until(lambda: mine in [arrival.pid for arrival in meeting.at("crowd")], "it has a job")
    first.kill()
    meeting.release("crowd")
    start()
    assert rows.until_ended(len(jobs)) == {"succeeded": 40}
    keys = [effect.key for effect in payments.effects]
    assert (len(keys), len(set(keys))) == (80, 80)
    assert sum(rows.job(job)["crash_count"] for job in jobs) > 0
    assert rows.broken_counts() == []


def test_a_database_that_stops_without_a_word_loses_nothing(
    start: Start, server: Embedded, crm: Emulator
) -> None:
    """The database is stopped at once while answers are under way: all of it is kept, once."""
    database = Database(server.url)
    migrate.migrate(database)
    rows = Rows(database)
    rows.declare(app)
    jobs = [rows.enqueue("deal", Order(n)) for n in range(12)]
    with crm.hold("/notes", when="after") as gate:
        worker = start(server.url, lease=30.0, call_timeout=20.0)
        gate.wait_arrived(5)
        stop_at_once(server)
        until(lambda: not answers(database), "the database has stopped")
    until(lambda: answers(database), "the database is back")
    assert rows.until_ended(len(jobs)) == {"succeeded": 12}
    identities = [(effect.path, effect.body) for effect in crm.effects]
    assert (len(identities), len(set(identities))) == (24, 24)
    assert rows.questions() == []
    assert rows.broken_counts() == []
    assert worker.stop() == 0
    database.close()


def test_what_waits_for_a_person_says_so(start: Start, rows: Rows, crm: Emulator) -> None:
    """A job that cannot end by itself is held with its question, and not lost from sight."""
    job = rows.enqueue("deal", Order(3))
    with crm.hold("/deals", when="after") as gate:
        first = start(lease=2.0, call_timeout=1.0)
        gate.wait_arrived()
        first.kill()
    start(call_timeout=1.0)
    held = rows.until(job, "held")
    [question] = rows.questions(job)
    assert held["leased_until"] is None
    assert question["step"] == "deal"
    assert "/deals" in question["question"]
    assert len(crm.effects) == 1


# The network to the database breaks, or says that it does not know: at every statement of a job.

_STATEMENTS = ["claims/claim", "gate/gate", "records/outcomes", "records/steps", "ends/finish"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", _STATEMENTS)
def test_a_connection_to_the_database_that_breaks_loses_nothing(
    start: Start, rows: Rows, proxy: Proxy, crm: Emulator, *, statement: str, when: When
) -> None:
    """Whether or not the server has committed by then: the job ends, with each effect once."""
    trap = proxy.at(statement, when, act=drop)
    job = rows.enqueue("deal", Order(3))
    worker = start(proxy.url, lease=3.0)
    trap.wait_met()
    ended = rows.until(job, "succeeded")
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]
    assert len(crm.arrivals) == 2
    assert (ended["failure_count"], ended["quarantine_crashes"]) == (0, 0)
    assert rows.broken_counts() == []
    assert worker.stop() == 0


@pytest.mark.parametrize("statement", _STATEMENTS)
def test_a_commit_that_comes_back_with_a_warning_is_not_believed(
    start: Start, rows: Rows, proxy: Proxy, crm: Emulator, statement: str
) -> None:
    """Nothing is sent on it: what it was about is asked again, and comes to the same end."""
    trap = proxy.at(statement, "after", act=warn)
    job = rows.enqueue("deal", Order(3))
    worker = start(proxy.url, lease=3.0)
    trap.wait_met()
    rows.until(job, "succeeded")
    assert [effect.path for effect in crm.effects] == ["/deals", "/notes"]
    assert len(crm.arrivals) == 2
    if statement == "gate/gate":
        states = [(call["send"], call["state"]) for call in rows.calls(job, "deal")]
        assert states == [(1, "not_sent"), (2, "done")]
    assert rows.broken_counts() == []
    assert worker.stop() == 0
