"""``tenure schedule``: the sources at which the clock knocks, and ticks made by hand.

Promises: what is shown of the future is reckoned as the worker will; a tick by hand is an act with
an audit row; a backfill says first what it will make, and makes no tick twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import click
import msgspec

from tenure.base import schedules as intents
from tenure.base import ticks
from tenure.base.errors import ConfigurationError, NothingMatched, Refused
from tenure.base.schedules import Intent
from tenure.base.ticks import Due
from tenure.cli import database, options, output
from tenure.store import schedules
from tenure.store.database import Database
from tenure.store.schedules import ListedSchedule, Listener, Made, Missed

_MOST = 1_000
_SHOWN = 10

_reason = click.option("--reason", metavar="TEXT", help="Why; it is kept with the act.")


class _Next(msgspec.Struct, frozen=True):
    at: datetime
    local: datetime
    zone: str
    remark: str


class _Shown(msgspec.Struct, frozen=True):
    schedule: ListedSchedule
    listeners: list[Listener]
    next: list[_Next]
    misfires: list[Missed]


@click.group()
def schedule() -> None:
    """List schedules, preview their ticks, and make ticks by hand."""


@schedule.command("list")
@options.as_json
def list_(*, as_json: bool) -> None:
    """List the schedules of this database by name."""
    with database.opened() as opened:
        found = schedules.listed(opened)
    if as_json:
        output.json(found)
        return
    rows = [
        (each.name, each.state, each.next_at or "never", each.intent.misfire, each.intent.words())
        for each in found
    ]
    if rows:
        output.table(("schedule", "state", "next tick", "misfire", "ticks"), rows)
    else:
        output.notice(
            "no schedule is declared: a worker, when it starts, declares those of the code"
        )


@schedule.command()
@click.argument("name")
@click.option(
    "--next",
    "count",
    type=click.IntRange(0, _MOST),
    default=_SHOWN,
    show_default=True,
    help="How many ticks to preview.",
)
@options.as_json
def show(*, name: str, count: int, as_json: bool) -> None:
    """Show a schedule, who waits for it, its next ticks, and what it missed."""
    with database.opened() as opened:
        found, now = schedules.get(opened, name)
        listeners = schedules.listeners(opened, name)
        misfires = schedules.misfires(opened, name)
    shown = _Shown(found, listeners, _preview(found.intent, _coming(found, now, count)), misfires)
    if as_json:
        output.json(shown)
        return
    _about(found, listeners)
    output.heading(f"\nIts next ticks, in {found.intent.zone}")
    _table(shown.next)
    if misfires:
        output.heading("\nWhat it missed")
    for each in misfires:
        count_ = f"{each.missed}" if each.counted else f"more than {each.missed}"
        output.sentence(
            f"{output.instant(each.noticed_at)}: {count_} ticks from "
            f"{output.instant(each.missed_from)} on; {each.made} of them were made "
            f"(misfire {each.misfire}).",
            indent=2,
        )


@schedule.command()
@click.argument("name")
@click.option("--now", is_flag=True, required=True, help="Now: the only time there is for it.")
@_reason
@options.actor
@options.as_json
def run(*, name: str, now: bool, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Make one more tick by hand, now; the next one by the clock comes all the same."""
    del now
    with database.opened() as opened:
        found, at = schedules.get(opened, name)
        [made] = schedules.make(
            opened,
            name,
            {f"by-hand:{ticks.key(at)}": ticks.body(name, found.intent, at)},
            act="schedule.run",
            asked=None,
            by=options.named(actor),
            reason=reason,
            origin=options.ORIGIN,
        )
    if as_json:
        output.json(made)
    else:
        click.echo(f"{name} ticked: event {made.event_id}, jobs made: {made.jobs}")


