"""Schedules as rows: declaring moves nothing, a tick is made once, what was missed is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tenure.base import json, ticks
from tenure.base.errors import ConfigurationError
from tenure.base.model import Declared
from tenure.base.schedules import Intent, intent
from tenure.base.secrets import env
from tenure.store import automations, pauses, schedules, sources
from tenure.store.database import Database, statement
from tenure.store.schedules import DueSchedule, Made
from tenure.store.sources import DeclaredSource
from tests.conftest import Clock
from tests.house.test_plans import nodes
from tests.kit.facts import until
from tests.kit.hands import beside

HOUR = timedelta(hours=1)


def _hourly(
    *,
    zone: str | None = None,
    anchor: datetime | None = None,
    misfire: str = "one",
    limit: int | None = None,
) -> Intent:
    return intent("hourly", every=HOUR, zone=zone, anchor=anchor, misfire=misfire, limit=limit)


def _listening(database: Database, *names: str) -> None:
    for name in names:
        automations.declare(database, Declared(name=name, version="1", listens=("hourly",)), by="t")


def _declare(database: Database, kept: Intent) -> datetime:
    due = schedules.declare(database, "hourly", kept, by="test")
    assert due is not None
    return due


def _tick(database: Database) -> list[Made] | None:
    [found] = schedules.due(database)
    assert found.wait <= 0
    return _make(database, found)


def _make(database: Database, found: DueSchedule) -> list[Made] | None:
    plan = ticks.plan(found.intent, found.next_at, found.now)
    return schedules.tick(database, found, plan, uuid4())


def _at_next(database: Database, clock: Clock, beyond: float = 1.0) -> None:
    [found] = schedules.due(database)
    clock.advance(found.wait + beyond)


def test_a_tick_is_one_event_with_a_job_for_all_that_listen(
    database: Database, clock: Clock
) -> None:
    """The event is the tick as JSON, keyed by its moment; the jobs name the schedule."""
    _listening(database, "one", "two")
    due = _declare(database, _hourly(zone="Europe/Berlin"))
    _at_next(database, clock)
    made = _tick(database)
    assert made is not None
    assert [(each.key, each.outcome, each.jobs) for each in made] == [
        (ticks.key(due), "accepted", 2)
    ]
    [event] = database.execute("select * from tenure.events")
    assert (event["source"], event["key"], event["id"]) == (
        "hourly",
        ticks.key(due),
        made[0].event_id,
    )
    assert json.convert(json.decode(event["body"]), ticks.Tick).at == due
    jobs = database.execute("select automation, created_by, event_id from tenure.jobs order by 1")
    assert [(job["automation"], job["created_by"]) for job in jobs] == [
        ("one", "schedule:hourly"),
        ("two", "schedule:hourly"),
    ]
    [row] = schedules.listed(database)
    assert (row.last_at, row.next_at) == (due, due + HOUR)
    assert database.execute("select 1 as one from tenure.misfires") == []


def test_of_two_that_make_a_tick_one_does(database: Database, clock: Clock) -> None:
    """Who read the row before another moved it on makes nothing."""
    _listening(database, "one")
    _declare(database, _hourly())
    _at_next(database, clock)
    [first], [second] = schedules.due(database), schedules.due(database)
    assert _make(database, first) is not None
    assert _make(database, second) is None
    assert len(database.execute("select 1 as one from tenure.events")) == 1


def test_who_comes_while_another_makes_a_tick_does_not_wait(
    database: Database, database_url: str, clock: Clock
) -> None:
    """A transaction left open over a tick keeps nobody; when it is gone, the tick is made."""
    _listening(database, "one")
    _declare(database, _hourly())
    _at_next(database, clock)
    [found] = schedules.due(database)
    other = Database(database_url)
    with other.connect().transaction(force_rollback=True):
        assert _make(other, found) is not None
        assert _make(database, found) is None
    assert len(_tick(database) or []) == 1
    other.close()


def test_a_tick_that_was_made_is_not_made_again(database: Database, clock: Clock) -> None:
    """Though its row be set back, as by a restore: the event's key is remembered."""
    _listening(database, "one")
    due = _declare(database, _hourly())
    _at_next(database, clock)
    _tick(database)
    database.execute("update tenure.schedules set next_at = %(due)s", {"due": due})
    again = _tick(database)
    assert again is not None
    assert [(each.outcome, each.jobs) for each in again] == [("duplicate", 0)]
    assert len(database.execute("select 1 as one from tenure.jobs")) == 1


