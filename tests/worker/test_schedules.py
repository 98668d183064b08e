"""Schedules under real workers: exact ticks, whoever dies, however far the clock has gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tenure.base import ticks
from tenure.store import schedules
from tenure.store.database import Database
from tests.conftest import Clock
from tests.kit.facts import until
from tests.kit.pgproxy import Act, Proxy, When, drop, kill
from tests.kit.rows import Rows
from tests.kit.schedules import ANCHOR, HOUR, LIMIT, app
from tests.kit.worker import Worker

Start = Callable[..., Worker]

HOURLY = ("skipping", "once", "every")


@pytest.fixture
def start(database_url: str) -> Iterator[Start]:
    """Starts workers of the kit's schedules; ends them all."""
    with ExitStack() as stack:

        def started(url: str = database_url) -> Worker:
            return stack.enter_context(Worker(url, "tests.kit.schedules:app", lease=4.0))

        yield started


@pytest.fixture
def rows(database: Database, clock: Clock) -> Rows:
    """The kit's schedules declared, their automations live, ten minutes after a tick of an hour."""
    rows = Rows(database)
    rows.declare(app)
    now = rows.one("select tenure.clock() as now")["now"]
    past = (now - ANCHOR) % timedelta(seconds=HOUR)
    clock.advance((600 - past.total_seconds()) % HOUR)
    for each in app.schedules.values():
        schedules.declare(database, each.name, each.intent, by="test")
    return rows


def _due(rows: Rows, name: str) -> datetime:
    due: datetime = rows.one(
        "select next_at from tenure.schedules where name = %(name)s", name=name
    )["next_at"]
    return due


def _at_rest(rows: Rows) -> bool:
    """Nothing is due any more."""
    due = "select 1 as one from tenure.schedules where next_at <= tenure.now()"
    return not rows.read(due)


def _made(rows: Rows, name: str) -> list[str]:
    """The ticks that became events, each with exactly one job."""
    found = rows.read(
        "select e.key, (select count(*) from tenure.all_jobs as j where j.event_id = e.id) as jobs"
        "  from tenure.events as e where e.source = %(name)s order by e.key",
        name=name,
    )
    assert {row["jobs"] for row in found} <= {1}
    return [row["key"] for row in found]


def _ended(rows: Rows) -> list[str]:
    """How the jobs of the hourly schedules ended."""
    found = rows.read("select status from tenure.finished_jobs where automation = 'chime'")
    return [row["status"] for row in found]


def _keys(first: datetime, count: int) -> list[str]:
    return [ticks.key(first + n * timedelta(seconds=HOUR)) for n in range(count)]


def test_three_workers_make_every_tick_once(start: Start, rows: Rows, clock: Clock) -> None:
    """Three race for each of three ticks, found within a minute: each schedule has three events."""
    first = _due(rows, "once")
    workers = [start() for _ in range(3)]
    for worker in workers:
        worker.wait_ready()
    clock.advance(HOUR - 600)
    for n in range(3):
        until(lambda: _at_rest(rows), "the ticks are made")
        for name in HOURLY:
            assert _made(rows, name) == _keys(first, n + 1)
        clock.advance(HOUR)
    until(lambda: _at_rest(rows), "the ticks are made")
    until(lambda: _ended(rows) == ["succeeded"] * 12, "all of their jobs have ended")
    assert rows.read("select * from tenure.misfires") == []
    said = rows.read("select result from tenure.finished_jobs where created_by = 'schedule:every'")
    assert {row["result"] for row in said} == {
        f"every {first + n * timedelta(hours=1):%H:%M}" for n in range(4)
    }


def test_after_an_outage_each_policy_makes_its_ticks(
    start: Start, rows: Rows, clock: Clock
) -> None:
    """All three workers are killed, five ticks pass, three come: none, one, or the newest three."""
    first = _due(rows, "once")
    workers = [start() for _ in range(3)]
    for worker in workers:
        worker.wait_ready()
    clock.advance(HOUR - 600)
    until(lambda: _at_rest(rows), "the first tick is made")
    for worker in workers:
        worker.kill()
    clock.advance(5 * HOUR + 600)
    for _ in range(3):
        start()
    until(lambda: _at_rest(rows), "what was missed is done with")
    every = _keys(first, 6)
    assert _made(rows, "skipping") == every[:1]
    assert _made(rows, "once") == [every[0], every[5]]
    assert _made(rows, "every") == [every[0], *every[-LIMIT:]]
    told = rows.read(
        "select schedule, missed, made from tenure.misfires where schedule <> 'nightly' order by 1"
    )
    assert [tuple(row.values()) for row in told] == [
        ("every", 5, LIMIT),
        ("once", 5, 1),
        ("skipping", 5, 0),
    ]
    assert {_due(rows, name) for name in HOURLY} == {first + timedelta(hours=6)}


