"""The crash: a worker process is killed while a provider has its call in hand.

Run by the demo while events come in.  The provider does what it is asked and its answer is kept
back; the process whose call it is is found in the rows and gets kill -9; then the answer goes, to
nobody.  Promises: no process is killed but one that a worker of this demo has started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from uuid import UUID

import msgspec

from tenure.base import clock
from tenure.cli.demo.events import Victim
from tenure.cli.demo.pieces import Piece
from tenure.embedded.place import wait_for
from tenure.store import tour
from tenure.store.database import Database
from tenure.testing.emulators import DetachedEmulator, EmulatorError, NotSeen
from tenure.testing.emulators.detached import DetachedGate

_GLANCE = 0.5
_ENDS_WITHIN = 10.0


class Crash(msgspec.Struct, frozen=True):
    """A worker process that was killed: whose it was, and what it had under way."""

    pid: int
    worker: str
    job: UUID
    automation: str
    path: str
    key: str


async def crash(
    emulator: DetachedEmulator,
    victim: Victim,
    workers: Sequence[Piece],
    database: Database,
    *,
    within: float,
) -> Crash | None:
    """Wait for the victim's call, kill its process; None where the call did not come in time."""
    gate = emulator.hold(victim.path, method="POST", when="after")
    try:
        if not await _arrived(gate, within):
            return None
        return await asyncio.to_thread(_kill, emulator, victim, workers, database)
    finally:
        with contextlib.suppress(EmulatorError):  # one that has ended holds nobody back
            await asyncio.to_thread(gate.release)


async def _arrived(gate: DetachedGate, within: float) -> bool:
    """Whether the call has had its effect; waited for in turns short enough to be called off."""
    deadline = clock.now() + within
    while clock.now() < deadline:
        try:
            await asyncio.to_thread(gate.wait_arrived, 1, _GLANCE)
        except NotSeen:
            continue
        return True
    return False


def _kill(
    emulator: DetachedEmulator, victim: Victim, workers: Sequence[Piece], database: Database
) -> Crash | None:
    """Find the process in the rows by the key that the provider was shown, and kill it."""
    key = next((it.key for it in emulator.arrivals if it.path == victim.path and it.key), None)
    runner = tour.runner(database, key) if key else None
    if key is None or runner is None or runner.kind != "live":
        return None
    if runner.pid not in _processes(workers):
        return None
    os.kill(runner.pid, signal.SIGKILL)
    wait_for(lambda: _gone(workers, runner.pid), _ENDS_WITHIN)
    return Crash(
        runner.pid, str(runner.worker_id), runner.job_id, runner.automation, victim.path, key
    )


def _processes(workers: Sequence[Piece]) -> set[int]:
    """The processes that the workers say they have started."""
    return {int(it[1]) for worker in workers for it in worker.said(r"process (\d+) is ready")}


def _gone(workers: Sequence[Piece], pid: int) -> bool:
    """Whether the worker that started the process says that it was killed."""
    return any(worker.said(rf"process {pid} ended \(-9\)") for worker in workers)