def test_declaring_it_again_moves_nothing(database: Database, clock: Clock) -> None:
    """A restart over a tick finds it due as it was, and leaves no trace in the audit."""
    due = _declare(database, _hourly())
    _at_next(database, clock)
    assert _declare(database, _hourly()) == due
    [row] = schedules.listed(database)
    assert (row.next_at, row.revision) == (due, 1)
    audit = database.execute("select act, actor, target from tenure.audit")
    assert [tuple(each.values()) for each in audit] == [
        ("schedule.declare", "test", "schedule:hourly")
    ]


def test_a_changed_declaration_keeps_what_is_due(database: Database, clock: Clock) -> None:
    """A tick that fell due under the former declaration is made; the next follow the new one."""
    _listening(database, "one")
    due = _declare(database, _hourly())
    _at_next(database, clock)
    changed = intent("hourly", every=2 * HOUR)
    assert _declare(database, changed) == due
    made = _tick(database)
    assert made is not None
    assert [each.key for each in made] == [ticks.key(due)]
    [row] = schedules.listed(database)
    assert row.next_at == ticks.first(changed, due)


def test_a_changed_declaration_holds_from_now_on(database: Database) -> None:
    """Nothing is due: the next tick is the new declaration's, and the audit has both."""
    before = _declare(database, _hourly())
    after = _declare(database, _hourly(anchor=datetime(2026, 1, 1, 0, 17, tzinfo=UTC)))
    assert (after - before) % HOUR == timedelta(minutes=17)
    [_, told] = database.execute("select before, after from tenure.audit order by id")
    assert told["before"]["anchor"] != told["after"]["anchor"]


def test_who_read_the_row_before_it_was_changed_makes_nothing(
    database: Database, clock: Clock
) -> None:
    """What follows a tick was reckoned by an intent that holds no longer: it is reckoned again."""
    _declare(database, _hourly())
    _at_next(database, clock)
    [found] = schedules.due(database)
    _declare(database, intent("hourly", every=2 * HOUR))
    assert _make(database, found) is None
    assert _tick(database) is not None


@pytest.mark.parametrize(
    ("misfire", "limit", "made"),
    [("skip", None, 0), ("one", None, 1), ("all", 3, 3), ("all", None, 5)],
)
def test_an_outage_leaves_a_row(
    database: Database, clock: Clock, misfire: str, limit: int | None, made: int
) -> None:
    """Five ticks were missed: as many are made as the policy says, and the row says how many."""
    _listening(database, "one")
    due = _declare(database, _hourly(misfire=misfire, limit=limit))
    _at_next(database, clock, beyond=4 * 3600 + 600)
    told = _tick(database)
    assert told is not None
    assert [each.jobs for each in told] == [1] * made
    [row] = database.execute("select * from tenure.misfires")
    assert (row["missed"], row["made"], row["counted"], row["misfire"]) == (5, made, True, misfire)
    assert (row["schedule"], row["missed_from"]) == ("hourly", due)
    assert _at_rest(database) == due + 5 * HOUR


def _at_rest(database: Database) -> datetime:
    [found] = schedules.due(database)
    assert found.wait > 0
    return found.next_at


def test_a_disabled_schedule_misses_its_ticks(database: Database, clock: Clock) -> None:
    """It does not tick while it is disabled; when it opens again, its policy decides."""
    _declare(database, _hourly())
    _at_next(database, clock)
    assert schedules.set_state(database, "hourly", "disabled", by="ann", reason="rest") == "open"
    assert schedules.due(database) == []
    clock.advance(2 * 3600 + 120)
    schedules.set_state(database, "hourly", "open", by="ann")
    assert len(_tick(database) or []) == 1
    [row] = database.execute("select missed, made from tenure.misfires")
    assert tuple(row.values()) == (3, 1)
    audit = database.execute("select act, actor from tenure.audit order by id desc limit 2")
    assert [tuple(each.values()) for each in audit] == [("schedule.set_state", "ann")] * 2