def test_a_restart_across_the_tick_loses_none(start: Start, rows: Rows, clock: Clock) -> None:
    """All stop before a tick and come back half a minute after it: it is on time for all."""
    first = _due(rows, "once")
    former = start()
    former.wait_ready()
    assert former.stop() == 0
    clock.advance(HOUR - 600 + 30)
    assert [_made(rows, name) for name in HOURLY] == [[], [], []]
    start()
    until(lambda: _at_rest(rows), "the tick is made")
    assert [_made(rows, name) for name in HOURLY] == [_keys(first, 1)] * 3


@pytest.mark.parametrize("when", ["before", "during", "after"])
@pytest.mark.parametrize("act", [kill, drop])
def test_who_dies_over_a_tick_loses_and_doubles_none(
    start: Start, rows: Rows, clock: Clock, proxy: Proxy, *, when: When, act: Act
) -> None:
    """A worker is killed, or loses its connection, as a tick is asked for, made, or answered."""
    first = _due(rows, "once")
    trap = proxy.at("schedules/tick", when, act=act)
    start(proxy.url).wait_ready()
    clock.advance(HOUR - 600 + 1)
    trap.wait_met()
    start()
    until(lambda: _at_rest(rows), "the ticks are made")
    assert [_made(rows, name) for name in HOURLY] == [_keys(first, 1)] * 3
    until(lambda: _ended(rows) == ["succeeded"] * 3, "all of their jobs have ended")


def test_a_row_that_cannot_tick_keeps_no_other(start: Start, rows: Rows, clock: Clock) -> None:
    """A zone that nobody knows stands in one row: that schedule says so, the others tick."""
    rows.read("update tenure.schedules set zone = 'Mars/Base' where name = 'every' returning name")
    first = _due(rows, "once")
    worker = start()
    worker.wait_ready()
    clock.advance(HOUR - 600)
    until(lambda: worker.said("the schedule every could not tick: unknown zone"), "it says so")
    until(lambda: _made(rows, "once") and _made(rows, "skipping"), "the others tick")
    assert [_made(rows, name) for name in HOURLY] == [_keys(first, 1)] * 2 + [[]]


def test_a_worker_that_starts_declares_its_schedules(
    start: Start, database: Database, clock: Clock
) -> None:
    """Each stands in a row with its next tick, and the wall clock's time reaches the handler."""
    rows = Rows(database)
    start().wait_ready()
    listed = {each.name: each for each in schedules.listed(database)}
    assert sorted(listed) == sorted(app.schedules)
    assert {name: each.intent for name, each in listed.items()} == {
        name: each.intent for name, each in app.schedules.items()
    }
    rows.read("update tenure.automations set stage = 'live' returning name")
    due = _due(rows, "nightly")
    now = rows.one("select tenure.clock() as now")["now"]
    clock.advance((due - now).total_seconds() + 1)
    found = "select result from tenure.finished_jobs where automation = 'night'"
    [night] = until(lambda: rows.read(found), "the night's job has ended")
    local = due.astimezone(ZoneInfo("Europe/Berlin"))
    assert night["result"] == f"{local:%Y-%m-%d %H:%M%z} Europe/Berlin"


def test_many_schedules_of_one_moment_all_tick(
    start: Start, rows: Rows, clock: Clock, database: Database
) -> None:
    """More are due than one look shows, and two workers share them: each ticks once."""
    rows.read(
        "insert into tenure.schedules (name, every, anchor, zone, misfire, misfire_limit, next_at,"
        "                              declared, declared_by)"
        " select 'many-' || n, s.every, s.anchor, s.zone, 'skip', 100, s.next_at, s.declared,"
        "        'test'"
        "   from tenure.schedules as s, generate_series(1, 1500) as n where s.name = 'once'"
        " returning name"
    )
    first = _due(rows, "once")
    for _ in range(2):
        start().wait_ready()
    clock.advance(HOUR - 600 + 1)
    until(lambda: _at_rest(rows), "the ticks are made")
    made = rows.read(
        "select count(*) as made, count(distinct source) as schedules, count(distinct key) as keys"
        "  from tenure.events where starts_with(source, 'many-')"
    )
    assert [tuple(row.values()) for row in made] == [(1500, 1500, 1)]
    assert _made(rows, "once") == _keys(first, 1)
