"""``tenure promote`` and ``tenure demote``: moving an automation, in somebody's name.

Promises: a reason is always given; nothing goes live without its evidence or a waiver with a name
and an end.
"""

from __future__ import annotations

from datetime import datetime

import click

from tenure.cli import database, options, output
from tenure.store import stages
from tenure.store.stages import Moved, Waiver

_STAGES = ("dry_run", "shadow", "live")
_reason = click.option("--reason", metavar="TEXT", required=True, help="Why; it is kept for ever.")


@click.command()
@click.argument("name")
@click.option("--to", type=click.Choice(_STAGES[1:]), required=True, help="The stage.")
@click.option("--waive", multiple=True, metavar="LINE|all", help="Do without a line's evidence.")
@click.option("--until", type=options.MOMENT, help="The waiver's end: 2026-12-24T09:00Z or 30d.")
@_reason
@options.actor
@options.as_json
def promote(
    *,
    name: str,
    to: str,
    waive: tuple[str, ...],
    until: datetime | float | None,
    reason: str,
    actor: str | None,
    as_json: bool,
) -> None:
    """Move an automation up a stage."""
    if until is not None and not waive:
        raise click.UsageError("--until is a waiver's end: it goes with --waive")
    with database.opened() as opened:
        moved = stages.promote(
            opened,
            name,
            to,
            reason=reason,
            actor=options.named(actor),
            waiver=Waiver(waive, options.moment(opened, until)),
            origin=options.ORIGIN,
        )
    _tell(moved, as_json=as_json)


@click.command()
@click.argument("name")
@click.option("--to", type=click.Choice(_STAGES[:2]), required=True, help="The stage.")
@_reason
@options.actor
@options.as_json
def demote(*, name: str, to: str, reason: str, actor: str | None, as_json: bool) -> None:
    """Move an automation down a stage, at once."""
    with database.opened() as opened:
        moved = stages.demote(
            opened,
            name,
            to,
            reason=reason,
            actor=options.named(actor),
            origin=options.ORIGIN,
        )
    _tell(moved, as_json=as_json)


def _tell(moved: Moved, *, as_json: bool) -> None:
    if as_json:
        output.json(moved)
        return
    click.echo(f"{moved.automation} went from {moved.from_stage} to {moved.to_stage}")
    click.echo(f"from event {moved.first_event} on; jobs that exist keep their mode")
    if moved.waived_until is not None:
        until = output.instant(moved.waived_until)
        click.echo(f"waived until {until}: {', '.join(moved.waived)}")
