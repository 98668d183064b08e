"""``tenure migrate``: the only command that changes a schema which somebody else runs.

Promises: what is applied is listed; ``--plan`` applies nothing.
"""

from __future__ import annotations

import click
import msgspec

from tenure.cli import database, options, output
from tenure.store import migrate as schema
from tenure.store.migrate import Migration


class _Listed(msgspec.Struct, frozen=True):
    version: int
    name: str


@click.command()
@click.option("--plan", is_flag=True, help="List what would be applied, and apply nothing.")
@options.as_json
def migrate(*, plan: bool, as_json: bool) -> None:
    """Bring the database's schema up to this code."""
    with database.unchecked(make=not plan, leave=True) as opened:
        found = schema.pending(opened) if plan else schema.migrate(opened)
        missing = [] if plan else schema.missing_roles(opened)
    if missing:
        output.notice(
            f"not made, as this account makes no roles: {', '.join(missing)}; let one that may"
            " create them, and run tenure migrate again for their rights"
        )
    if as_json:
        output.json([_listed(migration) for migration in found])
        return
    for migration in found:
        click.echo(f"{'would apply' if plan else 'applied'} {migration.name}")
    if not found:
        output.notice("the schema is up to date")


def _listed(migration: Migration) -> _Listed:
    return _Listed(migration.version, migration.name)
