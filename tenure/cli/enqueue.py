"""``tenure enqueue``: a job by hand, as any SQL caller makes one.

Promises: the input is one JSON value, and one that its automation as it was declared may take; a
key that is taken answers with the job that holds it.
"""

from __future__ import annotations

from datetime import datetime

import click
import msgspec

from tenure.base import content
from tenure.base.errors import NothingMatched, UnknownName
from tenure.cli import database, options, output
from tenure.store import automations, jobs


@click.command()
@click.argument("automation")
@click.argument("input", metavar="JSON", default="null")
@click.option("--key", metavar="TEXT", help="At most one unfinished job of the automation has it.")
@click.option("--at", type=options.MOMENT, help="Not before: 2026-12-24T09:00Z, or 10m from now.")
@click.option(
    "--expires",
    type=options.MOMENT,
    help="Cancelled where nobody has claimed it by then, or so long after it was due.",
)
@click.option("--tag", "tags", multiple=True, metavar="TEXT", help="Instead of the automation's.")
@click.option("--priority", type=click.IntRange(0, 9), help="0 first; else the automation's own.")
@options.actor
@options.as_json
def enqueue(
    *,
    automation: str,
    input: str,
    key: str | None,
    at: datetime | float | None,
    expires: datetime | float | None,
    tags: tuple[str, ...],
    priority: int | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Make a job of an automation from JSON, from @FILE, or from - for standard input."""
    text = options.json_text(input, what="input")
    content.check(text)
    by = f"cli:{options.named(actor)}"
    with database.opened() as opened:
        wanted = jobs.wanted(
            automation,
            text,
            key=key,
            at=options.moment(opened, at),
            expires=expires,
            priority=priority,
            tags=tags or None,
        )
        automations.check_input(opened, automation, text)
        try:
            enqueued = jobs.enqueue(opened, msgspec.structs.replace(wanted, by=by))
        except UnknownName as error:
            raise NothingMatched(error.message, hint=error.hint) from error
    if as_json:
        output.json(enqueued)
        return
    click.echo(str(enqueued.job_id))
    if not enqueued.created:
        output.notice(f"the key is taken: this job holds it ({key})")
