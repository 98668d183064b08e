"""Connections and sessions of SQLAlchemy, over each driver that it is taken over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm
from psycopg.conninfo import conninfo_to_dict

from tests.kit.driving import Driver


class Alchemy(Driver):
    """A connection of SQLAlchemy over psycopg."""

    dialect: ClassVar[str] = "postgresql+psycopg"

    def open(self) -> None:
        """Make an engine, and connect."""
        parts = {k: str(v) for k, v in conninfo_to_dict(self.url).items()}
        database, host = parts.pop("dbname"), parts.pop("host")
        url = sqlalchemy.URL.create(
            self.dialect, parts.pop("user", None), database=database, query={"host": host, **parts}
        )
        level: Any = "AUTOCOMMIT" if self.autocommit else "READ COMMITTED"
        self.connect(url, level)

    def connect(self, url: sqlalchemy.URL, level: Any) -> None:  # noqa: ANN401 - one of its literals
        """Connect."""
        self.engine = sqlalchemy.create_engine(url, isolation_level=level)
        self.conn = self.engine.connect()

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        rows = self.conn.execute(sqlalchemy.text(text))
        return [tuple(row) for row in rows] if rows.returns_rows else []

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """A transaction within."""
        nested = self.conn.begin_nested()
        yield
        nested.rollback()

    def close(self) -> None:
        """Close the connection and its engine."""
        super().close()
        self.engine.dispose()


class Alchemy2(Alchemy):
    """A connection of SQLAlchemy over psycopg2."""

    dialect = "postgresql+psycopg2"


class AlchemySession(Alchemy):
    """A session of SQLAlchemy."""

    def connect(self, url: sqlalchemy.URL, level: Any) -> None:  # noqa: ANN401 - one of its literals
        """Make a session."""
        self.engine = sqlalchemy.create_engine(url, isolation_level=level)
        self.conn = sqlalchemy.orm.Session(self.engine)


class AlchemyScoped(AlchemySession):
    """A session of SQLAlchemy that belongs to the thread."""

    def connect(self, url: sqlalchemy.URL, level: Any) -> None:  # noqa: ANN401 - one of its literals
        """Make a session."""
        self.engine = sqlalchemy.create_engine(url, isolation_level=level)
        self.conn = sqlalchemy.orm.scoped_session(sqlalchemy.orm.sessionmaker(self.engine))


class AlchemyAsync(Alchemy):
    """A connection of SQLAlchemy over asyncpg, awaited."""

    awaited = True
    dialect = "postgresql+asyncpg"

    def connect(self, url: sqlalchemy.URL, level: Any) -> None:  # noqa: ANN401 - one of its literals
        """Connect."""
        self.aengine = sqlalchemy.ext.asyncio.create_async_engine(url, isolation_level=level)
        self.run(self._connect())

    async def _connect(self) -> None:
        self.conn = await self.aengine.connect()

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        return self.run(self._ask(text))

    async def _ask(self, text: str) -> list[tuple[Any, ...]]:
        rows = await self.conn.execute(sqlalchemy.text(text))
        return [tuple(row) for row in rows] if rows.returns_rows else []

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """A transaction within."""
        nested = self.conn.begin_nested()
        self.run(_started(nested))
        yield
        self.run(nested.rollback())

    def close(self) -> None:
        """Close the connection and its engine."""
        self.run(self.conn.close())
        self.run(self.aengine.dispose())
        self.runner.close()


class AlchemyAsyncPsycopg(AlchemyAsync):
    """A connection of SQLAlchemy over psycopg, awaited."""

    dialect = "postgresql+psycopg_async"


class AlchemyAsyncSession(AlchemyAsync):
    """A session of SQLAlchemy over asyncpg, awaited."""

    async def _connect(self) -> None:
        self.conn = sqlalchemy.ext.asyncio.AsyncSession(self.aengine)


async def _started(nested: Any) -> None:  # noqa: ANN401 - a transaction that is awaited to begin
    await nested
