"""What the guard cannot see with its own eyes, and the recipe that closes each gap.

Read by the guard, which refuses the modules named here when they are imported, and by the pages
and ``doctor``, which show the list.  It promises to be complete about what is known, not about
what exists: code that makes system calls itself is beyond any hook of the interpreter.
"""

from __future__ import annotations

from typing import NamedTuple


class BlindSpot(NamedTuple):
    """A module or a way that no audit event tells of, and what to do instead."""

    name: str
    recipe: str


_LOOP = "Run jobs on asyncio's own loop: in these processes Tenure does, if the loop is not set."
_CLIENT = (
    "Call through ctx.http(), or with a client in pure Python, as httpx2, requests or aiohttp."
)
_DATABASE = "Read through ctx.database(), or use a driver in pure Python, which is seen."
CHILD = "Do it in the job itself, or in a service that is called through ctx.http()."
_NETWORK = (
    "Run dry-run and shadow workers in a network namespace or container whose only way out is "
    "the database and an egress proxy with a list of hosts."
)

# Modules whose connections are made in C, C++ or Rust, refused at import.  Where a library takes
# its native part for optional, the refusal reads as "not installed" and it goes on without.
NATIVE: dict[str, str] = {
    "uvloop": _LOOP,
    "winloop": _LOOP,
    "rloop": _LOOP,
    "pycurl": _CLIENT,
    "curl_cffi": _CLIENT,
    "pyreqwest": _CLIENT,
    "primp": _CLIENT,
    "rnet": _CLIENT,
    "wreq": _CLIENT,
    "tls_client": _CLIENT,
    "awscrt": "Leave awscrt away: botocore signs and sends without it.",
    "grpc": "Use the provider's REST interface through ctx.http().",
    "confluent_kafka": "Use aiokafka or kafka-python, which are seen, or a provider's REST proxy.",
    "_pulsar": _CLIENT,
    "zmq": _NETWORK,
    "_ldap": "Use ldap3, which is in pure Python and seen.",
    "MySQLdb": _DATABASE,
    "_mysql_connector": _DATABASE,
    "pymssql": _DATABASE,
    "pyodbc": _DATABASE,
    "cx_Oracle": "Use oracledb in its thin mode, which is seen.",
    "psqlpy": _DATABASE,
    "adbc_driver_postgresql": _DATABASE,
    "connectorx": _DATABASE,
}

# Functions of known modules that go out unseen, refused when called.
_LIBPQ = "Read through ctx.database(): it is a READ ONLY transaction in these processes."
WRAPPED: dict[str, tuple[tuple[str, ...], str]] = {
    "psycopg": (("connect", "Connection.connect", "AsyncConnection.connect"), _LIBPQ),
    "psycopg2": (("connect",), _LIBPQ),
    "psycopg2cffi": (("connect",), _LIBPQ),
    "oracledb": (("init_oracle_client",), "Use its thin mode, which is seen."),
    "multiprocessing.util": (("spawnv_passfds",), CHILD),
    "_xxsubinterpreters": (("create",), CHILD),
    "_interpreters": (("create",), CHILD),
}

_UNSEEN = (
    BlindSpot("ctypes, cffi: system calls made by hand", _NETWORK),
    BlindSpot("psycopg.pq.PGconn and psycopg2.extensions.connection, called directly", _DATABASE),
    BlindSpot("duckdb, polars, pyarrow.fs, deltalake, obstore: object stores and httpfs", _NETWORK),
    BlindSpot("asyncio's proactor loop on Windows", "Use WSL, or the selector loop."),
    BlindSpot("connections opened before the guard, or inherited as open files", _NETWORK),
    BlindSpot("files on a mounted share", "Mount such shares read-only for these workers."),
)


def blind_spots() -> list[BlindSpot]:
    """All that no audit event tells of: modules refused at import, wrapped calls, and the rest."""
    refused = [BlindSpot(f"{name}: refused at import", how) for name, how in NATIVE.items()]
    wrapped = [
        BlindSpot(f"{module}.{name}: refused when called", how)
        for module, (names, how) in WRAPPED.items()
        for name in names
    ]
    return [*refused, *wrapped, *_UNSEEN]