@schedule.command()
@click.argument("name")
@click.option(
    "--from", "start", type=options.MOMENT, required=True, help="2026-12-24T09:00Z, or 7d: ago."
)
@click.option("--to", "end", type=options.MOMENT, help="As --from; else now.")
@_reason
@options.actor
@options.sure
@options.as_json
def backfill(
    *,
    name: str,
    start: datetime | float,
    end: datetime | float | None,
    reason: str | None,
    actor: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Make the ticks between two times that never became events; says first which."""
    with database.opened() as opened:
        found, now = schedules.get(opened, name)
        begin, until = _ago(start, now), _ago(end, now) if end is not None else now
        unmade = _unmade(opened, found, begin, until, now)
        listeners = schedules.listeners(opened, name)
        _ask(name, found.intent, unmade, listeners, yes=yes)
        made = schedules.make(
            opened,
            name,
            {ticks.key(due.at): ticks.body(name, found.intent, due.at) for due in unmade},
            act="schedule.backfill",
            asked={"from": begin, "to": until},
            by=options.named(actor),
            reason=reason,
            origin=options.ORIGIN,
        )
    if as_json:
        output.json(made)
        return
    new = _new(made)
    click.echo(f"{name}: {len(new)} ticks made, with {sum(each.jobs for each in new)} jobs")


@schedule.command("set")
@click.argument("name")
@click.option("--cron", metavar="CRON", help="Five fields, as '30 2 * * *'.")
@click.option("--every", type=options.LENGTH, help="An interval, as 15m.")
@click.option("--zone", metavar="ZONE", help="As Europe/Berlin.")
@click.option("--misfire", type=click.Choice(("skip", "one", "all")), help="What was missed.")
@click.option("--limit", type=click.IntRange(1, intents.MOST), help="At most so many, with all.")
@click.option("--as-declared", is_flag=True, help="Take back what was set: the code's holds.")
@click.option("--reason", metavar="TEXT", required=True, help="Why; it is kept with the act.")
@options.actor
def set_(
    *,
    name: str,
    cron: str | None,
    every: float | None,
    zone: str | None,
    misfire: str | None,
    limit: int | None,
    as_declared: bool,
    reason: str,
    actor: str | None,
) -> None:
    """Change when a schedule ticks; it stands over the code's until it is taken back."""
    if as_declared == any(each is not None for each in (cron, every, zone, misfire, limit)):
        raise click.UsageError("say what to change, or --as-declared to take back what was")
    with database.opened() as opened:
        found, _ = schedules.get(opened, name)
        wanted = found.declared
        if not as_declared:
            wanted = _changed(found, cron, every, zone=zone, misfire=misfire, limit=limit)
        next_at = schedules.change(
            opened, name, wanted, by=options.named(actor), reason=reason, origin=options.ORIGIN
        )
    click.echo(f"{name} ticks {wanted.words()}; next at {output.instant(next_at) or 'no time'}")


def _changed(
    found: ListedSchedule,
    cron: str | None,
    every: float | None,
    *,
    zone: str | None,
    misfire: str | None,
    limit: int | None,
) -> Intent:
    was = found.intent
    other = cron is not None or every is not None
    policy = misfire or was.misfire
    try:
        return intents.intent(
            found.name,
            cron=cron if other else was.cron,
            every=every if other else was.every,
            at=None if other else was.at,
            anchor=None if other else was.anchor,
            zone=zone or was.zone,
            misfire=policy,
            limit=limit or (was.limit if policy == "all" else None),
        )
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error


def _coming(found: ListedSchedule, now: datetime, count: int) -> list[Due]:
    """The next ticks, beginning with the one that stands in the row."""
    if found.next_at is None or count == 0:
        return []
    rest = ticks.following(found.intent, max(now, found.next_at), count)
    first = ticks.between(found.intent, found.next_at, found.next_at, 1) or [Due(found.next_at)]
    return [*first, *rest][:count]


def _preview(intent: Intent, found: Sequence[Due]) -> list[_Next]:
    where = intents.zone(intent.zone)
    return [
        _Next(due.at, due.at.astimezone(where), intent.zone, ticks.remark(intent, due))
        for due in found
    ]


def _table(found: Sequence[_Next]) -> None:
    rows = [
        (f"{each.local:%a %Y-%m-%d %H:%M:%S} {_offset(each.local)}", each.at, each.remark)
        for each in found
    ]
    if rows:
        output.table(("on the wall clock", "moment", ""), rows)
    else:
        output.sentence("none: it will not tick again", indent=2)


def _offset(local: datetime) -> str:
    return local.isoformat()[-6:]


def _about(found: ListedSchedule, listeners: Sequence[Listener]) -> None:
    output.heading(f"{found.name} is {found.state}: {found.intent.words()}.")
    limit = f", at most {found.intent.limit}" if found.intent.misfire == "all" else ""
    said_at = output.instant(found.declared_at)
    facts = [
        f"Declared at {said_at} by {found.declared_by}; misfire {found.intent.misfire}{limit}."
    ]
    if found.changed_by is not None:
        facts.append(f"Changed by {found.changed_by}; the code says {found.declared.words()}.")
    facts.append(f"Last tick: {output.instant(found.last_at) or 'none yet'}.")
    waiting = ", ".join(f"{each.name} ({each.stage})" for each in listeners)
    until = f" until {output.instant(found.next_at)}" if found.next_at is not None else ""
    facts.append(f"Waiting for it{until}: {waiting}." if waiting else "Nobody listens to it.")
    for fact in facts:
        output.sentence(fact, indent=2)


def _ago(given: datetime | float, now: datetime) -> datetime:
    return given if isinstance(given, datetime) else now - timedelta(seconds=given)


def _unmade(
    opened: Database, found: ListedSchedule, begin: datetime, until: datetime, now: datetime
) -> list[Due]:
    if begin > until:
        raise click.UsageError("--from is later than --to")
    if until > now:
        raise Refused(
            f"{ticks.key(until)} is still to come: its ticks will be made in their time",
            hint="Give a time that has passed; for one more tick, see tenure schedule run.",
        )
    falling = ticks.between(found.intent, begin, until, _MOST + 1)
    if len(falling) > _MOST:
        raise Refused(
            f"more than {_MOST} ticks lie between these times: so many are not made at once",
            hint=f"The first {_MOST} end at {ticks.key(falling[_MOST - 1].at)}: give that as --to.",
        )
    unmade = schedules.unmade(opened, found.name, falling)
    if not unmade:
        raise NothingMatched(
            f"no tick of {found.name} is missing: of {len(falling)} in that time all were made",
            hint="For one more tick now, see tenure schedule run.",
        )
    return unmade


def _ask(
    name: str, intent: Intent, unmade: Sequence[Due], listeners: Sequence[Listener], *, yes: bool
) -> None:
    where = intents.zone(intent.zone)
    lines = [
        f"{ticks.key(due.at)}  {due.at.astimezone(where).isoformat()}" for due in unmade[:_SHOWN]
    ]
    if len(unmade) > _SHOWN:
        lines.append(f"… and {len(unmade) - _SHOWN} more, to {ticks.key(unmade[-1].at)}")
    listening = ", ".join(f"{each.name} ({each.stage})" for each in listeners) or "nobody"
    lines.append(f"listening: {listening}")
    options.ask(lines, f"Make {len(unmade)} ticks of {name}?", yes=yes)


def _new(made: Sequence[Made]) -> list[Made]:
    return [each for each in made if each.outcome == "accepted"]
