"""``tenure serve``: the doors for events and the control API, until told to stop.

Promises: nothing listens without a credential; an embedded database is used only where that was
chosen.
"""

from __future__ import annotations

import logging
import os

import click

from tenure.cli import application, database, output
from tenure.web import server


@click.command()
@application.option
@click.option("--host", metavar="ADDRESS", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port; 0: a free one.")
@click.option("--embedded", is_flag=True, help="Use the embedded PostgreSQL.")
@click.option("--first-token", is_flag=True, help="Where no token opens it, make one and show it.")
def serve(
    *, app: str | None, host: str | None, port: int | None, embedded: bool, first_token: bool
) -> None:
    """Serve sources and the control API until told to stop."""
    settings = database.settings(
        {
            "app": app,
            "host": host,
            "port": port,
            "database": "embedded" if embedded else None,
        }
    )
    logging.basicConfig(
        level=os.environ.get("TENURE_LOG", "WARNING").upper(),
        format="%(asctime)s serve %(process)d %(levelname)s %(message)s",
    )
    served = application.load(settings)
    for text in served.lacking():
        output.notice(f"warning: {text}")
    with database.address(settings) as url:
        server.serve(served, settings, url, first_token=first_token, announce=output.notice)
