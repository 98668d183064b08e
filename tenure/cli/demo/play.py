"""The demo from its first event to its last job.

Called once the scene is set.  Promises: the sender, the crash and the line that tells of both run
side by side, and end together where one of them fails; the end is waited for as a fact in the rows,
with a bound.
"""

from __future__ import annotations

import asyncio

from tenure.base import clock
from tenure.cli.demo import ledgers
from tenure.cli.demo.crash import Crash, crash
from tenure.cli.demo.events import Replay, plan
from tenure.cli.demo.outcome import ENDED, Outcome
from tenure.cli.demo.person import Person
from tenure.cli.demo.progress import Progress
from tenure.cli.demo.scene import Scene
from tenure.cli.demo.sender import Sender
from tenure.store import events, explain, holds, tour

_LOOK = 0.3
_ENDS_WITHIN = 90.0  # seconds after the last event
_STRIKES_WITHIN = 45.0  # seconds after the last event
_OVER = ENDED | {"held"}


def play(scene: Scene, seconds: float, seed: int) -> Outcome:
    """Play it, and count what came of it; raises ``PieceFailed`` where a piece ends by itself."""
    database = scene.database("count")
    now = events.clock(database).timestamp()
    replay = plan(seconds, seed, int(now))
    sender = Sender(scene.server, scene.secrets, now=now)
    person = Person(database, scene.emulators)
    began = clock.now()
    try:
        crashed = asyncio.run(_play(scene, replay, sender, person))
    except BaseExceptionGroup as group:
        raise _first(group) from None
    return Outcome(
        postgres=scene.postgres,
        workers=len(scene.workers),
        seconds=clock.now() - began,
        replay=replay,
        told=sender.told,
        jobs=tour.jobs(database),
        calls=tour.calls(database),
        ledgers=ledgers.read(scene.emulators),
        crash=crashed,
        explained=explain.sentences(database, crashed.job) if crashed else [],
        questions=holds.listed(database),
        answered=person.answered,
        moves=scene.moves,
    )


async def _play(scene: Scene, replay: Replay, sender: Sender, person: Person) -> Crash | None:
    last = replay.deliveries[-1].at
    async with asyncio.TaskGroup() as group:
        # First, so that the provider's gate stands before the first event.
        struck = group.create_task(
            crash(
                scene.emulators["stripe"],
                replay.victim,
                scene.workers,
                scene.database("crash"),
                within=last + _STRIKES_WITHIN,
            )
        )
        sent = group.create_task(sender.send(replay.deliveries))
        await _watch(scene, sender, person, (struck, sent))
    return struck.result()


async def _watch(
    scene: Scene, sender: Sender, person: Person, tasks: tuple[asyncio.Task[object], ...]
) -> None:
    """Tell how far things are until every job has ended or is held, or the time for that is up."""
    progress = Progress()
    database = scene.database("watch")
    deadline = float("inf")
    try:
        while True:
            scene.check()
            states = await asyncio.to_thread(tour.states, database)
            replayed = tasks[-1].done()
            progress.show(sender.told, states, "replaying" if not replayed else "ending")
            if replayed and deadline == float("inf"):
                deadline = clock.now() + _ENDS_WITHIN
            # Asked after the states were read, so that nobody is held between the two.
            open_ = await asyncio.to_thread(person.look)
            over = all(task.done() for task in tasks) and states.keys() <= _OVER and not open_
            if over or clock.now() > deadline:
                return
            await asyncio.sleep(_LOOK)
    finally:
        progress.done()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group: what failed first is what is told."""
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
