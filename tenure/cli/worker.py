"""``tenure worker``: runs jobs in processes of its own until told to stop.

Promises: an embedded database is used only where that was chosen; the author's code is imported by
the processes that run it, never here.
"""

from __future__ import annotations

import click

from tenure.cli import application, database, output
from tenure.worker import service
from tenure.worker.service import Only


@click.command()
@application.option
@click.option("--processes", type=click.IntRange(1), help="How many processes run live jobs.")
@click.option("--concurrency", type=click.IntRange(1), help="How many jobs each runs at once.")
@click.option("--embedded", is_flag=True, help="Use the embedded PostgreSQL.")
@click.option("--only", type=click.Choice(("live", "not-live")), help="Run one kind of job alone.")
def worker(
    *,
    app: str | None,
    processes: int | None,
    concurrency: int | None,
    embedded: bool,
    only: Only | None,
) -> None:
    """Run jobs until told to stop: SIGTERM or Ctrl-C drains, then ends."""
    settings = database.settings(
        {
            "app": app,
            "processes": processes,
            "concurrency": concurrency,
            "database": "embedded" if embedded else None,
        }
    )
    path = application.path(settings)
    with database.address(settings) as url:
        code = service.run(path, settings, url=url, only=only, announce=output.notice)
    if code:
        raise click.exceptions.Exit(code)
