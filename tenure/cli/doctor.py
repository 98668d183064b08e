"""``tenure doctor``: looks at the whole, and says what to do.

Promises: nothing is changed; each check is one sentence; exit 1 where one fails.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from tenure.base.defaults import Settings
from tenure.base.errors import ConfigurationError, SchemaMismatch
from tenure.cli import application, database, options, output
from tenure.store import doctor as checks
from tenure.store import migrate
from tenure.store.database import Database
from tenure.store.doctor import Checked


@click.command()
@application.option
@options.as_json
def doctor(*, app: str | None, as_json: bool) -> None:
    """Look at database, workers, partitions and clocks, and say what to do."""
    settings = database.settings({"app": app})
    found = []
    with database.unchecked(settings, leave=True) as opened:
        for checked in _look(opened, settings):
            found.append(checked)
            if not as_json:
                _told(checked)
    if as_json:
        output.json(found)
    if any(checked.grade == "fail" for checked in found):
        raise click.exceptions.Exit(1)


def _told(checked: Checked) -> None:
    output.sentence(f"{checked.grade:<5}{checked.name:<12} {checked.said}")
    if checked.advice:
        output.sentence(checked.advice, indent=18)


def _look(opened: Database, settings: Settings) -> Iterator[Checked]:
    try:
        migrate.check(opened)
    except SchemaMismatch as error:
        yield Checked("schema", "fail", f"{error.message}.", error.hint)
        return
    yield Checked("schema", "ok", f"The schema is at migration {migrate.CODE_VERSION}.")
    if missing := migrate.missing_roles(opened):
        yield Checked(
            "roles",
            "warn",
            f"Roles are not there: {', '.join(missing)}.",
            "Run tenure migrate as a role that may make roles.",
        )
    yield from checks.look(opened)
    if settings.app:
        yield from _secrets(settings)


def _secrets(settings: Settings) -> Iterator[Checked]:
    try:
        lacking = application.load(settings).lacking()
    except ConfigurationError as error:
        yield Checked("secrets", "fail", f"{error.message}.", error.hint)
        return
    for text in lacking:
        yield Checked("secrets", "warn", text, "Set it where workers and servers run.")
    if not lacking:
        yield Checked("secrets", "ok", "Every secret that the code names is there.")
