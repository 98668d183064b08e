"""What every measurement stands on: an embedded PostgreSQL with fsync on, one database each.

The processor time of the database is that of the postmaster and all it started; the client's is
this process's.  Both depend less on the neighbours of a shared machine than seconds do.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.embedded import start
from tenure.store import migrate
from tenure.store.database import Database


@contextlib.contextmanager
def server(shared_buffers: str = "128MB") -> Iterator[str]:
    """The address of a server: the one in TENURE_BENCH_URL, else an embedded one."""
    given = os.environ.get("TENURE_BENCH_URL")
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        Path(folder).chmod(0o711)
        with start(Path(folder) / "t", shared_buffers=shared_buffers) as embedded:
            yield embedded.url


@contextlib.contextmanager
def database(url: str) -> Iterator[Database]:
    """A migrated database of the measurement's own."""
    name = sql.Identifier(f"tenure_bench_{uuid.uuid4().hex[:12]}")
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(name))
    own = Database(make_conninfo(url, dbname=name.as_string().strip('"')), name="tenure bench")
    try:
        migrate.migrate(own)
        yield own
    finally:
        own.close()
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(sql.SQL("drop database {} with (force)").format(name))


def postmaster(own: Database) -> int:
    """The process id of the server's first process."""
    return postmaster_of(own.connect())


def postmaster_of(conn: psycopg.Connection[Any]) -> int:
    """The parent of the process that serves a connection."""
    status = Path(f"/proc/{conn.info.backend_pid}/stat").read_text(encoding="utf-8")
    return int(status.rpartition(")")[2].split()[1])


def processor_seconds(pid: int) -> float:
    """Processor seconds of a process and of all its children, ended ones included."""
    total = _ticks(pid, children=True)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(pid):
            with contextlib.suppress(OSError, IndexError):
                fields = entry.joinpath("stat").read_text(encoding="utf-8").rpartition(")")[2]
                if int(fields.split()[1]) == pid:
                    total += _ticks(int(entry.name), children=False)
    return total / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int, *, children: bool) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return sum(int(field) for field in fields[11 : 15 if children else 13])


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile and worst, in milliseconds."""
    ordered = sorted(seconds)
    return {
        "p50_ms": round(statistics.median(ordered) * 1000, 2),
        "p99_ms": round(ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)] * 1000, 2),
        "max_ms": round(ordered[-1] * 1000, 2),
    }
