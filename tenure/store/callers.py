"""Somebody else's connection: one statement of ours in a transaction of theirs.

Called by rooms that a caller hands a connection to.  Promises: its library is known by its classes
and never imported here; the caller's transaction decides what comes of it; nothing of the caller's
session is changed, and no prepared statement of ours stays in it but what SQLAlchemy keeps of any
statement; what the schema's functions refuse is the same error through every driver, and whatever
else goes wrong is the driver's own exception, so that a caller's retries see what they know.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, LiteralString, Protocol, Self, cast

import psycopg
from psycopg.rows import tuple_row

from tenure.base.errors import ConfigurationError, SchemaMismatch, TenureError
from tenure.store.database import refusal, statement

Values = Mapping[str, str | float | list[str] | None]
Rows = Sequence[Sequence[object]]

TAKEN = (
    "Taken are connections, cursors and sessions of psycopg and SQLAlchemy, connections of asyncpg,"
    " psycopg2 and Django."
)
_PLACE = re.compile(r"%\((\w+)\)s")


class Blocking(Protocol):
    """A connection or session whose ``commit`` returns when it is done."""

    def commit(self) -> None:
        """End the transaction."""


class BlockingCursor(Protocol):
    """A cursor of such a connection."""

    @property
    def connection(self) -> Blocking:
        """Whose cursor it is."""


class Awaited(Protocol):
    """A connection or session whose ``commit`` is awaited."""

    def commit(self) -> Awaitable[None]:
        """End the transaction."""


class AwaitedCursor(Protocol):
    """A cursor of such a connection."""

    @property
    def connection(self) -> Awaited:
        """Whose cursor it is."""


class Fetching(Protocol):
    """A connection as asyncpg has them, which commits by statements."""

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""


Conn = Blocking | BlockingCursor
AsyncConn = Awaited | AwaitedCursor | Fetching


class _Dialect(Protocol):
    name: str
    driver: str
    paramstyle: str


class _Sqlalchemy(Protocol):
    dialect: _Dialect

    def exec_driver_sql(self, text: str, values: object) -> Any: ...  # noqa: ANN401 - rows, or a promise of them


class _Session(Protocol):
    def connection(self) -> Any: ...  # noqa: ANN401 - a connection, or a promise of one


class _Cursor(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *failure: object) -> None: ...
    def execute(self, text: str, values: Values) -> object: ...
    def fetchall(self) -> Rows: ...


class _Cursors(Protocol):
    vendor: str

    def cursor(self, **options: object) -> _Cursor: ...


class _Prepared(Protocol):
    def fetch(self, *values: object) -> Awaitable[Sequence[Any]]: ...


class _Asyncpg(Protocol):
    def prepare(self, text: str, *, name: str) -> Awaitable[_Prepared]: ...


def run(conn: Conn, name: str, values: Values) -> Rows:
    """Run a statement by its name over a caller's blocking connection, and return its rows.

    Values are text, numbers, lists of text and null, which every driver writes alike; the columns
    are text and booleans, which every driver reads alike.
    """
    speak = _speaker(conn, _BLOCKING)
    if speak is None:
        raise _not_taken(conn, "enqueue", _AWAITED)
    with translated():
        return cast("Rows", speak(conn, statement(name), values))


async def arun(conn: AsyncConn, name: str, values: Values) -> Rows:
    """As ``run``, over a connection that is awaited."""
    speak = _speaker(conn, _AWAITED)
    if speak is None:
        raise _not_taken(conn, "aenqueue", _BLOCKING)
    with translated():
        return await cast("Awaitable[Rows]", speak(conn, statement(name), values))


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """What the schema's functions refuse, in our words, whichever driver was told."""
    try:
        yield
    except TenureError:
        raise
    except Exception as error:
        ours = _ours(error)
        if ours is None:
            raise
        raise ours from error


# Which library a connection is of.

Speak = Callable[[Any, LiteralString, Values], object]


def _speaker(conn: object, known: Mapping[tuple[str, str], Speak]) -> Speak | None:
    for (module, name), speak in known.items():
        class_ = getattr(sys.modules.get(module), name, None)
        if isinstance(class_, type) and isinstance(conn, class_):
            return speak
    return None


def _not_taken(
    conn: object, door: str, others: Mapping[tuple[str, str], Speak]
) -> ConfigurationError:
    kind = f"{type(conn).__module__}.{type(conn).__qualname__}"
    if _speaker(conn, others) is None:
        return ConfigurationError(
            f"conn is a {kind}, which {door} cannot speak to: nothing was made", hint=TAKEN
        )
    other, kinds = ("aenqueue", "an async") if door == "enqueue" else ("enqueue", "a blocking")
    return ConfigurationError(
        f"conn is a {kind}, {kinds} one, and {door} takes none of those: nothing was made",
        hint=f"Call {other}, or give the other kind of connection.",
    )


# How each library is told.


def _psycopg(conn: psycopg.Connection[object], text: LiteralString, values: Values) -> Rows:
    with psycopg.Cursor(conn, row_factory=tuple_row) as cursor:
        return cursor.execute(text, values, prepare=False).fetchall()


async def _psycopg_async(
    conn: psycopg.AsyncConnection[object], text: LiteralString, values: Values
) -> Rows:
    async with psycopg.AsyncCursor(conn, row_factory=tuple_row) as cursor:
        await cursor.execute(text, values, prepare=False)
        return await cursor.fetchall()


def _psycopg2(conn: _Cursors, text: str, values: Values) -> Rows:
    plain = sys.modules["psycopg2.extensions"].cursor
    return _by_cursor(conn.cursor(cursor_factory=plain), text, values)


