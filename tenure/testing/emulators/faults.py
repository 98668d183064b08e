"""Faults: what a provider does wrong, to which requests, and how many times.

Planned by tests with ``Emulator.fault`` or by a configuration, taken by the service when a request
that the limits admitted has arrived.  They are counted, never drawn by lot: the same requests in
the same order meet the same faults.

==============  ======  ===========================================================
kind            effect  what the client sees
==============  ======  ===========================================================
drop_before     no      the connection ends without an answer
drop_after      yes     the connection ends without an answer
error_before    no      ``status`` (500)
error_after     yes     ``status`` (500)
refuse          no      ``status`` (400) in the provider's form
throttle        no      the provider's throttle, with ``retry_after`` where given
hang            no      no answer until released; released, it goes on as usual
hang_after      yes     no answer until released
slow            yes     the usual answer, ``delay`` seconds later
garbage         yes     bytes that are not HTTP, then the end of the connection
half_answer     yes     the head and half of the body, then the end of the connection
==============  ======  ===========================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from tenure.testing.emulators.gates import Gate
from tenure.testing.emulators.rules import covers

if TYPE_CHECKING:
    from tenure.testing.emulators.ledger import Ledger
    from tenure.testing.emulators.message import Head

Kind = Literal[
    "drop_before",
    "drop_after",
    "error_before",
    "error_after",
    "refuse",
    "throttle",
    "hang",
    "hang_after",
    "slow",
    "garbage",
    "half_answer",
]


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault as declared: for the next ``times`` matching requests after ``skip`` others.

    ``times=None`` is until cleared.  ``retry_after`` and ``delay`` are seconds; ``reset`` ends a
    dropped connection with RST instead of FIN; ``body`` replaces the body of an error.
    """

    kind: Kind
    path: str | None = None
    method: str | None = None
    times: int | None = 1
    skip: int = 0
    status: int | None = None
    retry_after: float | None = None
    delay: float = 0.0
    reset: bool = False
    body: str | None = None

    def concerns(self, head: Head) -> bool:
        """Whether this request can meet the fault."""
        return self.method in (None, head.method) and covers(self.path, head.path)


class Fault:
    """A planned fault and how often it was met; a hanging one holds its requests until released."""

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        """Wait for requests."""
        self.plan = plan
        self.used = 0
        self.gate = Gate(ledger, plan.path, plan.method)
        self._ledger = ledger
        self._met = 0
        self._cleared = False

    @property
    def kind(self) -> Kind:
        """What goes wrong."""
        return self.plan.kind

    def clear(self) -> None:
        """Strike no more requests; those that hang go on hanging."""
        with self._ledger.changed:
            self._cleared = True

    def release(self) -> None:
        """Let the requests that hang go on, and all later ones."""
        self.gate.release()

    def strikes(self, head: Head) -> bool:
        """Count a request against the plan; whether it meets the fault."""
        with self._ledger.changed:
            spent = self.plan.times is not None and self.used >= self.plan.times
            if self._cleared or spent or not self.plan.concerns(head):
                return False
            self._met += 1
            if self._met <= self.plan.skip:
                return False
            self.used += 1
            return True


class Faults:
    """All faults of an emulator in the order of their planning; the first match counts."""

    def __init__(self, ledger: Ledger) -> None:
        """Start with none."""
        self._ledger = ledger
        self._planned: list[Fault] = []

    def plan(self, plan: Plan) -> Fault:
        """Add a fault behind those there are."""
        fault = Fault(plan, self._ledger)
        with self._ledger.changed:
            self._planned.append(fault)
            self._ledger.touch()
        return fault

    def take(self, head: Head) -> Fault | None:
        """The first fault that this request meets, counted as used."""
        return next((fault for fault in self.planned() if fault.strikes(head)), None)

    def clear(self) -> None:
        """Strike no more requests with any of them."""
        for fault in self.planned():
            fault.clear()

    def planned(self) -> tuple[Fault, ...]:
        """All faults ever planned, by number."""
        with self._ledger.changed:
            return tuple(self._planned)
