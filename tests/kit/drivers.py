"""Connections as callers have them, one class a library, all driven alike by a test.

Each opens its own connection, writes a row of the caller's, hands the connection to an automation,
and ends the transaction as its library does it.  Those that are awaited run in a loop of their own,
so that a test reads the same for all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it brings no types
import django  # type: ignore[import-untyped]  # as above
import django.conf  # type: ignore[import-untyped]  # as above
import django.db.utils  # type: ignore[import-untyped]  # as above
import django.utils.connection  # type: ignore[import-untyped]  # as above
import psycopg
import psycopg2  # type: ignore[import-untyped]  # as above
from psycopg.conninfo import conninfo_to_dict

from tenure.app import Automation
from tenure.store.jobs import Enqueued
from tests.kit import alchemy
from tests.kit.driving import Driver


class Psycopg(Driver):
    """psycopg, with a row factory of the caller's."""

    def open(self) -> None:
        """Connect."""
        self.conn = psycopg.connect(
            self.url, autocommit=self.autocommit, row_factory=psycopg.rows.dict_row
        )

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        cursor = self.conn.execute(text)
        return [tuple(row.values()) for row in cursor] if cursor.description else []

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """A transaction within."""
        with self.conn.transaction(force_rollback=True):
            yield


class PsycopgCursor(Psycopg):
    """A cursor of psycopg, of a connection whose cursors write parameters as ``$1``."""

    def open(self) -> None:
        """Connect, and open a cursor."""
        super().open()
        self.conn.cursor_factory = psycopg.RawCursor
        self.cursor = self.conn.cursor()

    def given(self) -> object:
        """The cursor."""
        return self.cursor


class PsycopgAsync(Driver):
    """psycopg, awaited."""

    awaited = True

    def open(self) -> None:
        """Connect."""
        connecting = psycopg.AsyncConnection.connect(self.url, autocommit=self.autocommit)
        self.conn = self.run(connecting)

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        return self.run(self._ask(text))

    async def _ask(self, text: str) -> list[tuple[Any, ...]]:
        cursor = await self.conn.execute(text)
        return await cursor.fetchall() if cursor.description else []


class PsycopgAsyncCursor(PsycopgAsync):
    """A cursor of psycopg, awaited."""

    def given(self) -> object:
        """A cursor."""
        return self.conn.cursor()


class Psycopg2(Driver):
    """psycopg2."""

    def open(self) -> None:
        """Connect."""
        self.conn = psycopg2.connect(self.url)
        self.conn.autocommit = self.autocommit

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        with self.conn.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []


class Psycopg2Cursor(Psycopg2):
    """A cursor of psycopg2."""

    def given(self) -> object:
        """A cursor."""
        return self.conn.cursor()


class Asyncpg(Driver):
    """asyncpg, with a codec of the caller's that would write JSON twice."""

    awaited = True

    def open(self) -> None:
        """Connect."""
        self.run(self._open())

    async def _open(self) -> None:
        parts = {k: str(v) for k, v in conninfo_to_dict(self.url).items()}
        parts["database"] = parts.pop("dbname")
        self.conn = await self.connect(parts)
        for name in ("json", "timestamptz"):
            await self.conn.set_type_codec(name, encoder=repr, decoder=repr, schema="pg_catalog")
        self.transaction: Any = None

    async def connect(self, parts: dict[str, str]) -> Any:  # noqa: ANN401 - it has no types
        """A connection."""
        return await asyncpg.connect(**parts)

    def _begin(self) -> None:
        if self.transaction is None and not self.autocommit:
            self.transaction = self.conn.transaction()
            self.run(self.transaction.start())

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        self._begin()
        return [tuple(row) for row in self.run(self.conn.fetch(text))]

    def enqueue(self, automation: Automation[Any, Any], given: object, **more: Any) -> Enqueued:  # noqa: ANN401 - as enqueue
        """Make a job over the connection."""
        self._begin()
        return super().enqueue(automation, given, **more)

    def commit(self) -> None:
        """Commit."""
        self.run(self.transaction.commit())
        self.transaction = None

    def rollback(self) -> None:
        """Roll back."""
        self.run(self.transaction.rollback())
        self.transaction = None

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """A transaction within."""
        nested = self.conn.transaction()
        self.run(nested.start())
        yield
        self.run(nested.rollback())


class AsyncpgPool(Asyncpg):
    """What a pool of asyncpg lends."""

    async def connect(self, parts: dict[str, str]) -> Any:  # noqa: ANN401 - it has no types
        """A connection of a pool's."""
        self.pool = await asyncpg.create_pool(**parts, min_size=1, max_size=1)
        return await self.pool.acquire()

    def close(self) -> None:
        """Close the pool."""
        self.run(self.pool.release(self.conn))
        self.run(self.pool.close())
        self.runner.close()


class Django(Driver):
    """Django's connection, as ``django.db.connections`` has it."""

    def open(self) -> None:
        """Make a set of connections of the test's own."""
        if not django.conf.settings.configured:
            django.conf.settings.configure(USE_TZ=True, LOGGING_CONFIG=None)
            django.setup()
        parts = {k: str(v) for k, v in conninfo_to_dict(self.url).items()}
        settings = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts["dbname"],
            "USER": parts.get("user", ""),
            "HOST": parts["host"],
            "PORT": parts.get("port", ""),
        }
        self.connections = django.db.utils.ConnectionHandler({"default": settings})
        self.conn = self.connections["default"]
        if not self.autocommit:
            self.conn.set_autocommit(False)

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        with self.conn.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """A savepoint of Django's."""
        here = self.conn.savepoint()
        yield
        self.conn.savepoint_rollback(here)


class DjangoProxy(Django):
    """``django.db.connection``, which stands for the connection of the thread."""

    def given(self) -> object:
        """The stand-in."""
        return django.utils.connection.ConnectionProxy(self.connections, "default")


DRIVERS: list[type[Driver]] = [
    Psycopg,
    PsycopgCursor,
    PsycopgAsync,
    PsycopgAsyncCursor,
    Psycopg2,
    Psycopg2Cursor,
    alchemy.Alchemy,
    alchemy.Alchemy2,
    alchemy.AlchemySession,
    alchemy.AlchemyScoped,
    alchemy.AlchemyAsync,
    alchemy.AlchemyAsyncPsycopg,
    alchemy.AlchemyAsyncSession,
    Asyncpg,
    AsyncpgPool,
    Django,
    DjangoProxy,
]
