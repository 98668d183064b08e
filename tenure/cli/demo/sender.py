"""The senders: Stripe and a form that deliver signed events over HTTP, as planned.

Run by the demo while its pieces run.  Promises: each delivery is signed at the moment it leaves,
as its sender would sign it, or wrongly in just the way that the plan says; what was not answered is
sent again, as senders do; every answer is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from tenure.base import clock, json, schemes, signing
from tenure.base.errors import InvalidInput
from tenure.base.http import Request, Response
from tenure.base.verification import Secret
from tenure.cli.demo.events import Delivery
from tenure.flow.carriers import Admission, Answered, Live, NotSent, Outgoing

_SCHEMES = {"stripe": "stripe", "leads": "standard-webhooks", "payments": "stripe"}
_NEAR = frozenset({"plain-http", "private-address"})
_TIMEOUT = 10.0
_TRIES = 5
_PAUSE = 0.5
_AGED = 900.0  # seconds: older than any scheme allows
_FOREIGN = "whsec_" + "0f" * 16  # well formed, and nobody's here


class Told(msgspec.Struct, frozen=True):
    """How the door answered one delivery.

    ``outcome``: what it says of a genuine one (accepted, duplicate, conflict), why it refused
    another, or ``unanswered``.
    """

    delivery: Delivery
    status: int
    outcome: str
    event: UUID | None = None
    jobs: int = 0


class Sender:
    """Delivers a plan to one server."""

    def __init__(self, address: str, secrets: Mapping[str, str], *, now: float) -> None:
        """``now``: the database's clock in seconds since 1970, read just before."""
        self._address = address
        self._secrets = {**secrets, "payments": secrets["stripe"]}
        self._ahead = now - clock.now()
        self._live = Live()
        self.told: list[Told] = []

    async def send(self, deliveries: Sequence[Delivery]) -> None:
        """Send all, each at its time; returns when the last has been answered."""
        start = clock.now()
        async with asyncio.TaskGroup() as group:
            for delivery in deliveries:
                await asyncio.sleep(max(0.0, start + delivery.at - clock.now()))
                group.create_task(self._deliver(delivery))
        await self._live.aclose()

    async def _deliver(self, delivery: Delivery) -> None:
        for number in range(1, _TRIES + 1):
            answer = await self._post(delivery)
            if answer is not None and answer.status < 500:
                self.told.append(_told(delivery, answer))
                return
            await asyncio.sleep(_PAUSE * number)
        self.told.append(Told(delivery, 0, "unanswered"))

    async def _post(self, delivery: Delivery) -> Response | None:
        headers, body = self._signed(delivery)
        request = Request("POST", f"{self._address}/hooks/{delivery.source}", headers, body)
        carried = await self._live.carry(
            Outgoing(request, timeout=_TIMEOUT, allow=_NEAR), _admission
        )
        if isinstance(carried, NotSent) or not isinstance(carried, Answered):
            return None
        return carried.response

    def _signed(self, delivery: Delivery) -> tuple[tuple[tuple[str, str], ...], bytes]:
        """The headers and the body as they leave."""
        kind = ("content-type", "application/json")
        if delivery.signed == "unsigned":
            return (kind,), delivery.body
        if delivery.signed == "garbled":
            return (kind, ("stripe-signature", "t=yesterday;v1=trust-me")), b"\x00\xff{]"
        now = clock.now() + self._ahead - (_AGED if delivery.signed == "aged" else 0.0)
        foreign = delivery.signed == "wrong_secret"
        value = _FOREIGN if foreign else self._secrets[delivery.source]
        made = signing.sign(
            schemes.preset(_SCHEMES[delivery.source]),
            delivery.body,
            Secret("demo", value),
            event_id=delivery.event,
            now=now,
        )
        body = delivery.body
        if delivery.signed == "altered":
            body = body.replace(b'"livemode":false', b'"livemode":true')
        return (kind, *((name.decode(), value.decode()) for name, value in made)), body


async def _admission() -> Admission:
    """Nobody's budget: a sender may send."""
    now = clock.now()
    return Admission(admitted=now, window=_TIMEOUT, deadline=now + _TIMEOUT)


def _told(delivery: Delivery, answer: Response) -> Told:
    fields = _fields(answer)
    if answer.status == 404:
        return Told(delivery, 404, "no such door")
    if answer.status != 200:
        return Told(delivery, answer.status, str(fields.get("reason", "refused")))
    return Told(
        delivery,
        200,
        str(fields["outcome"]),
        UUID(str(fields["event"])),
        int(str(fields.get("jobs", 0))),
    )


def _fields(answer: Response) -> dict[str, object]:
    try:
        value = json.decode(answer.body)
    except InvalidInput:
        return {}
    return value if isinstance(value, dict) else {}
