"""``tenure pause`` and ``tenure resume``: standing still, in somebody's name.

Promises: a pause has a reason, and is told wherever something waits for it; without a target the
pauses in force are listed.
"""

from __future__ import annotations

from datetime import datetime

import click

from tenure.cli import database, options, output
from tenure.store import pauses
from tenure.store.pauses import Pause

_TARGET = "automation:NAME|lane:NAME|provider:NAME|source:NAME|all"


@click.command()
@click.argument("target", required=False, metavar=f"[{_TARGET}]")
@click.option("--reason", metavar="TEXT", help="Why; told wherever something waits for it.")
@click.option("--until", type=options.MOMENT, help="It ends by itself: 2026-12-24T09:00Z or 2h.")
@options.actor
@options.as_json
def pause(
    *,
    target: str | None,
    reason: str | None,
    until: datetime | float | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Let something stand still until it is resumed; without a target, list what does."""
    if target is None:
        _list(as_json=as_json)
        return
    if reason is None:
        raise click.UsageError('a pause has a reason: --reason "…"')
    with database.opened() as opened:
        done = pauses.pause(
            opened,
            target,
            reason=reason,
            until=options.moment(opened, until),
            actor=options.named(actor),
            origin=options.ORIGIN,
        )
    if as_json:
        output.json(done)
        return
    click.echo(f"{done.target} is paused {_until(done)}")
    click.echo("what comes is taken in and waits; what runs goes on to its next call")


@click.command()
@click.argument("target", metavar=_TARGET)
@click.option("--reason", metavar="TEXT", help="Why; it is kept with the act.")
@options.actor
@options.as_json
def resume(*, target: str, reason: str | None, actor: str | None, as_json: bool) -> None:
    """End a pause; others that overlap it go on."""
    with database.opened() as opened:
        was = pauses.resume(
            opened, target, reason=reason, actor=options.named(actor), origin=options.ORIGIN
        )
        left = pauses.listed(opened)
    if as_json:
        output.json(was)
        return
    since = output.instant(was.since)
    click.echo(f"{was.target} goes on; it was paused by {was.paused_by} since {since}")
    for each in left:
        output.notice(f"{each.target} is still paused {_until(each)}")


def _list(*, as_json: bool) -> None:
    with database.opened() as opened:
        found = pauses.listed(opened)
    if as_json:
        output.json(found)
        return
    rows = [(p.target, p.paused_by, p.since, p.until or "resumed", p.reason) for p in found]
    if rows:
        output.table(("paused", "by", "since", "until", "reason"), rows)
    else:
        output.notice("nothing is paused")


def _until(pause: Pause) -> str:
    if pause.until is None:
        return f"until somebody resumes it: tenure resume {pause.target}"
    return f"until {output.instant(pause.until)}"
