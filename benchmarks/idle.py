"""What a worker with nothing to do costs, and what it weighs after many jobs.

A real ``tenure worker`` with one process for live jobs: its resident memory along the way, and the
processor time of both sides while there is nothing to be done.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg

from benchmarks.ground import database, postmaster, processor_seconds
from benchmarks.nothing import ENQUEUE, app
from tenure.base import clock
from tenure.store import automations
from tenure.store.database import Database

_SIXTHS = 6
_IDLE_SECONDS = 30.0
_STUCK_SECONDS = 300.0
_READY = re.compile(r"live process (\d+) is ready")


def measure(url: str, *, jobs: int = 300_000) -> dict[str, object]:
    """Megabytes after each sixth of the jobs, and shares of one processor while idle."""
    with database(url) as own:
        for automation in app.automations.values():
            automations.declare(own, automation.declared, by="bench")
        own.connect().execute("update tenure.automations set stage = 'live'")
        worker = start(own.url)
        try:
            return _measured(own, worker, jobs)
        finally:
            worker.terminate()
            worker.communicate()


def start(url: str) -> subprocess.Popen[str]:
    """A real worker for the application that does nothing."""
    given = {
        "TENURE_DATABASE_URL": url,
        "TENURE_APP": "benchmarks.nothing:app",
        "TENURE_CONCURRENCY": "100",
        "TENURE_PROCESSES": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tenure", "worker", "--only", "live"],
        env={**os.environ, **given},
        stderr=subprocess.PIPE,
        text=True,
    )


def _measured(own: Database, worker: subprocess.Popen[str], jobs: int) -> dict[str, object]:
    assert worker.stderr is not None  # noqa: S101 - it was asked for
    ready = next(found for line in worker.stderr if (found := _READY.search(line)))
    process = int(ready[1])
    with psycopg.connect(own.url, autocommit=True) as conn:
        weights = [_megabytes(process)]
        for _ in range(_SIXTHS):
            conn.execute(ENQUEUE, {"jobs": jobs // _SIXTHS})
            _until_empty(conn)
            weights.append(_megabytes(process))
        server = postmaster(own)
        conn.execute("vacuum analyze")
        conn.execute("checkpoint")
        _pass(conn, 5.0)
        before = _spent(worker, server)
        _pass(conn, _IDLE_SECONDS)
        mine, theirs = (
            (now - then) / _IDLE_SECONDS
            for now, then in zip(_spent(worker, server), before, strict=True)
        )
    return {
        "jobs": jobs,
        "worker_mb": weights,
        "idle_worker_percent": round(mine * 100, 2),
        "idle_server_percent": round(theirs * 100, 2),
    }


def _spent(worker: subprocess.Popen[str], server: int) -> tuple[float, float]:
    """Processor seconds of the worker with its processes, and of the server."""
    return processor_seconds(worker.pid), processor_seconds(server)


def _megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return round(int(found[1]) / 1024, 1) if found else 0.0


def _until_empty(conn: psycopg.Connection) -> None:
    deadline = clock.now() + _STUCK_SECONDS
    while _pass(conn, 0.2):
        if clock.now() > deadline:
            raise RuntimeError("the worker got nowhere for minutes")


def _pass(conn: psycopg.Connection, seconds: float) -> bool:
    """Let time pass in the server; whether jobs are left."""
    conn.execute("select pg_sleep(%s)", (seconds,))
    row = conn.execute("select exists (select from tenure.jobs)").fetchone()
    return bool(row and row[0])
