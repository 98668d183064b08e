"""``tenure schedule``: what is to come, and ticks made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import uuid4

import pytest

from tenure.base import ticks
from tenure.base.model import Declared
from tenure.base.schedules import intent
from tenure.store import automations, schedules
from tenure.store.database import Database
from tests.cli.conftest import Row, Run, told
from tests.conftest import Clock

_NIGHTLY = intent("nightly", cron="30 2 * * *", zone="Europe/Berlin", misfire="all", limit=7)


@pytest.fixture
def nightly(database: Database) -> None:
    """A schedule, and an automation that listens to it."""
    declared = Declared(name="report", version="1", listens=("nightly",))
    automations.declare(database, declared, by="test")
    schedules.declare(database, "nightly", _NIGHTLY, by="worker:host-1")


def _now(database: Database) -> datetime:
    now: datetime = database.execute("select tenure.clock() as now")[0]["now"]
    return now


def _until(database: Database, clock: Clock, when: datetime) -> None:
    clock.advance((when - _now(database)).total_seconds())


def test_schedules_are_listed(tenure: Run, nightly: None, database: Database) -> None:
    """Each stands with its state, next tick, policy and what it means."""
    line = tenure("schedule", "list").stdout.splitlines()[1]
    due = ticks.first(_NIGHTLY, _now(database))
    assert due is not None
    assert line.split()[:2] == ["nightly", "open"]
    assert f"{due:%Y-%m-%d %H:%M:%S} UTC" in line
    assert line.endswith("cron 30 2 * * * in Europe/Berlin")
    [found] = told(tenure("schedule", "list", "--json"), list[Row])
    assert (found["name"], found["state"]) == ("nightly", "open")
    assert cast("Row", found["intent"])["zone"] == "Europe/Berlin"


def test_none_is_listed_where_none_is(tenure: Run) -> None:
    """An empty list says who declares schedules, and is an empty list as JSON."""
    assert "no schedule is declared" in tenure("schedule", "list").stderr
    assert told(tenure("schedule", "list", "--json"), list[Row]) == []


def test_the_preview_knows_the_changes_of_the_clocks(
    tenure: Run, nightly: None, database: Database, clock: Clock
) -> None:
    """The next ticks with zone and offset, over the nights on which the clocks change."""
    year = _now(database).year + 1
    last = datetime(year, 3, 31, tzinfo=UTC)
    sunday = last - timedelta(days=(last.weekday() + 1) % 7)
    _until(database, clock, sunday - timedelta(hours=30))
    database.execute("update tenure.schedules set next_at = null")
    schedules.declare(database, "nightly", intent("nightly", cron="30 2 * * *"), by="test")
    schedules.declare(database, "nightly", _NIGHTLY, by="test")
    shown = told(tenure("schedule", "show", "nightly", "--next", "3", "--json"), Row)
    found = [(str(each["local"])[8:], each["remark"]) for each in cast("list[Row]", shown["next"])]
    assert found == [
        (f"{sunday.day - 1:02}T02:30:00+01:00", ""),
        (f"{sunday.day:02}T03:00:00+02:00", "right after the gap: 02:30 does not exist that day"),
        (f"{sunday.day + 1:02}T02:30:00+02:00", ""),
    ]
    text = tenure("schedule", "show", "nightly", "--next", "3").stdout
    assert f"Sun {sunday:%Y-%m-%d} 03:00:00 +02:00" in text
    assert "Its next ticks, in Europe/Berlin" in text


def test_who_waits_for_it_is_shown(
    tenure: Run, nightly: None, database: Database, clock: Clock
) -> None:
    """The automations that wait for the next tick, and what an outage cost."""
    [found] = schedules.due(database)
    said = tenure("schedule", "show", "nightly").stdout
    assert said.startswith("nightly is open: cron 30 2 * * * in Europe/Berlin.\n")
    assert "misfire all, at most 7" in said
    assert f"Waiting for it until {found.next_at:%Y-%m-%d %H:%M:%S} UTC: report (dry_run)." in said
    assert "What it missed" not in said
    clock.advance(found.wait + 2 * 86_400 + 7_200)
    [found] = schedules.due(database)
    plan = ticks.plan(found.intent, found.next_at, found.now)
    schedules.tick(database, found, plan, uuid4())
    said = tenure("schedule", "show", "nightly").stdout
    assert "3 ticks from" in said
    assert "3 of them were made (misfire all)." in said


def test_a_tick_by_hand_is_one_more(tenure: Run, nightly: None, database: Database) -> None:
    """It has a key of its own, an audit row with who and why, and moves no tick of the clock."""
    [before] = schedules.listed(database)
    done = tenure("schedule", "run", "nightly", "--now", "--as", "ann", "--reason", "try it")
    assert done.exit_code == 0, done.stderr
    assert "jobs made: 1" in done.stdout
    made = told(tenure("schedule", "run", "nightly", "--now", "--json"), Row)
    assert (made["outcome"], made["jobs"]) == ("accepted", 1)
    assert str(made["key"]).startswith("by-hand:")
    assert schedules.listed(database) == [before]
    told_ = database.execute(
        "select actor, act, target, reason, after->>'jobs' as jobs, origin from tenure.audit"
        " where act = 'schedule.run' order by id"
    )
    assert tuple(told_[0].values()) == (
        "ann", "schedule.run", "schedule:nightly", "try it", "1", "cli",
    )  # fmt: skip
    [job, _] = database.execute("select id, created_by from tenure.jobs order by id")
    assert job["created_by"] == "schedule:nightly"
    explained = tenure("explain", job["id"]).stdout
    assert "by schedule:nightly from event" in explained
    assert "for the tick by-hand:" in explained


def test_a_tick_by_hand_is_asked_for_now(tenure: Run, nightly: None) -> None:
    """There is no other time for it: without --now the usage is told."""
    assert tenure("schedule", "run", "nightly").exit_code == 2


def test_a_backfill_makes_what_is_missing_once(
    tenure: Run, nightly: None, database: Database
) -> None:
    """It says what it will make, asks, makes each missing tick once, and is audited."""
    schedules.declare(database, "nightly", intent("nightly", cron="30 2 * * *"), by="test")
    asked = tenure("schedule", "backfill", "nightly", "--from", "3d")
    assert asked.exit_code == 2
    assert "Make 3 ticks of nightly?" in asked.stderr
    assert "listening: report (dry_run)" in asked.stderr
    assert asked.stderr.count("T02:30:00+00:00") == 3
    assert database.execute("select 1 as one from tenure.events") == []
    made = told(
        tenure("schedule", "backfill", "nightly", "--from", "2d", "--yes", "--json"), list[Row]
    )
    assert [(each["outcome"], each["jobs"]) for each in made] == [("accepted", 1)] * 2
    done = tenure("schedule", "backfill", "nightly", "--from", "3d", "--yes", "--reason", "lost")
    assert done.stdout == "nightly: 1 ticks made, with 1 jobs\n"
    again = tenure("schedule", "backfill", "nightly", "--from", "3d", "--yes")
    assert again.exit_code == 5
    assert "no tick of nightly is missing: of 3" in again.stderr
    assert len(database.execute("select 1 as one from tenure.jobs")) == 3
    audit = database.execute(
        "select reason, after->>'jobs' as jobs, json_array_length(after->'events') as events"
        "  from tenure.audit where act = 'schedule.backfill' order by id"
    )
    assert [tuple(row.values()) for row in audit] == [(None, "2", 2), ("lost", "1", 1)]


def test_a_backfill_between_two_moments(tenure: Run, nightly: None, database: Database) -> None:
    """Both ends are counted in, and what was made over the gap is not made twice."""
    made = told(
        tenure(
            "schedule", "backfill", "nightly", "--from", "2026-03-28T01:30Z",
            "--to", "2026-03-30T00:30Z", "--yes", "--json",
        ),
        list[Row],
    )  # fmt: skip
    assert [each["key"] for each in made] == [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
    ]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--from", "1d", "--to", "2d"], 2, "--from is later than --to"),
        (["--from", "1d", "--to", "9000-01-01T00:00Z"], 4, "is still to come"),
        (["--from", "3000d"], 4, "more than 1000 ticks lie between these times"),
        (["--from", "2026-01-01"], 2, "names no moment without a zone"),
        ([], 2, "--from"),
    ],
)
def test_a_backfill_that_cannot_be_is_refused(
    tenure: Run, nightly: None, words: list[str], code: int, says: str
) -> None:
    """What lies ahead, is too much, or says nothing is refused, and nothing is made."""
    done = tenure("schedule", "backfill", "nightly", *words, "--yes")
    assert done.exit_code == code
    assert says in done.stderr


def test_a_change_stands_over_the_code(tenure: Run, nightly: None, database: Database) -> None:
    """What a person sets outlasts the next declaration, is shown and audited, and is taken back."""
    words = ("--zone", "UTC", "--cron", "0 5 * * *", "--reason", "the bank is late", "--as", "ann")
    done = tenure("schedule", "set", "nightly", *words)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("nightly ticks cron 0 5 * * * in UTC; next at ")
    schedules.declare(database, "nightly", intent("nightly", cron="0 3 * * *"), by="worker")
    [found] = schedules.listed(database)
    assert (found.intent.cron, found.intent.limit, found.changed_by) == ("0 5 * * *", 7, "ann")
    assert (
        "Changed by ann; the code says cron 0 3 * * * in UTC."
        in tenure("schedule", "show", "nightly").stdout
    )
    tenure("schedule", "set", "nightly", "--as-declared", "--reason", "it is on time again")
    [found] = schedules.listed(database)
    assert (found.intent, found.changed_by) == (found.declared, None)
    assert found.intent.cron == "0 3 * * *"
    schedules.declare(database, "nightly", _NIGHTLY, by="worker")
    assert schedules.listed(database)[0].intent == _NIGHTLY
    audit = database.execute(
        "select actor, reason from tenure.audit where act = 'schedule.change' order by id"
    )
    assert (audit[0]["actor"], audit[0]["reason"]) == ("ann", "the bank is late")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "say what to change"),
        (["--as-declared", "--zone", "UTC"], "say what to change"),
        (["--zone", "Europe/Berln"], "Did you mean 'Europe/Berlin'?"),
        (["--cron", "0 0 30 2 *"], "would never tick"),
        (["--every", "0s"], "a second is the least"),
        (["--misfire", "skip", "--limit", "3"], "a limit and misfire='skip'"),
    ],
)
def test_a_change_that_cannot_be_is_refused(
    tenure: Run, nightly: None, database: Database, words: list[str], says: str
) -> None:
    """What could not be declared cannot be set, and the row stays as it was."""
    done = tenure("schedule", "set", "nightly", *words, "--reason", "x")
    assert done.exit_code == 2
    assert says in done.stderr
    assert schedules.listed(database)[0].intent == _NIGHTLY


def test_an_unknown_schedule_matches_nothing(tenure: Run) -> None:
    """Each command says so, with the exit code for it."""
    for words in (
        ("show", "gone"),
        ("run", "gone", "--now"),
        ("backfill", "gone", "--from", "1d", "--yes"),
        ("set", "gone", "--zone", "UTC", "--reason", "x"),
    ):
        done = tenure("schedule", *words)
        assert done.exit_code == 5
        assert "unknown schedule (gone)" in done.stderr
