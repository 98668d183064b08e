"""An emulated provider but for its wire: rules, memory, objects, ledger, and their interplay.

Held by an emulator, driven by the service for requests and by control for tests in other processes.
Everything here happens on the emulator's event loop and awaits nothing, so that arrivals are judged
in the order in which they came, and an effect and its entry in the ledger are one.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from tenure.testing.emulators.faults import Fault, Faults, Plan
from tenure.testing.emulators.gates import Gate, When
from tenure.testing.emulators.keys import KeyMemory, Opening, key_of
from tenure.testing.emulators.ledger import Arrival, Effect, Ledger
from tenure.testing.emulators.limits import Admission, Limiter, Refusal
from tenure.testing.emulators.message import Answer, Head, without_credentials
from tenure.testing.emulators.profile import Profile
from tenure.testing.emulators.rules import Limit
from tenure.testing.emulators.store import Store

_BODY_KEPT = 65_536


@dataclass
class Visit:
    """One request under way: what was decided about it when it arrived, and what it led to.

    ``stored`` is the answer that its key, if it has one, will remember.
    """

    head: Head
    arrival: Arrival
    admission: Admission
    fault: Fault | None
    delay: float
    stored: Answer | None = None

    def meets(self, *kinds: str) -> Plan | None:
        """The plan of this request's fault, if it is one of these kinds."""
        if self.fault is None or self.fault.kind not in kinds:
            return None
        return self.fault.plan


class Provider:
    """The provider of one profile, from the first request to the last."""

    def __init__(self, profile: Profile, clock: Callable[[], float], *, seed: int = 0) -> None:
        """Start fresh; ``latency``, ``jitter`` and ``skew`` are seconds and may be set."""
        self.profile = profile
        self.latency = self.jitter = self.skew = 0.0
        self._clock, self._ahead, self._origin = clock, 0.0, clock()
        self.ledger = Ledger(self._origin)
        self.faults = Faults(self.ledger)
        self.gates: list[Gate] = []
        self.store = Store()
        self.keys = KeyMemory(profile.keys)
        self._random = random.Random(seed)  # noqa: S311 - a test's lot, the same every time
        self.limiter = Limiter(profile.limits, self._origin)

    def now(self) -> float:
        """The emulator's clock, in seconds."""
        return self._clock() + self._ahead

    def wall(self) -> float:
        """What the provider believes the epoch time to be; told to clients, decides nothing."""
        return time.clock_gettime(time.CLOCK_REALTIME) + self._ahead + self.skew

    def advance(self, seconds: float) -> None:
        """Move the emulator's clock ahead: windows empty, keys are forgotten, nobody waited."""
        self._ahead += seconds

    def set_limits(self, limits: tuple[Limit, ...]) -> None:
        """Enforce other limits from the next arrival on, with empty windows."""
        self.limiter = Limiter(limits, self._origin)

    def hold(self, path: str | None, method: str | None, when: When) -> Gate:
        """Add a gate behind those there are."""
        gate = Gate(self.ledger, path, method, when)
        with self.ledger.changed:
            self.gates.append(gate)
        return gate

    def arrive(self, head: Head) -> Visit:
        """Count the request against the limits, the faults and the lot, and enter it."""
        admission = self.limiter.arrive(head)
        refusal = admission.refusal
        fault = None if refusal else self.faults.take(head)
        delay = self.latency + self._random.uniform(0.0, self.jitter)
        arrival = self.ledger.arrived(
            lambda n: Arrival(
                n=n,
                at=head.at,
                method=head.method,
                path=head.path,
                query=head.query,
                headers=without_credentials(head.headers),
                account=head.account,
                key=key_of(self.profile.keys, head),
                refused=refusal is not None,
                limit=refusal.limit.label if refusal and refusal.limit else None,
                fault=fault.kind if fault else None,
            )
        )
        return Visit(head, arrival, admission, fault, delay)

    def throttled(self, visit: Visit) -> Answer | None:
        """The throttle that a limit or a fault has for the request; None where it may go on."""
        refusal = visit.admission.refusal
        if plan := visit.meets("throttle"):
            visit.arrival = replace(visit.arrival, refused=True)
            refusal = Refusal(None, plan.retry_after)
        return None if refusal is None else self.profile.dialect.throttle(refusal, self.wall())

    def opened(self, visit: Visit, body: bytes) -> Opening:
        """What the request's key means; a first use is in flight from here on."""
        key = key_of(self.profile.keys, visit.head, body)
        visit.arrival = replace(visit.arrival, key=key)
        return self.keys.open(visit.head, key, body, visit.head.at)

    def repeated(self, visit: Visit, opening: Opening) -> Answer:
        """The answer to a key that is known already, or is none."""
        dialect, rule = self.profile.dialect, self.keys.rule
        if rule is None:
            raise AssertionError("a key was judged without a rule")
        if opening.entry is not None and opening.entry.answer is not None:
            visit.arrival = replace(visit.arrival, replayed=True)
            marker = rule.replay_marker
            return opening.entry.answer.with_headers(((marker, "true"),) if marker else ())
        words = {"mismatch": dialect.mismatch, "in_flight": dialect.in_flight}
        return words.get(opening.verdict, dialect.invalid_key)(rule)

    def worked(self, visit: Visit, body: bytes) -> Answer:
        """Do the work, or the failure that a fault puts in its place or before its answer.

        Where failures are not stored, an error after the effect is one of something in front of
        the provider: the key keeps the success, or a repeat would do the work twice.
        """
        if plan := visit.meets("error_before", "refuse"):
            visit.stored = self._failure(plan)
            return visit.stored
        visit.stored = answer = self._performed(visit, body)
        if plan := visit.meets("error_after"):
            answer = self._failure(plan)
            if self.keys.rule is not None and self.keys.rule.keeps(answer.status):
                visit.stored = answer
        return answer

    def end(self, visit: Visit, *, outcome: str, status: int | None = None) -> None:
        """Enter the end of a visit and free its place; only the first end counts."""
        if visit.arrival.outcome != "pending":
            return
        visit.admission.leave()
        visit.arrival = replace(visit.arrival, outcome=outcome, status=status, ended=self.now())
        self.ledger.amended(visit.arrival)

    def _failure(self, plan: Plan) -> Answer:
        status = plan.status or (400 if plan.kind == "refuse" else 500)
        answer = self.profile.dialect.failure(status, "something went wrong on purpose")
        if plan.body is not None:
            answer = Answer(status, answer.headers, plan.body.encode())
        if plan.retry_after is None:
            return answer
        return answer.with_headers((("retry-after", f"{plan.retry_after:g}"),))

    def _performed(self, visit: Visit, body: bytes) -> Answer:
        head, n = visit.head, self.ledger.sizes()[2] + 1
        made = self.profile.dialect.perform(self.store, head, body, n)
        if made.effect_id is None:
            return made.answer
        effect = Effect(
            n=n,
            at=self.now(),
            arrival=visit.arrival.n,
            method=head.method,
            path=head.path,
            key=visit.arrival.key,
            body_sha256=hashlib.sha256(body).hexdigest(),
            body=body[:_BODY_KEPT].decode("utf-8", "replace"),
            effect_id=made.effect_id,
            query=head.query,
            headers=visit.arrival.headers,
        )
        visit.arrival = replace(visit.arrival, effect=n)
        self.ledger.took_effect(effect)
        return made.answer