def test_a_moment_that_has_passed_is_refused(database: Database) -> None:
    """A one-off in the past would never tick; one that ticked may stay in the code."""
    now = database.execute("select tenure.clock() as now")[0]["now"]
    with pytest.raises(
        ConfigurationError, match=r"would never tick: once at .* has passed"
    ) as refused:
        _declare(database, intent("launch", at=now - HOUR))
    assert "\n" not in str(refused.value)
    assert schedules.listed(database) == []


def test_a_moment_ticks_once_and_stays_declared(database: Database, clock: Clock) -> None:
    """After its one tick a one-off has none to come, and its declaration is no error."""
    now = database.execute("select tenure.clock() as now")[0]["now"]
    kept = intent("hourly", at=now + HOUR)
    assert _declare(database, kept) == now + HOUR
    clock.advance(3601)
    assert len(_tick(database) or []) == 1
    assert schedules.declare(database, "hourly", kept, by="test") is None
    assert schedules.due(database) == []


def test_a_name_belongs_to_one_source(database: Database) -> None:
    """A schedule cannot take the name of a door, whose deliveries would be its ticks."""
    door = DeclaredSource("hourly", "github", (env("X"),))
    sources.declare(database, door, by="test")
    with pytest.raises(ConfigurationError, match="a source has that name"):
        _declare(database, _hourly())


def test_two_that_declare_at_once_agree(database: Database, database_url: str) -> None:
    """Whoever comes second finds the row and reckons again: one row, and no error."""
    other, observer = Database(database_url, name="second"), Database(database_url)
    observer.connect()
    other.connect()
    with database.transaction():
        first = _declare(database, _hourly())
        late = beside(lambda: _declare(other, _hourly(misfire="skip")))
        waiting = "select 1 as one from pg_stat_activity where wait_event_type = 'Lock'"
        until(lambda: observer.execute(waiting), "the second waits for the first")
    assert late.result(10) == first
    [row] = schedules.listed(database)
    assert (row.intent.misfire, row.revision) == ("skip", 2)
    observer.close()
    other.close()


def test_a_row_that_cannot_be_read_is_its_own_affair(database: Database) -> None:
    """The schema refuses what could not tick."""
    _declare(database, _hourly())
    for broken in (
        "update tenure.schedules set cron = '* * * * *'",
        "update tenure.schedules set every = interval '0'",
        "update tenure.schedules set misfire = 'never'",
        "update tenure.schedules set anchor = null",
    ):
        with pytest.raises(psycopg.errors.CheckViolation):
            database.connect().execute(broken)


def test_a_look_reads_each_row_twice_at_most(database: Database) -> None:
    """Every worker looks every few seconds: what it costs grows with the rows, not their square."""
    _declare(database, _hourly())
    database.execute(
        "insert into tenure.schedules (name, every, anchor, zone, misfire, misfire_limit, next_at,"
        "                              declared, declared_by)"
        " select 'many-' || n, s.every, s.anchor, s.zone, s.misfire, s.misfire_limit,"
        "        s.next_at + n * interval '1 second', s.declared, 'test'"
        "   from tenure.schedules as s, generate_series(1, 500) as n"
    )
    assert [found.name for found in schedules.due(database)] == ["hourly"]
    scans = [node for node in nodes(_plan(database)) if node.get("Relation Name") == "schedules"]
    assert sum(node["Actual Loops"] for node in scans) <= 2


def _plan(database: Database) -> dict[str, Any]:
    text = "explain (analyze, format json) " + statement("schedules/due")
    row = database.connect().execute(text).fetchone()
    assert row is not None
    plan: dict[str, Any] = row["QUERY PLAN"][0]["Plan"]
    return plan


def test_the_jobs_of_a_paused_schedule_wait(database: Database, clock: Clock) -> None:
    """A paused schedule ticks, so that nothing is lost; its jobs wait until it is resumed."""
    _listening(database, "one")
    _declare(database, _hourly())
    pauses.pause(database, "source:hourly", reason="month's end", actor="ann")
    _at_next(database, clock)
    assert len(_tick(database) or []) == 1
    [job] = database.execute("select state, created_by from tenure.all_jobs")
    assert tuple(job.values()) == ("waiting", "schedule:hourly")
    pauses.resume(database, "source:hourly", reason="it is over", actor="ann")
    [job] = database.execute("select state from tenure.all_jobs")
    assert job["state"] == "ready"
