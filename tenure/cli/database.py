"""Which database a command speaks to, and in what state it must be.

Called by every command that needs one.  Promises: an address wins over the embedded server; the
embedded one is announced, migrated by whoever starts it, and made only by what can do something
with an empty one; any other database is migrated by ``tenure migrate`` alone; what runs for long
never uses the embedded one unasked.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tenure import embedded
from tenure.base import settings as base_settings
from tenure.base.defaults import Settings
from tenure.base.errors import ConfigurationError
from tenure.cli.output import notice
from tenure.store import migrate
from tenure.store.database import Database


def settings(overrides: Mapping[str, object] | None = None) -> Settings:
    """The settings in force, from flags, the environment and the files of this folder."""
    return base_settings.load(overrides, environ=os.environ, directory=Path.cwd())


@contextlib.contextmanager
def opened(found: Settings | None = None, *, make: bool = False) -> Iterator[Database]:
    """The database for one command, at the schema this code needs.

    Without an address it is the embedded one, which is made where it is not there if ``make`` says
    so.  Raises ``SchemaMismatch`` where it is not migrated, ``ConfigurationError`` where none is.
    """
    with unchecked(found, make=make) as database:
        migrate.check(database)
        yield database


@contextlib.contextmanager
def unchecked(
    found: Settings | None = None, *, make: bool = False, leave: bool = False
) -> Iterator[Database]:
    """The database as it stands; ``leave``: an embedded one is not migrated either."""
    found = found or settings()
    with contextlib.ExitStack() as stack:
        url = found.database_url or stack.enter_context(_embedded(found, make=make, leave=leave))
        database = Database(url, name="tenure cli", pooled=found.pooled)
        stack.callback(database.close)
        yield database


@contextlib.contextmanager
def address(found: Settings) -> Iterator[str]:
    """The address for what runs for long; raises ``ConfigurationError`` where none was chosen."""
    if found.database_url:
        yield found.database_url
        return
    if found.database != "embedded":
        raise ConfigurationError(
            "no database is set: a worker or server does not choose one by itself",
            hint='Set TENURE_DATABASE_URL, or database = "embedded" in tenure.toml, or --embedded.',
        )
    with _embedded(found, make=True) as url:
        yield url


@contextlib.contextmanager
def _embedded(found: Settings, *, make: bool, leave: bool = False) -> Iterator[str]:
    folder = Path(found.embedded_directory).resolve()
    known = embedded.made(folder)
    if not known and not make:
        raise ConfigurationError(
            f"there is no database here: no address is set, and none was made in {folder}",
            hint="Go to the folder that has it, or set TENURE_DATABASE_URL; "
            "`tenure migrate` makes an embedded one here.",
        )
    notice(f"using the embedded PostgreSQL in {found.embedded_directory.rstrip('/')}/")
    with embedded.start(folder) as server:
        if not known:
            notice(f"made a new, empty database in {folder}")
        if not leave:
            database = Database(server.url, name="tenure migrate")
            try:
                migrate.migrate(database)
            finally:
                database.close()
        yield server.url