def _django(conn: _Cursors, text: str, values: Values) -> Rows:
    if conn.vendor != "postgresql":
        raise _elsewhere("Django", conn.vendor)
    return _by_cursor(conn.cursor(), text, values)


def _by_cursor(opened: _Cursor, text: str, values: Values) -> Rows:
    with opened as cursor:
        cursor.execute(text, values)
        return cursor.fetchall()


def _sqlalchemy(conn: _Sqlalchemy, text: str, values: Values) -> Rows:
    return cast("Rows", conn.exec_driver_sql(*_in_style(conn.dialect, text, values)).fetchall())


def _sqlalchemy_session(session: _Session, text: str, values: Values) -> Rows:
    return _sqlalchemy(session.connection(), text, values)


async def _sqlalchemy_async(conn: _Sqlalchemy, text: str, values: Values) -> Rows:
    answer = await conn.exec_driver_sql(*_in_style(conn.dialect, text, values))
    return cast("Rows", answer.fetchall())


async def _sqlalchemy_async_session(session: _Session, text: str, values: Values) -> Rows:
    return await _sqlalchemy_async(await session.connection(), text, values)


async def _asyncpg(conn: _Asyncpg, text: str, values: Values) -> Rows:
    numbered, names = _numbered(text)
    prepared = await conn.prepare(numbered, name="")  # without a name it does not outlive its use
    return [tuple(row) for row in await prepared.fetch(*(values[name] for name in names))]


def _of_connection(speak: Speak) -> Speak:
    """A cursor stands for its connection: what it has fetched is not disturbed."""
    return lambda cursor, text, values: speak(cursor.connection, text, values)


_BLOCKING: dict[tuple[str, str], Speak] = {
    ("psycopg", "Connection"): _psycopg,
    ("psycopg", "Cursor"): _of_connection(_psycopg),
    ("sqlalchemy.orm", "Session"): _sqlalchemy_session,
    ("sqlalchemy.orm", "scoped_session"): _sqlalchemy_session,
    ("sqlalchemy.engine", "Connection"): _sqlalchemy,
    ("django.db.backends.base.base", "BaseDatabaseWrapper"): _django,
    ("django.utils.connection", "ConnectionProxy"): _django,
    ("psycopg2.extensions", "connection"): _psycopg2,
    ("psycopg2.extensions", "cursor"): _of_connection(_psycopg2),
}
_AWAITED: dict[tuple[str, str], Speak] = {
    ("psycopg", "AsyncConnection"): _psycopg_async,
    ("psycopg", "AsyncCursor"): _of_connection(_psycopg_async),
    ("sqlalchemy.ext.asyncio", "AsyncSession"): _sqlalchemy_async_session,
    ("sqlalchemy.ext.asyncio", "async_scoped_session"): _sqlalchemy_async_session,
    ("sqlalchemy.ext.asyncio", "AsyncConnection"): _sqlalchemy_async,
    ("asyncpg.connection", "Connection"): _asyncpg,
    ("asyncpg.pool", "PoolConnectionProxy"): _asyncpg,
}


# How a statement and its values are written.


def _in_style(dialect: _Dialect, text: str, values: Values) -> tuple[str, object]:
    if dialect.name != "postgresql":
        raise _elsewhere("SQLAlchemy", dialect.name)
    if dialect.paramstyle == "pyformat":
        return text, values
    if dialect.paramstyle == "numeric_dollar":
        numbered, names = _numbered(text)
        return numbered, tuple(values[name] for name in names)
    raise ConfigurationError(
        f"conn goes through {dialect.driver}, whose parameters are written in a style that Tenure"
        f" does not speak ({dialect.paramstyle}): nothing was made",
        hint="SQLAlchemy is taken over psycopg, psycopg2 and asyncpg.",
    )


@functools.cache
def _numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """The statement with its named places numbered, and the names in that order."""
    names = tuple(dict.fromkeys(_PLACE.findall(text)))
    numbered = _PLACE.sub(lambda place: f"${names.index(place[1]) + 1}", text)
    return numbered.replace("%%", "%"), names


def _elsewhere(library: str, kind: str) -> ConfigurationError:
    return ConfigurationError(
        f"conn is {library}'s to a database of another kind ({kind}): there are no jobs there",
        hint="Give a connection to the PostgreSQL that Tenure's schema is in.",
    )


# What each library raises.


def _ours(error: BaseException) -> TenureError | None:
    """Our error for what the server said, however deep the driver wrapped it; None for others."""
    for each in _layers(error):
        state = getattr(each, "sqlstate", None) or getattr(each, "pgcode", None)
        message, hint = _words(each)
        if state is None or message is None:
            continue
        if state in ("3F000", "42883"):  # no such schema, no such function
            return SchemaMismatch(
                f"the database of this connection has no schema that serves this code ({message})",
                hint="Give a connection to Tenure's database, or run tenure migrate there.",
            )
        return refusal(str(state), message, hint)
    return None


def _layers(error: BaseException) -> list[BaseException]:
    """What was raised and what it wraps, the server's own words first."""
    layers: list[BaseException] = []
    inner: object = error
    while isinstance(inner, BaseException) and inner not in layers:
        layers.append(inner)
        inner = getattr(inner, "orig", None) or inner.__cause__
    return layers[::-1]


def _words(error: BaseException) -> tuple[str | None, str]:
    """The server's message and hint: of a diagnostic, or on the exception itself."""
    told = getattr(error, "diag", None)
    if told is not None:
        return told.message_primary, told.message_hint or ""
    return getattr(error, "message", None), getattr(error, "hint", None) or ""
