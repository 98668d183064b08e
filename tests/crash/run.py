"""One run: jobs, a worker killed over them, another that finishes, a person who answers.

    enqueue → worker → killed at the point → the clock goes on → fresh worker → held? answered → end

All chance comes from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from uuid import UUID

import msgspec

from tenure.base.defaults import Settings
from tenure.base.model import Kind
from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.conftest import Clock
from tests.crash import checks
from tests.crash.checks import Findings
from tests.crash.ground import Ground
from tests.crash.points import Point, Snare
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.pgproxy import Proxy
from tests.kit.rows import ENDED, Rows, providers

_LEASE, _WINDOW, _TIMEOUT = 2.0, 2.0, 5.0
# After this on the database's clock no lease of the dead runs, and nothing of theirs can leave.
_OVER = _LEASE + _WINDOW + _TIMEOUT + 1.0


class Plan(msgspec.Struct, frozen=True):
    """What the seed chose."""

    point: Point
    jobs: int
    at_once: int
    nth: int
    again: int


def plan(point: Point, seed: int) -> Plan:
    """How many jobs, how many of them at once, at which pass, and how many more workers die."""
    chance = Random(f"{point.name}:{seed}")  # noqa: S311 - the same every time, on purpose
    jobs = chance.randint(1, 8)
    at_once = chance.randint(1, 4)
    nth = point.pass_number(jobs, at_once, chance)
    return Plan(point, jobs, at_once, nth, chance.choice((0, 0, 1)))


def run(ground: Ground, chosen: Plan) -> Findings:
    """One run, and what it found."""
    with ground.database() as url, ground.providers() as emulators:
        database = Database(url, name="harness")
        try:
            return _Scene(ground, chosen, url, Rows(database), emulators).play()
        finally:
            database.close()


def _settings(lease: float, at_once: int) -> Settings:
    return Settings(
        lease=lease,
        heartbeat=0.5,
        margin=0.5,
        poll=0.05,
        max_inline_wait=0.5,
        call_timeout=_TIMEOUT,
        concurrency=at_once,
    )


class _Scene:
    """The state of one run."""

    def __init__(
        self,
        ground: Ground,
        chosen: Plan,
        url: str,
        rows: Rows,
        emulators: Mapping[str, Emulator],
    ) -> None:
        self._ground, self._plan, self._url, self._rows = ground, chosen, url, rows
        self._emulator = emulators[chosen.point.provider]
        self._environ = providers(**{name: each.url for name, each in emulators.items()})
        self._clock = Clock(url)
        self._found = Findings()
        self._jobs: list[UUID] = []

    def play(self) -> Findings:
        """The run from its first job to its last check."""
        point = self._plan.point
        self._jobs = [
            self._rows.enqueue(point.automation, Order(n)) for n in range(self._plan.jobs)
        ]
        self._killed(self._plan.nth)
        for _ in range(self._plan.again):
            self._killed(1)
        self._finish()
        self._found += checks.ended(self._rows, self._emulator, self._jobs, point)
        return self._found

    def _killed(self, nth: int) -> None:
        """A worker is killed at the point; the jobs it leaves behind explain themselves."""
        settings = _settings(_LEASE, self._plan.at_once)
        with Proxy(self._url) as proxy:
            snare = Snare(self._plan.point, nth, proxy, self._emulator)
            with self._workers(proxy.url, settings):
                until(lambda: snare.met or self._still(), "the worker is where it is to be killed")
            self._found.kills += snare.met
            snare.settle()
        self._clock.advance(_OVER)
        self._found += checks.explained(self._rows, self._jobs)

    @contextmanager
    def _workers(self, url: str, settings: Settings) -> Iterator[None]:
        """A process for all jobs and one for those that run alone, killed at the end."""
        kinds: tuple[Kind, ...] = ("live", "quarantine")
        victims = self._ground.nursery.start(url, kinds, settings, self._environ)
        try:
            yield
        finally:
            for victim in victims:
                victim.kill()

    def _finish(self) -> None:
        """A fresh worker, and a person who answers what it cannot know."""
        with self._workers(self._url, _settings(60.0, 10)):
            until(self._still, "every job has ended or is held", 60.0)
            self._found += checks.explained(self._rows, self._jobs)
            self._found += checks.held(self._rows)
            for question in self._rows.questions():
                happened = checks.happened(self._emulator, question)
                self._rows.answer(question["id"], happened=happened)
            until(self._ended, "every job has ended", 60.0)

    def _still(self) -> bool:
        states = self._rows.states()
        return sum(states.get(state, 0) for state in (*ENDED, "held")) == len(self._jobs)

    def _ended(self) -> bool:
        states = self._rows.states()
        return sum(states.get(state, 0) for state in ENDED) == len(self._jobs)
