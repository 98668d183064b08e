"""The replay's plan: what is delivered, when, how it is signed, and what must come of it.

Called by the demo before it begins.  Pure and seeded: the same seed is the same plan.  Promises:
every genuine event says which effects it has, so that a missing one and one too many are both seen;
mails stay below what their provider takes in the time, so that all ends soon after the last event.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

import msgspec

from tenure.cli.demo.bodies import Author, Fields

Signed = Literal["right", "wrong_secret", "altered", "aged", "unsigned", "garbled"]

# Events a second: the mails that follow are just below 4 a second, the CRM's calls below 8.
_ORDERS, _REFUNDS, _LEADS, _DIGESTED = 2.0, 0.9, 5.0, 1.2
_BIG = 0.15  # of leads
_AGAIN = 0.08  # of all: delivered twice
_AT_ONCE = 0.5  # of those: both at the same moment
_OVERTAKES = 0.3  # of refunds: come before their order
# The first four tenths of the time have six tenths of the events, so that the limits bind.
_RUSH, _RUSHED = 0.4, 0.6
_VICTIM_FROM = 0.3  # of the time: the refund whose worker will be killed comes after


class Delivery(msgspec.Struct, frozen=True):
    """One delivery, ``at`` so many seconds after the start.

    ``effects``: what must come of its event, as ``ledgers`` names effects; ``again``: its event is
    delivered elsewhere too.
    """

    at: float
    source: str
    event: str
    type: str
    body: bytes
    signed: Signed = "right"
    effects: tuple[str, ...] = ()
    again: bool = False

    @property
    def genuine(self) -> bool:
        """Whether the door must open."""
        return self.signed == "right" and self.source in ("stripe", "leads")


class Victim(msgspec.Struct, frozen=True):
    """The event whose worker is killed, and the provider's path that its call goes to."""

    event: str
    path: str


class Replay(msgspec.Struct, frozen=True):
    """All deliveries in the order of time."""

    deliveries: tuple[Delivery, ...]
    victim: Victim
    overtaken: int

    @property
    def genuine(self) -> dict[str, Delivery]:
        """The first genuine delivery of each event."""
        found: dict[str, Delivery] = {}
        for delivery in self.deliveries:
            if delivery.genuine:
                found.setdefault(delivery.event, delivery)
        return found


def plan(seconds: float, seed: int, now: int) -> Replay:
    """The plan of a replay that lasts so long; ``now`` in seconds since 1970."""
    return _Planner(seconds, seed, now).plan()


