"""Schedules as an author declares them."""

from __future__ import annotations

import pytest

from tenure import Context, Schedule, Tenure, Tick, env
from tenure.base.errors import ConfigurationError, UnknownName
from tenure.base.schedules import Intent


def test_an_automation_listens_to_the_clock() -> None:
    """A schedule stands in ``on=`` as a source does, by itself or among others, or by its name."""
    app = Tenure()
    nightly = app.schedule("nightly", cron="30 2 * * *", zone="Europe/Berlin")
    door = app.source("lead", scheme="github", secret=env("LEAD_SECRET"))

    @app.automation(on=nightly)
    async def one(ctx: Context, tick: Tick) -> None: ...

    @app.automation(on=[door, nightly])
    async def both(ctx: Context) -> None: ...

    @app.automation(on="nightly")
    async def named(ctx: Context) -> None: ...

    app.check()
    assert one.declared.listens == named.declared.listens == ("nightly",)
    assert both.declared.listens == ("lead", "nightly")
    assert nightly == Schedule("nightly", Intent("Europe/Berlin", "30 2 * * *"))
    assert one.declared.input_schema is not None
    assert '"local"' in one.declared.input_schema


def test_a_name_is_one_sources_alone() -> None:
    """Neither two schedules nor a schedule and a door share a name; both say which it is."""
    app = Tenure()
    app.schedule("tick", every=60)
    with pytest.raises(ConfigurationError, match="the schedule 'tick' is declared twice"):
        app.schedule("tick", every=60)
    with pytest.raises(ConfigurationError, match="the source 'tick' is declared twice"):
        app.source("tick", scheme="github", secret=env("X"))
    with pytest.raises(ConfigurationError, match="a schedule cannot be named 'a b'"):
        app.schedule("a b", every=60)


def test_a_schedule_nobody_declared_is_told_with_the_nearest() -> None:
    """An automation that listens to a misspelt schedule is an error at the start."""
    app = Tenure()
    app.schedule("nightly", every=60)

    @app.automation(on="nightl")
    async def one(ctx: Context) -> None: ...

    with pytest.raises(UnknownName) as refused:
        app.check()
    assert refused.value.hint == "Did you mean 'nightly'?"


def test_what_cannot_be_kept_is_refused_where_it_stands() -> None:
    """The rules of base are the author's: one example of each kind."""
    app = Tenure()
    for wrong in (
        {"cron": "0 0 30 2 *"},
        {"cron": "* * * * *", "zone": "Mars/Base"},
        {"every": 0},
        {"every": 60, "misfire": "never"},
        {},
    ):
        with pytest.raises(ConfigurationError, match="'x'"):
            app.schedule("x", **wrong)
    assert app.schedules == {}
