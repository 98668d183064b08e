"""When schedules tick: over each change of the clocks, on their grid, and after an outage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base import json, ticks
from tenure.base.schedules import EPOCH, Intent, Misfire, intent
from tenure.base.ticks import Tick

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_MOMENTS = st.integers(0, 10**15).map(lambda drawn: EPOCH + timedelta(microseconds=drawn))


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _shown(intent: Intent, start: datetime, end: datetime) -> str:
    where = ZoneInfo(intent.zone)
    found = ticks.between(intent, start, end, 1_000)
    return ", ".join(f"{due.at.astimezone(where):%d %H:%M%z}" for due in found)


def _table(text: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines()]


# Zone, the local day from which a change of the clocks is looked at, cron, what it ticks.
# Berlin: 29 March, 02:00 to 03:00; 25 October, 03:00 to 02:00.
# New York: 8 March, 02:00 to 03:00; 1 November, 02:00 to 01:00.
# Lord Howe, half an hour: 4 October, 02:00 to 02:30; 5 April, 02:00 to 01:30.
# Santiago, at midnight: 6 September, 00:00 to 01:00; 5 April, 00:00 to 23:00 of the day before.
_CHANGES = _table("""
Europe/Berlin       | 2026-03-28 | 30 2 * * *    | 28 02:30+0100, 29 03:00+0200, 30 02:30+0200
Europe/Berlin       | 2026-10-24 | 30 2 * * *    | 24 02:30+0200, 25 02:30+0200, 26 02:30+0100
Europe/Berlin       | 2026-03-29 | 0,30 2 * * *  | 29 03:00+0200, 30 02:00+0200, 30 02:30+0200
Europe/Berlin       | 2026-03-29 | */30 2 * * *  | 29 03:00+0200, 30 02:00+0200, 30 02:30+0200
Europe/Berlin       | 2026-03-29 | 0 2,3 * * *   | 29 03:00+0200, 30 02:00+0200, 30 03:00+0200
Europe/Berlin       | 2026-10-25 | */30 2 * * *  | 25 02:00+0200, 25 02:30+0200
America/New_York    | 2026-03-07 | 30 2 * * *    | 07 02:30-0500, 08 03:00-0400, 09 02:30-0400
America/New_York    | 2026-10-31 | 30 1 * * *    | 31 01:30-0400, 01 01:30-0400, 02 01:30-0500
Australia/Lord_Howe | 2026-10-03 | 15 2 * * *    | 03 02:15+1030, 04 02:30+1100, 05 02:15+1100
Australia/Lord_Howe | 2026-10-03 | 45 2 * * *    | 03 02:45+1030, 04 02:45+1100, 05 02:45+1100
Australia/Lord_Howe | 2026-04-04 | 45 1 * * *    | 04 01:45+1100, 05 01:45+1100, 06 01:45+1030
America/Santiago    | 2026-09-05 | 0 0 * * *     | 05 00:00-0400, 06 01:00-0300, 07 00:00-0300
America/Santiago    | 2026-09-05 | 30 0 * * *    | 05 00:30-0400, 06 01:00-0300, 07 00:30-0300
America/Santiago    | 2026-04-03 | 30 23 * * *   | 03 23:30-0300, 04 23:30-0300, 05 23:30-0400
America/Santiago    | 2026-04-04 | 0 0 * * *     | 04 00:00-0300, 05 00:00-0400, 06 00:00-0400
""")

# Zone, a moment in UTC, hours, cron, what it ticks within them.
_GOING = _table("""
Europe/Berlin | 2026-03-29 00:00 | 3 | 30 * * * * | 29 01:30+0100, 29 03:30+0200, 29 04:30+0200
Europe/Berlin | 2026-10-25 00:00 | 3 | 30 * * * * | 25 02:30+0200, 25 02:30+0100, 25 03:30+0100
America/New_York    | 2026-03-08 06:30 | 1 | */30 * * * * | 08 01:30-0500, 08 03:00-0400
America/New_York    | 2026-11-01 05:00 | 2 | 0 * * * *  | 01 01:00-0400, 01 01:00-0500
Australia/Lord_Howe | 2026-10-03 14:30 | 2 | 0 * * * * | 04 01:00+1030, 04 03:00+1100
Australia/Lord_Howe | 2026-04-04 14:00 | 2 | 30 * * * * | 05 01:30+1100, 05 01:30+1030
America/Santiago    | 2026-09-06 03:00 | 2 | 0 * * * SAT,SUN | 05 23:00-0400, 06 01:00-0300
America/Santiago    | 2026-04-05 02:00 | 2 | 0 * * * *  | 04 23:00-0300, 04 23:00-0400
""")


@pytest.mark.parametrize(("zone", "day", "cron", "shown"), _CHANGES)
def test_a_time_on_the_wall_clock_ticks_once_a_day(
    zone: str, day: str, cron: str, shown: str
) -> None:
    """In a gap it ticks once right after the gap; in an overlap at the first of two."""
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    days = len({each[:2] for each in shown.split(", ")})
    end = start + days * _DAY - _SECOND  # on the wall clock
    assert _shown(intent("x", cron=cron, zone=zone), start, end) == shown


@pytest.mark.parametrize(("zone", "start", "hours", "cron", "shown"), _GOING)
def test_a_cron_of_every_hour_follows_the_clock_as_it_goes(
    zone: str, start: str, hours: str, cron: str, shown: str
) -> None:
    """It ticks whenever the clock shows its minute: not in a gap, and twice in an overlap."""
    begin = _utc(start)
    end = begin + timedelta(hours=int(hours)) - _SECOND
    assert _shown(intent("x", cron=cron, zone=zone), begin, end) == shown


@pytest.mark.parametrize(("zone", "day", "cron", "shown"), _CHANGES)
def test_a_tick_is_the_same_from_wherever_one_looks(
    zone: str, day: str, cron: str, shown: str
) -> None:
    """From any moment around a change the next tick is the first of all ticks after it."""
    kept = intent("x", cron=cron, zone=zone)
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    known = [due.at for due in ticks.between(kept, start, start + 4 * _DAY, 1_000)]
    for minutes in range(0, 3 * 24 * 60, 37):
        after = start + timedelta(minutes=minutes)
        assert ticks.first(kept, after) == next(at for at in known if at > after)


def test_a_change_is_remarked_upon() -> None:
    """What the preview says of the two odd days, and of no other."""
    kept = intent("x", cron="30 2 * * *", zone="Europe/Berlin")
    spring = ticks.following(kept, _utc("2026-03-27 12:00"), 2)
    assert [ticks.remark(kept, due) for due in spring] == [
        "",
        "right after the gap: 02:30 does not exist that day",
    ]
    autumn = ticks.following(kept, _utc("2026-10-24 12:00"), 2)
    assert [ticks.remark(kept, due) for due in autumn] == ["the first 02:30 of two that day", ""]


def test_a_whole_day_may_be_missing() -> None:
    """Samoa had no 30 December 2011: its tick came with the first moment of the 31st."""
    kept = intent("x", cron="0 12 * * *", zone="Pacific/Apia")
    start = _utc("2011-12-29 12:00")
    shown = "29 12:00-1000, 31 00:00+1400, 31 12:00+1400"
    assert _shown(kept, start, start + 2 * _DAY) == shown


@given(
    st.floats(1, 10_000_000, allow_nan=False),
    _MOMENTS,
    _MOMENTS,
)
def test_a_grid_is_the_same_from_wherever_one_looks(
    every: float, anchor: datetime, after: datetime
) -> None:
    """Ticks lie a whole number of intervals after the anchor, and the next one is the nearest."""
    kept = intent("x", every=every, anchor=anchor)
    assert kept.every is not None
    step = timedelta(seconds=kept.every)
    found = ticks.first(kept, after)
    assert found is not None
    assert found > after
    assert (found - anchor) % step == timedelta(0)
    assert found == anchor or found - step <= after


_NOW = _utc("2026-12-01 12:00:30")


@pytest.mark.parametrize(
    ("misfire", "limit", "made"),
    [
        ("skip", None, ["12:00"]),
        ("one", None, ["12:00"]),
        ("all", 3, ["09:00", "10:00", "11:00", "12:00"]),
        ("all", None, [f"{hour:02}:00" for hour in range(2, 13)]),
    ],
)
def test_an_outage_that_ends_with_a_tick_on_time(
    misfire: Misfire, limit: int | None, made: list[str]
) -> None:
    """The tick on time is made; of the ten before it as many as the policy says."""
    kept = intent("x", cron="0 * * * *", misfire=misfire, limit=limit)
    plan = ticks.plan(kept, _utc("2026-12-01 02:00"), _NOW)
    assert [f"{at:%H:%M}" for at in plan.make] == made
    assert (plan.missed, plan.caught_up) == (10, len(made) - 1)
    assert plan.then == _utc("2026-12-01 13:00")


@pytest.mark.parametrize(
    ("misfire", "limit", "made"),
    [
        ("skip", None, []),
        ("one", None, ["11:30"]),
        ("all", 3, ["09:30", "10:30", "11:30"]),
        ("all", None, [f"{hour:02}:30" for hour in range(2, 12)]),
    ],
)
def test_an_outage_that_ends_between_ticks(
    misfire: Misfire, limit: int | None, made: list[str]
) -> None:
    """Nothing is on time: skip makes none, one the newest, all the newest of its limit."""
    kept = intent("x", cron="30 * * * *", misfire=misfire, limit=limit)
    plan = ticks.plan(kept, _utc("2026-12-01 02:30"), _NOW)
    assert [f"{at:%H:%M}" for at in plan.make] == made
    assert (plan.missed, plan.caught_up, plan.exact) == (10, len(made), True)
    assert plan.then == _utc("2026-12-01 12:30")


@pytest.mark.parametrize("misfire", ["skip", "one", "all"])
@pytest.mark.parametrize(
    ("zone", "change", "cron", "nights"),
    [
        ("Europe/Berlin", "2026-03-29 01:00", "30 2 * * *", "29 01:00Z"),
        ("Europe/Berlin", "2026-10-25 01:00", "30 2 * * *", "25 00:30Z"),
        ("America/New_York", "2026-03-08 07:00", "30 2 * * *", "08 07:00Z"),
        ("America/New_York", "2026-11-01 06:00", "30 1 * * *", "01 05:30Z"),
        ("Australia/Lord_Howe", "2026-10-03 15:30", "15 2 * * *", "03 15:30Z"),
        ("Australia/Lord_Howe", "2026-04-04 15:00", "45 1 * * *", "04 14:45Z"),
        ("America/Santiago", "2026-09-06 04:00", "30 0 * * *", "06 04:00Z"),
        ("America/Santiago", "2026-04-05 03:00", "30 23 * * *", "05 02:30Z"),
    ],
)  # fmt: skip
def test_an_outage_over_a_change_of_the_clocks(
    misfire: Misfire, zone: str, change: str, cron: str, nights: str
) -> None:
    """Three nights are missed around each change: three ticks, whatever the clocks did."""
    kept = intent("x", cron=cron, zone=zone, misfire=misfire)
    before = ticks.first(kept, _utc(change) - timedelta(hours=36))
    assert before is not None
    plan = ticks.plan(kept, before, _utc(change) + timedelta(hours=36))
    assert plan.missed == 3
    assert len(plan.make) == {"skip": 0, "one": 1, "all": 3}[misfire]
    if misfire == "all":
        assert [f"{at:%d %H:%MZ}" for at in plan.make][1] == nights


def test_ticks_that_come_together_are_none_of_them_missed() -> None:
    """A worker that looks every few seconds makes every tick of a finer grid, under any policy."""
    kept = intent("x", every=1, misfire="skip")
    plan = ticks.plan(kept, _utc("2026-12-01 12:00:00"), _utc("2026-12-01 12:00:04.500000"))
    assert [at.second for at in plan.make] == [0, 1, 2, 3, 4]
    assert (plan.missed, plan.then) == (0, _utc("2026-12-01 12:00:05"))


def test_what_is_missed_is_counted_as_far_as_it_is_worth() -> None:
    """A grid is reckoned exactly; a cron is counted to a bound, and says so."""
    year = _utc("2027-12-01 12:00:30")
    grid = ticks.plan(intent("x", every=1), _utc("2026-12-01 12:00"), year)
    assert (grid.missed, grid.exact) == (365 * 86_400 - 30 + 1, True)
    kept = intent("x", cron="* * * * *", misfire="all", limit=3)
    minutes = ticks.plan(kept, _utc("2026-12-01 12:00"), year)
    assert (minutes.missed, minutes.exact) == (ticks.COUNTED + 1, False)
    assert [f"{at:%d %H:%M}" for at in minutes.make] == [
        "01 11:57",
        "01 11:58",
        "01 11:59",
        "01 12:00",
    ]


def test_a_moment_ticks_once() -> None:
    """A one-off has one tick, on time or late, and none after it."""
    at = _utc("2026-12-24 09:00")
    kept = intent("x", at=at)
    assert ticks.first(kept, at - _DAY) == at
    assert ticks.first(kept, at) is None
    late = ticks.plan(kept, at, at + _DAY)
    assert (late.make, late.missed, late.then) == ((at,), 1, None)
    skipped = ticks.plan(intent("x", at=at, misfire="skip"), at, at + _DAY)
    assert (skipped.make, skipped.then) == ((), None)


@pytest.mark.parametrize(
    ("cron", "found"),
    [("0 0 29 2 *", "2028-02-29 00:00"), ("0 0 * 2 MON#5", "2044-02-29 00:00")],
)
def test_a_rare_date_is_found(cron: str, found: str) -> None:
    """A date that comes once in years is looked for as far as it is."""
    assert ticks.first(intent("x", cron=cron), _NOW) == _utc(found)


def test_a_tick_reads_as_its_type() -> None:
    """The event of a tick says which schedule, which moment, and what the wall clock shows."""
    kept = intent("nightly", cron="30 2 * * *", zone="Europe/Berlin")
    at = _utc("2026-10-25 00:30")
    said = ticks.body("nightly", kept, at)
    assert json.decode(said) == {
        "schedule": "nightly",
        "at": "2026-10-25T00:30:00Z",
        "local": "2026-10-25T02:30:00+02:00",
        "zone": "Europe/Berlin",
    }
    read = json.convert(json.decode(said), Tick)
    assert (read.at, read.local, read.local.hour) == (at, at, 2)
    assert ticks.key(at) == "2026-10-25T00:30:00Z"
