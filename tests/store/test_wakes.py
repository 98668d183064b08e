"""Whoever commits work wakes an idle worker that can do it, and nobody else, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest

from tenure.base.model import Kind
from tenure.store import workers
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene


class Ear:
    """Hears who is called."""

    def __init__(self, url: str) -> None:
        """Listen."""
        self._conn = psycopg.connect(url, autocommit=True)
        self._conn.execute("listen tenure")

    def heard(self) -> list[str]:
        """Whoever was called since; calls come in the order of their commits, and so does ours."""
        self._conn.execute("select pg_notify('tenure', 'that is all')")
        calls: list[str] = []
        for call in self._conn.notifies(timeout=30):
            if call.payload == "that is all":
                break
            calls.append(call.payload)
        return calls

    def close(self) -> None:
        """Hear no more."""
        self._conn.close()


@pytest.fixture
def ear(database_url: str) -> Iterator[Ear]:
    """Somebody who hears all calls."""
    ear = Ear(database_url)
    yield ear
    ear.close()


@pytest.fixture
def scene(database: Database) -> Scene:
    """A live automation with a worker that has not said it is idle."""
    return Scene(database)


def idle(database: Database, *, kind: Kind = "live", automations: str = "lead") -> UUID:
    """A worker that rests."""
    id = uuid4()
    workers.arrive(database, id=id, host="h", pid=1, kind=kind, automations={automations: "v1"})
    workers.rest(database, id, idle=True)
    return id


def test_an_idle_worker_is_called_by_its_id(scene: Scene, ear: Ear) -> None:
    """One enqueue calls one worker; once it works again it is called no more."""
    workers.rest(scene.database, scene.worker, idle=True)
    scene.enqueue()
    assert ear.heard() == [str(scene.worker)]
    workers.rest(scene.database, scene.worker, idle=False)
    scene.enqueue()
    assert ear.heard() == []


def test_while_nobody_is_idle_nothing_is_sent(scene: Scene, ear: Ear) -> None:
    """Sending would make all that commit queue up behind each other."""
    for _ in range(5):
        scene.enqueue()
    assert ear.heard() == []


def test_of_several_one_is_called(scene: Scene, ear: Ear) -> None:
    """A crowd is not woken for one job."""
    all_ = {str(idle(scene.database)) for _ in range(5)}
    scene.enqueue()
    [called] = ear.heard()
    assert called in all_


def test_who_could_not_run_it_is_not_called(scene: Scene, ear: Ear, clock: Clock) -> None:
    """Another kind of process, other automations, one that has stopped, one that went silently."""
    idle(scene.database, kind="not_live")
    idle(scene.database, kind="quarantine")
    idle(scene.database, automations="other")
    workers.touch(scene.database, idle(scene.database), stopped=True)
    idle(scene.database)
    clock.advance(90)
    scene.enqueue()
    assert ear.heard() == []


def test_what_is_not_due_yet_calls_nobody(scene: Scene, ear: Ear) -> None:
    """A worker that was woken for it would find nothing."""
    idle(scene.database)
    scene.database.execute("select tenure.enqueue('lead', delay => interval '1 minute')")
    assert ear.heard() == []


def test_a_transaction_may_decline_to_call(
    scene: Scene, ear: Ear, database_url: str, server_url: str
) -> None:
    """One that is to be prepared for two phases can send nothing, and can say so."""
    worker = idle(scene.database)
    with psycopg.connect(database_url) as conn:
        conn.execute("set local tenure.wake = off")
        conn.execute("select tenure.enqueue('lead')")
    assert ear.heard() == []
    with psycopg.connect(database_url) as conn:
        conn.execute("select tenure.enqueue('lead')")
    assert ear.heard() == [str(worker)]


def test_a_rollback_calls_nobody(scene: Scene, ear: Ear, database_url: str) -> None:
    """A call is part of the transaction, as the job is."""
    idle(scene.database)
    with psycopg.connect(database_url) as conn:
        conn.execute("select tenure.enqueue('lead')")
        conn.rollback()
    assert ear.heard() == []
