"""The schema's history: numbered files, applied forward only, under a lock.

Called by ``tenure migrate`` and by whoever starts an embedded database.  Promises: one migration is
one transaction; a file that changed after it was applied is refused; code that is older than what
the newest migration serves, or newer than the schema, says so instead of running.
"""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from typing import LiteralString

import msgspec
import psycopg

from tenure.base.errors import SchemaMismatch
from tenure.store.database import Database, first_line

# What this code needs: the newest migration it was written against.
CODE_VERSION = 27
OLDEST_SERVER = 150000

# What others are given: to make jobs, to read, to act.
ROLES = ("tenure_enqueue", "tenure_read", "tenure_operate")

_SERVES = re.compile(r"^-- serves code from: (\d+)$", re.MULTILINE)


class Migration(msgspec.Struct, frozen=True):
    """One step of the schema's history; ``serves_from`` is the oldest code it still serves."""

    version: int
    name: str
    text: LiteralString
    checksum: str
    serves_from: int


def history() -> list[Migration]:
    """All migrations that this code carries, oldest first."""
    folder = resources.files("tenure.sql").joinpath("migrations")
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [_read(name, folder.joinpath(name).read_text(encoding="utf-8")) for name in files]


def _read(file: str, text: LiteralString) -> Migration:
    serves = _SERVES.search(text)
    if serves is None:
        raise SchemaMismatch(f"migration {file} does not state which code it serves")
    return Migration(
        version=int(file[:4]),
        name=file.removesuffix(".sql"),
        text=text,
        checksum=hashlib.sha256(text.encode()).hexdigest(),
        serves_from=int(serves.group(1)),
    )


def pending(database: Database) -> list[Migration]:
    """Migrations not applied yet; raises ``SchemaMismatch`` where an applied one has changed."""
    applied = _applied(database)
    for migration in history():
        known = applied.get(migration.version)
        if known is not None and known != migration.checksum:
            raise SchemaMismatch(
                f"migration {migration.name} was changed after it was applied",
                hint="Install the code that applied it, or restore the file.",
            )
    return [migration for migration in history() if migration.version not in applied]


def migrate(database: Database) -> list[Migration]:
    """Apply what is pending, each in its own transaction under one lock; tells what was applied."""
    _check_server(database)
    done: list[Migration] = []
    while True:
        with database.transaction():
            database.run("migrate/lock")
            rest = pending(database)
            if not rest:
                break
            _apply(database, rest[0])
        done.append(rest[0])
    with database.transaction():
        database.run("migrate/lock")
        database.run("migrate/roles")
        database.run("migrate/grants")
    return done


def missing_roles(database: Database) -> list[str]:
    """The roles that whoever migrated was not allowed to make."""
    there = {row["role"] for row in database.run("migrate/granted", {"names": list(ROLES)})}
    return [role for role in ROLES if role not in there]


def check(database: Database) -> None:
    """Raise ``SchemaMismatch`` where schema and code do not serve each other."""
    _check_server(database)
    rest = pending(database)
    if rest:
        raise SchemaMismatch(
            f"the schema lacks {len(rest)} migrations (next: {rest[0].name})",
            hint="Run: tenure migrate",
        )
    oldest = max(row["serves_from"] for row in database.run("migrate/applied"))
    if oldest > CODE_VERSION:
        raise SchemaMismatch(
            f"the schema no longer serves this code (version {CODE_VERSION}, needs {oldest})",
            hint="Install a newer release.",
        )


def _apply(database: Database, migration: Migration) -> None:
    try:
        database.execute(migration.text)
    except psycopg.Error as error:
        raise SchemaMismatch(
            f"migration {migration.name} failed ({first_line(error)}): nothing of it was kept",
            hint="Mend what it says and run tenure migrate again.",
        ) from error
    database.run(
        "migrate/record",
        {
            "version": migration.version,
            "name": migration.name,
            "checksum": migration.checksum,
            "serves_from": migration.serves_from,
        },
    )


def _applied(database: Database) -> dict[int, str]:
    if not database.run("migrate/standing")[0]["there"]:
        return {}
    return {row["version"]: row["checksum"] for row in database.run("migrate/applied")}


def _check_server(database: Database) -> None:
    version = database.connect().info.server_version
    if version < OLDEST_SERVER:
        raise SchemaMismatch(
            f"PostgreSQL {version // 10000} is too old: Tenure needs 15 or newer",
            hint="Point TENURE_DATABASE_URL at PostgreSQL 15 to 18.",
        )