class _Planner:
    def __init__(self, seconds: float, seed: int, now: int) -> None:
        self._seconds = seconds
        self._random = random.Random(seed)  # noqa: S311  the same lot every time, on purpose
        self._author = Author(self._random, now)
        self._found: list[Delivery] = []
        self._overtaken = 0

    def plan(self) -> Replay:
        charges = self._orders()
        victim = self._refunds(charges)
        self._leads()
        self._digested()
        self._again(victim)
        self._wrong()
        ordered = sorted(self._found, key=lambda delivery: delivery.at)
        return Replay(tuple(ordered), victim, self._overtaken)

    def _times(self, rate: float, least: int = 1) -> list[float]:
        """When events of one kind happen."""
        drawn = (self._random.random() for _ in range(max(least, round(rate * self._seconds))))
        return sorted(self._seconds * _hastened(share) for share in drawn)

    def _stripe(self, at: float, type_: str, body: Callable[[str], bytes], *kinds: str) -> Delivery:
        event = self._author.id("evt_")
        effects = tuple(f"{kind} {event}" for kind in kinds)
        delivery = Delivery(at, "stripe", event, type_, body(event), effects=effects)
        self._found.append(delivery)
        return delivery

    def _orders(self) -> list[tuple[float, Fields]]:
        charges = []
        for at in self._times(_ORDERS, 3):
            charge = self._author.charge()
            self._stripe(
                at,
                "checkout.session.completed",
                lambda event, charge=charge: self._author.order(event, charge),  # type: ignore[misc]  # bound now, on purpose
                "hubspot/deals",
                "resend/emails",
            )
            charges.append((at, charge))
        return charges

    def _refunds(self, charges: list[tuple[float, Fields]]) -> Victim:
        wanted = max(2, round(_REFUNDS * self._seconds))
        chosen = sorted(self._random.sample(range(len(charges)), min(wanted, len(charges))))
        made = []
        for number in chosen:
            ordered, charge = charges[number]
            early = self._random.random() < _OVERTAKES
            at = ordered + self._random.uniform(0.2, 1.5) * (-1 if early else 1)
            at = min(max(at, 0.0), self._seconds)
            self._overtaken += at < ordered
            delivery = self._stripe(
                at,
                "charge.refunded",
                lambda event, charge=charge: self._author.refund(event, charge),  # type: ignore[misc]  # bound now, on purpose
                "stripe/charges",
                "hubspot/notes",
                "resend/emails",
            )
            made.append((at, delivery.event, f"/v1/charges/{charge['id']}"))
        made.sort()
        late = [it for it in made if it[0] >= _VICTIM_FROM * self._seconds] or made[-1:]
        return Victim(late[0][1], late[0][2])

    def _leads(self) -> None:
        for at in self._times(_LEADS):
            lead, message = self._author.id("lead_", 12), self._author.id("msg_")
            big = self._random.random() < _BIG
            kinds = ("hubspot/contacts", "resend/emails") if big else ("hubspot/contacts",)
            effects = tuple(f"{kind} {lead}" for kind in kinds)
            body = self._author.lead(lead, big=big)
            self._found.append(Delivery(at, "leads", message, "lead", body, effects=effects))

    def _digested(self) -> None:
        for at in self._times(_DIGESTED):
            if self._random.random() < 0.5:
                self._stripe(at, "customer.created", self._author.customer)
            else:
                self._stripe(at, "invoice.payment_failed", self._author.unpaid)

    def _again(self, victim: Victim) -> None:
        """Some events come twice, half of these both at once."""
        events = [delivery for delivery in self._found if delivery.event != victim.event]
        for first in self._random.sample(events, max(2, round(_AGAIN * len(events)))):
            together = self._random.random() < _AT_ONCE
            later = first.at if together else first.at + self._random.uniform(0.3, 3.0)
            second = msgspec.structs.replace(first, at=min(later, self._seconds), again=True)
            self._found.append(second)

    def _wrong(self) -> None:
        """A handful that no door may open for."""
        some = [it for it in self._found if it.source == "stripe" and not it.again]
        wrongs: tuple[Signed, ...] = (
            "wrong_secret", "wrong_secret", "altered", "aged", "unsigned", "garbled",
        )  # fmt: skip
        for signed in wrongs:
            self._forged(self._random.choice(some), "stripe", signed)
        self._forged(self._random.choice(some), "payments", "right")
        leads = [it for it in self._found if it.source == "leads" and not it.again]
        self._forged(self._random.choice(leads), "leads", "wrong_secret")

    def _forged(self, like: Delivery, source: str, signed: Signed) -> None:
        """A delivery like a genuine one, of an event that does not exist."""
        event = self._author.id("evt_") if like.source == "stripe" else self._author.id("msg_")
        body = like.body.replace(like.event.encode(), event.encode())
        at = self._random.uniform(0.0, self._seconds)
        if like.source == "leads":
            body = self._author.lead(self._author.id("lead_", 12), big=True)
        self._found.append(Delivery(at, source, event, like.type, body, signed=signed))


def _hastened(share: float) -> float:
    """A share of all events as the share of the time at which they have come."""
    if share < _RUSHED:
        return share / _RUSHED * _RUSH
    return _RUSH + (share - _RUSHED) / (1 - _RUSHED) * (1 - _RUSH)
