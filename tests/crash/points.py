"""Where a worker is killed: every statement between claim and settle, and the call's own way.

``before``: the statement never reaches the server.  ``during``: it was sent whole, and nobody waits
for it.  ``after``: it is committed, and its answer is never read.  For the call: ``lost`` is killed
while the provider has done nothing, and never will; ``late`` before the effect, which comes all the
same; ``done`` after the effect, before the answer.
"""

from __future__ import annotations

from random import Random
from typing import Literal

import msgspec

from tenure.testing.emulators import Emulator
from tenure.testing.emulators.faults import Kind as Fault
from tests.kit.facts import until
from tests.kit.pgproxy import Proxy, When, kill

Kind = Literal["keyed", "keyless"]
Stage = Literal["claim", "gate", "outcome", "step", "settle", "back", "call"]

_STATEMENTS: dict[Stage, str] = {
    "claim": "claims/claim",
    "gate": "gate/gate",
    "outcome": "records/outcomes",
    "step": "records/steps",
    "settle": "ends/finish",
    "back": "ends/hand_back",
}
# How many passes of each a job makes; batches of the jobs at once may make them one.
_PASSES: dict[Stage, int] = {
    "claim": 1,
    "gate": 2,
    "outcome": 2,
    "step": 1,
    "settle": 1,
    "back": 1,
    "call": 1,
}
_WHENS: tuple[When, ...] = ("before", "during", "after")
_CALLS = ("lost", "late", "done")


class Point(msgspec.Struct, frozen=True):
    """One place in the life of a job, at one kind of provider."""

    stage: Stage
    when: str
    kind: Kind

    @property
    def name(self) -> str:
        """As it is written in results."""
        return f"{self.stage}/{self.when}/{self.kind}"

    @property
    def automation(self) -> str:
        """The automation whose jobs call that kind of provider."""
        return "charge" if self.kind == "keyed" else "deal"

    @property
    def provider(self) -> str:
        """Where its calls go."""
        return "stripe" if self.kind == "keyed" else "crm"

    @property
    def first_path(self) -> str:
        """Where the first of its two calls goes."""
        return "/v1/charges" if self.kind == "keyed" else "/deals"

    def pass_number(self, jobs: int, at_once: int, chance: Random) -> int:
        """A pass that comes for sure, however jobs are batched."""
        if self.stage == "back":
            return 1
        return chance.randint(1, max(1, jobs * _PASSES[self.stage] // at_once))


_PLACES: tuple[tuple[Stage, tuple[str, ...]], ...] = (
    *((stage, _WHENS) for stage in _STATEMENTS),
    ("call", _CALLS),
)
_KINDS: tuple[Kind, ...] = ("keyed", "keyless")

POINTS = tuple(
    Point(stage, when, kind) for stage, whens in _PLACES for when in whens for kind in _KINDS
)


class Snare:
    """A point armed for one worker's life."""

    def __init__(self, point: Point, nth: int, proxy: Proxy, emulator: Emulator) -> None:
        """Arm it before the worker starts."""
        self._emulator = emulator
        self._trap = self._fault = self._gate = None
        if point.stage == "back":  # what is throttled is handed back
            emulator.fault("throttle", point.first_path, retry_after=3.0)
        if point.stage != "call":
            when: When = point.when  # type: ignore[assignment] # a call's are other words
            self._trap = proxy.at(_STATEMENTS[point.stage], when, nth, act=kill)
        elif point.when == "late":
            self._gate = emulator.hold(point.first_path, when="before")
        else:
            kind: Fault = "hang" if point.when == "lost" else "hang_after"
            self._fault = emulator.fault(kind, point.first_path, skip=nth - 1)

    @property
    def met(self) -> bool:
        """Whether the worker was killed, or stands where it is to be killed."""
        if self._trap is not None:
            return self._trap.met is not None
        place = self._fault.gate if self._fault is not None else self._gate
        return place is not None and place.arrived > 0

    def settle(self) -> None:
        """The worker is dead: let the provider go on, and return when nothing is under way."""
        if self._gate is not None:
            self._gate.release()
        if self._fault is not None:
            self._fault.release()
        self._emulator.clear_faults()
        until(lambda: not self._emulator.ledger.counts()["pending"], "the provider is idle")
