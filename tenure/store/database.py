"""The connection to PostgreSQL, and the statements as files.

Owned here: how a connection is opened, how a statement is found by its name (``room/verb``) and how
an outage is told from an error.  Every other room of this floor calls ``run`` and nothing else.
Promises: each statement is one round trip in a transaction of its own unless a transaction was
opened around it; an outage is a ``DatabaseUnavailable``; a lock that could not be had in time is a
``Busy``, which is a wait and not a failure.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from tenure.base.errors import (
    ConfigurationError,
    DatabaseError,
    DatabaseUnavailable,
    InvalidInput,
    NothingMatched,
    NotYet,
    Refused,
    TenureError,
    UnknownName,
)
from tenure.base.passage import passage

if TYPE_CHECKING:
    from psycopg import Notify

Parameters = Mapping[str, object]
# A row's values have the types its statement's header states; no annotation could check them.
Row = Mapping[str, Any]

# A dead network must be noticed well before a lease runs out.
_TCP_TIMEOUT_MS = 10_000
_BOUND: LiteralString = "select set_config('lock_timeout', '1s', true)"
# Statements are written to be right under any values: a plan is made once and kept.
_SESSION: LiteralString = """
    select set_config('lock_timeout', '1s', false), set_config('TimeZone', 'UTC', false),
           set_config('plan_cache_mode', 'force_generic_plan', false),
           set_config('jit', 'off', false)
"""


# What PostgreSQL says of a login that failed.
_NO_DATABASE = re.compile(r'database "(.+)" does not exist')
_NO_LOGIN = re.compile(r"authentication failed|no password supplied|role \".+\" does not exist")

# What functions of the schema raise for those who call them, from any language.
_CAUSES: dict[str, type[TenureError]] = {
    "TN001": UnknownName,
    "TN002": Refused,
    "TN003": NothingMatched,
    "TN004": NotYet,
    "TN005": InvalidInput,
}


class Busy(DatabaseError):
    """A lock could not be had in time: ask again."""


class Unknown(DatabaseError):
    """The server answered the commit with a warning: whether it will last is not known."""


@functools.cache
def statement(name: str) -> LiteralString:
    """The text of a statement by its name, ``room/verb``; raises ``LookupError`` where none is."""
    file = resources.files("tenure.sql").joinpath(*f"{name}.sql".split("/"))
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise LookupError(f"no statement of the name {name!r}") from error


class Database:
    """One connection to one database, opened when first used and again after it was lost."""

    def __init__(
        self,
        url: str,
        *,
        name: str = "tenure",
        pooled: bool | None = None,
        begin: str | None = None,
    ) -> None:
        """Keep the address; nothing is opened yet.

        ``pooled``: a transaction pooler is between; None: see when connected.  ``begin``: the
        statement a session begins with, where it has one of its own.
        """
        self.url = url
        self._name = name
        self._given = pooled
        self._pooled = bool(pooled)
        self._begin = begin
        self._conn: psycopg.Connection[DictRow] | None = None
        self._warnings: list[str] = []

    @property
    def pooled(self) -> bool:
        """Whether a transaction pooler is between, as far as it is known by now."""
        return self._pooled

    def connect(self) -> psycopg.Connection[DictRow]:
        """The open connection; raises ``DatabaseUnavailable`` where the server does not answer."""
        if self._conn is None or self._conn.closed:
            self._conn, self._pooled = connect(self.url, name=self._name, pooled=self._given)
            self._conn.add_notice_handler(self._notice)
            if self._begin is not None and not self._pooled:
                with translated():
                    self._conn.execute(statement(self._begin))
        return self._conn

    def _notice(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            self._warnings.append(diagnostic.message_primary or "warning")

    def run(self, name: str, parameters: Parameters | None = None) -> Sequence[Row]:
        """Run a statement by its name and return its rows.

        Raises ``DatabaseUnavailable`` where the connection is lost, ``Busy`` where a lock was not
        to be had, ``Unknown`` where the commit came back with a warning.
        """
        return self.execute(statement(name), parameters)

    def execute(self, text: LiteralString, parameters: Parameters | None = None) -> Sequence[Row]:
        """Run a text of this floor's own; as ``run``."""
        conn = self.connect()
        self._warnings.clear()
        with translated():
            cursor = self._asked(conn, text, parameters)
            rows = cursor.fetchall() if cursor.description else []
        if self._warnings and not conn.info.transaction_status:
            raise Unknown(f"the commit came back with a warning ({self._warnings[0]})")
        return rows

    def _asked(
        self, conn: psycopg.Connection[DictRow], text: LiteralString, parameters: Parameters | None
    ) -> psycopg.Cursor[DictRow]:
        """One statement, one round trip, one transaction; none of its locks is waited for long."""
        if not self._pooled or conn.info.transaction_status:
            return conn.execute(text, parameters)
        # Nothing of a session lasts behind a pooler: what bounds the wait goes with the statement.
        # What travels in one round is one transaction, which no frozen client can keep open.
        with conn.pipeline():
            conn.execute(_BOUND)
            return conn.execute(text, parameters)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Several statements in one transaction; rolled back where the body raises."""
        conn = self.connect()
        with translated(), conn.transaction():
            if self._pooled:
                conn.execute(_BOUND)
            yield
        if self._warnings:
            raise Unknown(f"the commit came back with a warning ({self._warnings[0]})")

    def notifications(self, seconds: float) -> Iterator[Notify]:
        """Notifications that come within so many seconds, as they come."""
        with translated():
            yield from self.connect().notifies(timeout=seconds)

    def close(self) -> None:
        """Close the connection, if one is open; never raises."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None


