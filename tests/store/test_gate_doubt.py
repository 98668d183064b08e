"""What the gate says to whoever would repeat a send of which nobody knows what came."""

from __future__ import annotations

import msgspec
import pytest

from tenure.base.model import Asked, Job
from tenure.store import gate, records
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene

# Seconds: the send window of the scene's calls, and a timeout that outlasts a lease.
_WINDOW, _TIMEOUT, _LEASE = 2.0, 300.0, 60.0


@pytest.fixture
def scene(database: Database) -> Scene:
    """A worker with one job."""
    return Scene(database)


def _asked(scene: Scene, job: Job, send: int) -> Asked:
    call = scene.asked(job, "create", policy="resend", send=send)
    return msgspec.structs.replace(call, timeout=_TIMEOUT)


def _verdict(scene: Scene, call: Asked) -> str:
    [answer] = gate.ask(
        scene.database, worker=scene.worker, lease=_LEASE, takes=(), reserve=0.0, calls=[call]
    )
    return answer.verdict


def test_a_send_that_may_still_leave_is_not_repeated(scene: Scene, clock: Clock) -> None:
    """The next claim is refused until the former one's send can no longer leave or be answered."""
    scene.admit(_asked(scene, scene.running(), 1))
    clock.advance(_LEASE + 1)
    job = scene.claim()
    assert _verdict(scene, _asked(scene, job, 2)) == "known"
    clock.advance(_WINDOW + _TIMEOUT - _LEASE - 5)
    job = scene.claim()
    assert _verdict(scene, _asked(scene, job, 2)) == "known"
    clock.advance(10)
    assert _verdict(scene, _asked(scene, job, 2)) == "admitted"


def test_a_send_of_the_same_claim_is_not_repeated_while_nothing_is_known_of_it(
    scene: Scene, clock: Clock
) -> None:
    """A claim that has not told what came of a send is under way with it, however long."""
    job = scene.running()
    scene.admit(_asked(scene, job, 1))
    for _ in range(10):
        clock.advance(_LEASE - 10)
        assert _verdict(scene, scene.asked(job, f"another-{_}")) == "admitted"
    assert _verdict(scene, _asked(scene, job, 2)) == "known"


@pytest.mark.parametrize("status", [None, 500])
def test_a_send_without_an_answer_is_not_repeated_before_it_can_no_longer_leave(
    scene: Scene, clock: Clock, status: int | None
) -> None:
    """Whoever was not answered may still be at work; whoever answered that it failed is not."""
    job = scene.running()
    call = _asked(scene, job, 1)
    scene.admit(call)
    told = scene.outcome(call, "unknown", status, "no usable answer")
    assert records.outcomes(scene.database, scene.worker, [told]) == {call.send_id}
    first = _verdict(scene, _asked(scene, job, 2))
    assert first == ("known" if status is None else "admitted")
    clock.advance(_WINDOW + _TIMEOUT + 1)
    job = scene.claim()
    again = _verdict(scene, _asked(scene, job, 2 if status is None else 3))
    assert again == "admitted"
