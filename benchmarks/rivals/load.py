"""One load on one queue: jobs that do nothing, drained by one worker process."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psycopg
from psycopg import sql

from benchmarks.ground import processor_seconds
from benchmarks.rivals.adapters.counting import ROW
from benchmarks.rivals.environments import programs
from benchmarks.rivals.peers import Peer
from tenure.base import clock

_ADAPTERS = Path(__file__).parent / "adapters"
_STUCK_SECONDS = 60.0
_STOP_SECONDS = 10.0
_WRITTEN = """
    select pg_stat_get_db_xact_commit(d.oid)::int8,
           pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8
      from pg_database as d where d.datname = current_database()
"""


class Drained(msgspec.Struct, frozen=True):
    """What one drain came to; processor seconds are for a thousand jobs."""

    jobs_per_second: float
    worker_cpu: float
    server_cpu: float
    commits_per_job: float
    wal_bytes_per_job: float


def drain(peer: Peer, server: str, postmaster: int, jobs: int) -> Drained:
    """Make the jobs, let one worker process handle them, and measure until all have ended.

    Raises ``RuntimeError`` where the worker ends early or gets nowhere.
    """
    with _database(server, f"rival_{peer.name}") as url, tempfile.TemporaryDirectory() as folder:
        for command in (["setup"], ["enqueue", "--jobs", str(jobs)]):
            subprocess.run(_command(peer, *command, "--url", url), check=True, timeout=600)
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("vacuum analyze")
            conn.execute("checkpoint")
            counted = Path(folder) / "count"
            return _drain(peer, conn, counted, postmaster=postmaster, url=url, jobs=jobs)


@contextmanager
def _database(server: str, name: str) -> Iterator[str]:
    """A database of the measurement's own; its address in the form that every driver reads."""
    identifier = sql.Identifier(name)
    drop = sql.SQL("drop database if exists {} with (force)").format(identifier)
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(drop)
        conn.execute(sql.SQL("create database {}").format(identifier))
        info = conn.info
        place = info.host.replace("/", "%2F")
        yield f"postgresql://{info.user}@/{name}?host={place}&port={info.port}"
        conn.execute(drop)


def _command(peer: Peer, *arguments: str) -> list[str]:
    options = [f"--option={name}={value}" for name, value in peer.options.items()]
    return [str(programs(peer)), str(_ADAPTERS / f"{peer.adapter}.py"), *arguments, *options]


def _drain(
    peer: Peer, conn: psycopg.Connection, count: Path, *, postmaster: int, url: str, jobs: int
) -> Drained:
    commits, wal = _written(conn)
    counted = ["--count", str(count), "--concurrency", str(peer.concurrency)]
    worker = subprocess.Popen(_command(peer, "work", "--url", url, *counted))
    try:
        _until(worker, lambda: _handled(count)[0] > 0, lambda: 0)
        server, mine = processor_seconds(postmaster), processor_seconds(worker.pid)
        _until(worker, lambda: _handled(count)[0] >= jobs, lambda: _handled(count)[0])
        _until(worker, lambda: _left(conn, peer) == 0, lambda: _left(conn, peer))
        seconds = clock.now() - _handled(count)[1]
        server = processor_seconds(postmaster) - server
        mine = processor_seconds(worker.pid) - mine
    finally:
        _stop(worker)
    more_commits, more_wal = _written(conn)
    return Drained(
        jobs_per_second=round(jobs / seconds, 1),
        worker_cpu=round(mine / jobs * 1000, 4),
        server_cpu=round(server / jobs * 1000, 4),
        commits_per_job=round((more_commits - commits) / jobs, 4),
        wal_bytes_per_job=round((more_wal - wal) / jobs, 1),
    )


def _until(
    worker: subprocess.Popen[bytes], fact: Callable[[], bool], progress: Callable[[], object]
) -> None:
    """Ask for the fact over and over; between, wait for the worker to end, which it must not."""
    seen, since = progress(), clock.now()
    while not fact():
        try:
            code = worker.wait(0.01)
        except subprocess.TimeoutExpired:
            if (now := progress()) != seen:
                seen, since = now, clock.now()
            if clock.now() - since > _STUCK_SECONDS:
                raise RuntimeError("the worker got nowhere for a minute") from None
        else:
            raise RuntimeError(f"the worker ended ({code}) before its jobs had")


def _handled(count: Path) -> tuple[int, float]:
    """How many jobs were handled, and when the first was."""
    row = count.read_bytes() if count.exists() else b""
    return ROW.unpack(row) if len(row) == ROW.size else (0, 0.0)


def _left(conn: psycopg.Connection, peer: Peer) -> int:
    row = conn.execute(peer.left.encode()).fetchone()
    return int(row[0]) if row else 0


def _written(conn: psycopg.Connection) -> tuple[int, int]:
    """Transactions committed in this database, and bytes of write-ahead log."""
    row = conn.execute(_WRITTEN).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _stop(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    try:
        worker.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
