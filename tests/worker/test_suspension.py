"""A run that must wait ends whole: with its calls in flight, and with all that it started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.kit.facts import until
from tests.kit.kinds import either, live
from tests.kit.pgproxy import Proxy
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker

_APP = "tests.worker.suspending:app"


@pytest.fixture
def rows(database: Database, path: str) -> Rows:
    """The automations that are suspended, live."""
    rows = Rows(database)
    live(rows, path)
    return rows


@pytest.fixture
def worker(database_url: str, path: str, crm: Emulator, proxy: Proxy) -> Iterator[Worker]:
    """A worker behind the proxy, about to be started; it sleeps no wait on its lease."""
    worker = Worker(
        proxy.url, path, environ=providers(crm=crm.url), max_inline_wait=0.1, lease=60.0
    )
    with worker:
        yield worker


@either(_APP)
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


@either(_APP)
def test_a_swallowed_suspension_is_raised_by_whatever_is_asked_next(
    worker: Worker, rows: Rows, clock: Clock, crm: Emulator, tmp_path: Path
) -> None:
    """A step behind a bare except is not taken before the call in front of it has been made."""
    written = tmp_path / "written"
    job = rows.enqueue("swallowing", str(written))
    waiting = rows.until(job, "waiting", "succeeded")
    assert waiting["state"] == "waiting"
    assert not written.exists()
    assert list(rows.steps(job)) == []
    clock.advance(4100.0)
    rows.until(job, "succeeded")
    assert written.read_text() == "went on"
    assert [effect.path for effect in crm.effects] == ["/first", "/second"]


@either(_APP)
def test_what_a_handler_left_behind_ends_with_it(
    worker: Worker, rows: Rows, tmp_path: Path
) -> None:
    """A task that nobody awaits is cancelled, a thread that nobody joins is refused."""
    written = tmp_path / "left"
    job = rows.enqueue("leaving", str(written))
    assert rows.until(job, "succeeded")["result"] == "Task"
    until(lambda: written.exists() and written.read_text() == "cancelled", "it has ended too")
    assert worker.stop() == 0
