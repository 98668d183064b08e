"""Automations that listen to the clock: three schedules of an hour, alike but for their policy.

Loaded by real workers; nobody calls a provider.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tenure import Context, Tenure, Tick

HOUR = 3600.0
LIMIT = 3
# In the middle of an hour, so that each has its tick there.
ANCHOR = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)

app = Tenure()
skipping = app.schedule("skipping", every=timedelta(hours=1), anchor=ANCHOR, misfire="skip")
once = app.schedule("once", every=HOUR, anchor=ANCHOR)
every = app.schedule("every", cron="30 * * * *", misfire="all", limit=LIMIT)
nightly = app.schedule("nightly", cron="30 2 * * *", zone="Europe/Berlin", misfire="all")


@app.automation(on=[skipping, once, every])
async def chime(ctx: Context, tick: Tick) -> str:
    """Says which schedule ticked, and when."""
    return f"{tick.schedule} {tick.at:%H:%M}"


@app.automation(on=nightly)
async def night(ctx: Context, tick: Tick) -> str:
    """Says what the wall clock showed."""
    return f"{tick.local:%Y-%m-%d %H:%M%z} {tick.zone}"
