"""A run that must wait ends whole: with its calls in flight, and with all that it started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.pgproxy import Proxy
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker
from tests.worker.suspending import app

_APP = "tests.worker.suspending:app"


@pytest.fixture
def rows(database: Database) -> Rows:
    """The automations that are suspended, live."""
    rows = Rows(database)
    rows.declare(app)
    return rows


@pytest.fixture
def worker(database_url: str, crm: Emulator, proxy: Proxy) -> Iterator[Worker]:
    """A worker behind the proxy, about to be started; it sleeps no wait on its lease."""
    worker = Worker(
        proxy.url, _APP, environ=providers(crm=crm.url), max_inline_wait=0.1, lease=60.0
    )
    with worker:
        yield worker


def test_a_wait_beside_a_call_in_flight_ends_with_the_call(
    worker: Worker, rows: Rows, proxy: Proxy, crm: Emulator
) -> None:
    """Refused by its budget it waits for the other call, and goes back with that on record."""
    pid = worker.wait_ready()
    with crm.hold("/held", when="after") as gate:
        job = rows.enqueue("beside")
        gate.wait_arrived()
        proxy.wait_answered(pid, "gate/gate", 3)
        rows.until(rows.enqueue("leaving", "/dev/null"), "succeeded")
        assert rows.job(job)["state"] == "running"
    waiting = rows.until(job, "waiting", "ready", "failed")
    assert (waiting["state"], waiting["waiting_on"]["step"]) == ("waiting", "second")
    assert (waiting["failure_count"], waiting["deferral_count"]) == (0, 1)
    [held] = rows.calls(job, "held")
    assert (held["state"], held["status"]) == ("done", 201)
    assert len(crm.effects) == 2


def test_a_swallowed_suspension_is_raised_by_whatever_is_asked_next(
    worker: Worker, rows: Rows, clock: Clock, crm: Emulator, tmp_path: Path
) -> None:
    """A step behind a bare except is not taken before the call in front of it has been made."""
    path = tmp_path / "written"
    job = rows.enqueue("swallowing", str(path))
    waiting = rows.until(job, "waiting", "succeeded")
    assert waiting["state"] == "waiting"
    assert not path.exists()
    assert list(rows.steps(job)) == []
    clock.advance(4100.0)
    rows.until(job, "succeeded")
    assert path.read_text() == "went on"
    assert [effect.path for effect in crm.effects] == ["/first", "/second"]


def test_what_a_handler_left_behind_ends_with_it(
    worker: Worker, rows: Rows, tmp_path: Path
) -> None:
    """A task that nobody awaits is cancelled, and has ended before its job has."""
    path = tmp_path / "left"
    job = rows.enqueue("leaving", str(path))
    assert rows.until(job, "succeeded")["result"] == "Task"
    assert path.read_text() == "cancelled"
    assert worker.stop() == 0
