"""A schedule that could not be kept is refused where it is declared, in one line with a hint."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tenure.base.errors import ConfigurationError
from tenure.base.schedules import EPOCH, Intent, intent

_AT = datetime(2026, 12, 24, 9, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"cron": " 30  2 * * * "}, Intent(cron="30 2 * * *")),
        (
            {"cron": "0 9 * * mon-fri", "zone": "Asia/Tokyo"},
            Intent("Asia/Tokyo", "0 9 * * mon-fri"),
        ),
        ({"every": 300}, Intent(every=300.0, anchor=EPOCH)),
        ({"every": timedelta(hours=1), "anchor": _AT}, Intent(every=3600.0, anchor=_AT)),
        ({"at": _AT}, Intent("Europe/Berlin", at=_AT)),
        ({"at": _AT.astimezone(UTC)}, Intent(at=_AT)),
        (
            {"every": 60, "misfire": "all", "limit": 5},
            Intent(every=60.0, anchor=EPOCH, misfire="all", limit=5),
        ),
    ],
)
def test_what_can_be_kept_is_kept(given: dict[str, Any], kept: Intent) -> None:
    """A cron with its zone, a grid with its anchor, a moment: each as it was written."""
    assert intent("nightly", **given) == kept


@pytest.mark.parametrize(
    ("given", "says", "hint"),
    [
        ({}, "has no time: it needs exactly one", "Give cron="),
        ({"cron": "* * * * *", "every": 60}, "has cron and every", "Give cron="),
        ({"cron": "30 2 * *"}, "'30 2 * *' of 4 fields: it has five", "minute, hour"),
        ({"cron": "0 30 2 * * *"}, "of 6 fields", "For seconds, give every="),
        ({"cron": ""}, "of 1 fields", "minute, hour"),
        ({"cron": "61 2 * * *"}, "cannot be read ('61 2 * * *': Bad minute)", "minute, hour"),
        ({"cron": "30 2 * * MOO"}, "Bad day-of-week", "minute, hour"),
        ({"cron": "0 0 30 2 *"}, "would never tick: no date answers", "Look at its day"),
        ({"cron": "0 0 31 4,6,9,11 *"}, "would never tick", "Look at its day"),
        (
            {"cron": "30 2 * * *", "zone": "Europe/Berln"},
            "unknown zone ('Europe/Berln')",
            "Did you mean 'Europe/Berlin'?",
        ),
        ({"cron": "30 2 * * *", "zone": "../etc/passwd"}, "unknown zone", ""),
        ({"cron": "30 2 * * *", "zone": "Europe"}, "unknown zone", ""),
        ({"cron": "30 2 * * *", "zone": "CEST+"}, "unknown zone", ""),
        ({"every": 0}, "cannot tick every 0: a second is the least", "Give seconds"),
        ({"every": -5.0}, "cannot tick every -5.0", "Give seconds"),
        ({"every": timedelta(0)}, "cannot tick every", "Give seconds"),
        ({"every": float("nan")}, "cannot tick every nan", "Give seconds"),
        ({"every": float("inf")}, "cannot tick every inf", "Give seconds"),
        ({"every": "10s"}, "cannot tick every '10s'", "Give seconds"),
        ({"at": datetime(2026, 12, 24, 9)}, "without a zone: it names no moment", "Give datetime"),  # noqa: DTZ001 - what is refused
        ({"at": "tomorrow"}, "without a zone", "Give datetime"),
        ({"every": 60, "anchor": datetime(2026, 1, 1)}, "anchor=", "Give datetime"),  # noqa: DTZ001 - as above
        ({"cron": "* * * * *", "anchor": _AT}, "an anchor and no interval", "every="),
        ({"every": 60, "misfire": "al"}, "misfire policy 'al'", "Did you mean 'all'?"),
        ({"every": 60, "misfire": "never"}, "misfire policy 'never'", "skip, one or all"),
        ({"every": 60, "limit": 5}, "a limit and misfire='one'", 'misfire="all"'),
        ({"every": 60, "misfire": "all", "limit": 0}, "the limit 0", "backfill"),
        ({"every": 60, "misfire": "all", "limit": 10**6}, "the limit 1000000", "backfill"),
    ],
)
def test_what_cannot_be_kept_is_refused(given: dict[str, Any], says: str, hint: str) -> None:
    """The message names the schedule and the value, in one line; the hint says what to write."""
    with pytest.raises(ConfigurationError) as refused:
        intent("nightly", **given)
    assert says in refused.value.message
    assert "'nightly'" in refused.value.message
    assert "\n" not in str(refused.value)
    assert hint in refused.value.hint
    assert refused.value.hint


def test_zones_are_known_where_the_system_has_none() -> None:
    """An image without a zone database still knows them all."""
    code = "from tenure.base.schedules import zone; print(zone('Australia/Lord_Howe'))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("Australia/Lord_Howe\n", "")
