"""What no hook sees is refused by name, at import or when called, and the rest is listed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.flow.guard import blind_spots
from tests.flow import guarded
from tests.flow.guarded import nobody_came, said_by


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket that a refused attempt never reaches."""
    with guarded.listening() as listener:
        yield listener


LIBPQ = """
WHERE = f"host=127.0.0.1 port={PORT} connect_timeout=5 password=hunter2"
IMPORT_FIRST = %r
if IMPORT_FIRST:
    import psycopg
guard.install("refuse", reports.append)
import psycopg
from psycopg import connect

async def by_asyncio(where):
    await psycopg.AsyncConnection.connect(where)

class Own(psycopg.Connection):
    pass

attempt("connect", lambda: psycopg.connect(WHERE))
attempt("imported", lambda: connect(WHERE))
attempt("Connection", lambda: psycopg.Connection.connect(WHERE))
attempt("subclass", lambda: Own.connect(WHERE))
attempt("AsyncConnection", lambda: asyncio.run(by_asyncio(WHERE)))

closed = "host=localhost port=1 connect_timeout=5"
with passage():
    attempt("passage", lambda: psycopg.connect(closed))
    attempt("passage async", lambda: asyncio.run(by_asyncio(closed)))
"""


@pytest.mark.parametrize("first", [True, False])
def test_libpq_is_refused_by_name(listening: socket.socket, *, first: bool) -> None:
    """Psycopg's own connections, unseen by hooks, are refused whenever it was imported."""
    said, _ = said_by(LIBPQ % first, listening)
    for name in ("passage", "passage async"):
        assert said.pop(name).startswith("OperationalError"), name
    assert len(said) == 5
    for name, outcome in said.items():
        assert outcome.startswith("CallForbidden: "), (name, outcome)
        assert "ctx.database()" in outcome
        assert "hunter2" not in outcome
    assert nobody_came(listening)


NATIVE = """
if %r:
    import pycurl
attempt("install", lambda: guard.install("refuse", reports.append))

def optional():
    try:
        import uvloop
    except ImportError:
        said["fallback"] = "taken"

def missing():
    import grpc

def wrapped():
    import oldpg
    import psycopg2
    said["driver"] = f"{psycopg2.connect.__name__} {type(psycopg2.__loader__).__name__}"
    psycopg2.connect("host=127.0.0.1")

attempt("native", lambda: __import__("pycurl"))
attempt("optional", optional)
attempt("missing", missing)
attempt("wrapped", wrapped)
"""


@pytest.fixture
def natives(tmp_path: Path) -> Path:
    """A folder of modules that have the names of native ones."""
    (tmp_path / "pycurl.py").write_text("loaded = True\n")
    (tmp_path / "uvloop.py").write_text("loaded = True\n")
    (tmp_path / "oldpg.py").write_text("loaded = True\n")
    (tmp_path / "psycopg2").mkdir()
    (tmp_path / "psycopg2" / "__init__.py").write_text("def connect(dsn): return dsn\n")
    return tmp_path


def test_native_clients_are_refused_at_import(listening: socket.socket, natives: Path) -> None:
    """What no hook sees is not imported, and who can do without it goes on."""
    said, _ = said_by(NATIVE % False, listening, natives)
    assert said["install"] == "went through"
    assert said["native"].startswith("NativeRefused")
    assert "ctx.http" in said["native"]
    assert (said["optional"], said["fallback"]) == ("went through", "taken")
    assert said["missing"].startswith("ModuleNotFoundError")
    assert said["driver"] == "connect SourceFileLoader"
    assert said["wrapped"].startswith("CallForbidden")


def test_native_client_imported_before_the_guard_is_told(
    listening: socket.socket, natives: Path
) -> None:
    """A guard that comes too late says so instead of promising what it cannot keep."""
    said, _ = said_by(NATIVE % True, listening, natives)
    assert said["install"].startswith("NativeRefused")


LOOPS = """
class Foreign(asyncio.AbstractEventLoop):
    pass

attempt("without a guard", lambda: guard.check_loop(Foreign()))
guard.install("refuse", reports.append)
attempt("own", lambda: guard.check_loop(asyncio.new_event_loop()))
attempt("foreign", lambda: guard.check_loop(Foreign()))
"""


def test_loop_that_cannot_be_watched_is_refused(listening: socket.socket) -> None:
    """Jobs run on asyncio's own loop where a guard is set, as others connect unseen."""
    said, _ = said_by(LOOPS, listening)
    assert said["without a guard"] == said["own"] == "went through"
    assert said["foreign"].startswith("CallForbidden")


def test_blind_spots_come_with_a_recipe() -> None:
    """What the guard cannot see is listed, each with the way to close it."""
    spots = blind_spots()
    names = [spot.name for spot in spots]
    assert len(set(names)) == len(names)
    assert all(spot.recipe.endswith(".") for spot in spots)
    for known in ("uvloop", "pyreqwest", "grpc", "psycopg.connect", "ctypes"):
        assert any(known in name for name in names), known
