"""``tenure jobs``: jobs by what is asked of them, newest first.

Promises: an empty list is no error; the JSON has every column.
"""

from __future__ import annotations

import click

from tenure.cli import database, options, output
from tenure.store import listing


@click.command()
@click.option("--state", type=click.Choice(listing.STATES), help="In this state alone.")
@click.option("--automation", metavar="NAME", help="Of this automation alone.")
@click.option("--lane", metavar="LANE", help="In this lane alone.")
@options.limit
@options.as_json
def jobs(
    *, state: str | None, automation: str | None, lane: str | None, limit: int, as_json: bool
) -> None:
    """List jobs, newest first."""
    with database.opened() as opened:
        found = listing.jobs(opened, state=state, automation=automation, lane=lane, limit=limit)
    if as_json:
        output.json(found)
        return
    rows = [
        (
            job.id,
            job.automation,
            job.state,
            job.why or job.error_class,
            job.mode,
            job.lane,
            job.claim_count,
            job.finished_at or job.created_at,
        )
        for job in found
    ]
    if rows:
        output.table(
            ("job", "automation", "state", "why", "mode", "lane", "claims", "at"),
            rows,
            spare=("claims", "lane", "mode", "at", "why"),
            fold=("automation",),
        )
    else:
        output.notice("no job matches")
    if len(found) == limit:
        output.notice(f"the newest {limit}: ask for more with --limit")
