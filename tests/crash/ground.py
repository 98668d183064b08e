"""What all runs share: a server, a migrated template, two providers, a nursery of workers."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.embedded import start
from tenure.store import migrate
from tenure.store.database import Database
from tenure.testing.emulators import Emulator, Limit, generic, stripe
from tests.crash.workers import Nursery
from tests.kit.automations import app
from tests.kit.rows import Rows

_TEMPLATE = f"crash_template_{uuid.uuid4().hex[:12]}"
_WIDE = Limit(1_000_000, per=1.0)


class Ground(msgspec.Struct, frozen=True):
    """Where runs take place."""

    url: str
    nursery: Nursery

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a database in which the automations are live and nothing has happened."""
        name = sql.Identifier(made := f"crash_{uuid.uuid4().hex[:12]}")
        template = sql.Identifier(_TEMPLATE)
        copy = sql.SQL("create database {} template {} strategy file_copy")
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute(copy.format(name, template))
            try:
                yield make_conninfo(self.url, dbname=made)
            finally:
                conn.execute(sql.SQL("drop database {} with (force)").format(name))

    @contextmanager
    def providers(self) -> Iterator[dict[str, Emulator]]:
        """The providers with empty ledgers: ``stripe`` honours keys, ``crm`` does not."""
        with ExitStack() as stack:
            yield {
                "stripe": stack.enter_context(Emulator(stripe(_WIDE))),
                "crm": stack.enter_context(Emulator(generic(_WIDE))),
            }


@contextmanager
def ground() -> Iterator[Ground]:
    """Prepare the ground, and leave nothing behind."""
    with ExitStack() as stack:
        url = os.environ.get("TENURE_TEST_URL") or stack.enter_context(_server())
        stack.enter_context(_template(url))
        yield Ground(url, stack.enter_context(Nursery()))


@contextmanager
def _server() -> Iterator[str]:
    """A server of its own, in memory where there is a place for it: kills are no power cuts."""
    memory = Path("/dev/shm")  # noqa: S108 - the name is the system's, and mkdtemp makes ours
    folder = Path(tempfile.mkdtemp(prefix="crash-", dir=memory if memory.is_dir() else None))
    folder.chmod(0o711)
    try:
        with start(folder / "t") as embedded:
            yield embedded.url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _template(url: str) -> Iterator[None]:
    name = sql.Identifier(_TEMPLATE)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(name))
        try:
            database = Database(make_conninfo(url, dbname=_TEMPLATE))
            migrate.migrate(database)
            Rows(database).declare(app)
            database.close()
            yield
        finally:
            conn.execute(sql.SQL("drop database {} with (force)").format(name))