def connect(
    url: str, *, name: str, pooled: bool | None = None
) -> tuple[psycopg.Connection[DictRow], bool]:
    """Open one autocommit connection, and tell whether a pooler is between.

    Raises ``DatabaseUnavailable`` with what the server said.
    """
    options: dict[str, str | int] = {
        "application_name": name,
        "connect_timeout": 10,
        "tcp_user_timeout": _TCP_TIMEOUT_MS,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
    }
    try:
        with passage():
            conn = psycopg.connect(
                make_conninfo(url, **options), autocommit=True, row_factory=dict_row
            )
            between = _stands_between(conn) if pooled is None else pooled
            if between:
                conn.prepare_threshold = None
            else:
                conn.execute(_SESSION)
    except psycopg.ProgrammingError as error:
        raise ConfigurationError(
            f"the database's address cannot be read ({first_line(error)})",
            hint="It looks like postgresql://user@host:5432/name.",
        ) from error
    except psycopg.OperationalError as error:
        raise _unreachable(url, first_line(error)) from error
    return conn, between


def _stands_between(conn: psycopg.Connection[DictRow]) -> bool:
    """Whether who greeted us is not who answers: a pooler makes up the process it greets as."""
    row = conn.execute("select pg_backend_pid() as pid", prepare=False).fetchone()
    return row is None or row["pid"] != conn.info.backend_pid


def _unreachable(url: str, said: str) -> DatabaseUnavailable:
    """Why no connection was to be had, and what to do about it.

    A failed login has no state, so its words decide; in another language it is told as the rest.
    """
    missing = _NO_DATABASE.search(said)
    if missing is not None:
        made = shlex.join(_createdb(url, missing[1]))
        return DatabaseUnavailable(
            f"the server has no database of that name ({said})",
            hint=f"Correct TENURE_DATABASE_URL, or make it: {made} && tenure migrate",
        )
    if _NO_LOGIN.search(said):
        return DatabaseUnavailable(
            f"the server refused the login ({said})",
            hint="Check the user and the password in TENURE_DATABASE_URL.",
        )
    return DatabaseUnavailable(
        f"the database does not answer ({said})",
        hint="Check TENURE_DATABASE_URL and that PostgreSQL runs.",
    )


def _createdb(url: str, name: str) -> list[str]:
    """The command that makes a database where an address leads; it holds no password."""
    address = conninfo_to_dict(url)
    options = (("-h", "host"), ("-p", "port"), ("-U", "user"))
    given = [word for flag, key in options if address.get(key) for word in (flag, address[key])]
    return ["createdb", *map(str, given), name]


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """PostgreSQL's words for an outage, a wait and what the schema's functions refuse, in ours."""
    try:
        yield
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
        raise Busy(f"a lock was not to be had in time ({first_line(error)})") from error
    except (psycopg.errors.QueryCanceled, psycopg.errors.UndefinedTable) as error:
        raise DatabaseError(f"the database refused ({first_line(error)})") from error
    except psycopg.Error as error:
        if _is_outage(error):
            raise DatabaseUnavailable(f"the database went away ({first_line(error)})") from error
        ours = refusal(error.sqlstate or "", first_line(error), error.diag.message_hint or "")
        if ours is None:
            raise
        raise ours from error


def refusal(state: str, message: str, hint: str) -> TenureError | None:
    """The error for what a function of the schema refused; None for any other state."""
    cause = _CAUSES.get(state)
    return None if cause is None else cause(message.splitlines()[0], hint=hint)


def _is_outage(error: psycopg.Error) -> bool:
    """Whether the server is away or cannot serve now; what it objects to is no outage.

    Connection lost (no state, class 08), shutting down (57P), out of resources (53), a standby
    where the primary was (25006).
    """
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith(("08", "57P", "53")) or state == "25006"


def first_line(error: Exception) -> str:
    """The first line of what the server said, enough for one line of an error message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
