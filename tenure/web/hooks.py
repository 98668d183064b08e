"""The door for events: one delivery, verified, stored, acknowledged.

Called by the route ``POST /hooks/{source}``.  Promises: nothing is done with a delivery before it
is known to be genuine; it is acknowledged when its event and jobs are committed, never before;
whatever is wrong with it, the answer is below 500 and tells nothing secret; no user code runs.

source unknown              404, the same as for any other address
not genuine                 401, counted by source and reason
source disabled             404, told to genuine senders alone
secret missing, outage      503: send it again
genuine                     200 with the event's id: accepted, duplicate or conflict
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from tenure.base import conceal
from tenure.base.delivery import Closed, Delivery, Headers, Outcome
from tenure.base.errors import MissingSecret
from tenure.base.schemes import InBody, InHeader, Place
from tenure.base.verification import Secret, Verdict, verify
from tenure.flow.source import Source
from tenure.store import events
from tenure.store.events import Arrival
from tenure.web.bodies import Bodies
from tenure.web.connections import Connections
from tenure.web.instant import Instant
from tenure.web.refusals import Refusal, Sayings, not_found, reply, unavailable
from tenure.web.tally import Tally
from tenure.web.turned import TurnedAway

T = TypeVar("T")

_INLINE = 65_536  # bytes that are verified before another request would notice

# Where senders write what kind of event it is.  Sources: their own documents.
_TYPES: Mapping[str, Place] = {
    "standard-webhooks": InBody("type"),
    "stripe": InBody("type"),
    "github": InHeader("x-github-event"),
}

_RESEND = "Send it as the scheme says, the body byte for byte as it was signed."
_TOLD: Mapping[Outcome, tuple[str, str]] = {
    "missing_header": ("the delivery is not signed: a header is missing", _RESEND),
    "malformed": ("a part of the signature cannot be read", _RESEND),
    "too_large": ("a part of the signature is too large", _RESEND),
    "bad_signature": (
        "the signature matches no secret of this source",
        "Compare the secret at the sender with the one here; the body must arrive unchanged.",
    ),
    "stale": (
        "the delivery was signed too long ago",
        "Check the sender's clock; sign it anew before sending it again.",
    ),
    "future": ("the delivery is signed for later than now", "Check the sender's clock."),
}

_BODY_STATUSES = (408, 413)
# Who is knocked for where nobody of that name is; the name is a stranger's, and is not repeated.
_NOBODY = "a source that is not declared"


class Hooks:
    """The sources of one application, and what every delivery needs."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        connections: Connections,
        *,
        limit: int,
        bodies: Bodies,
        tally: Tally,
        sayings: Sayings,
        turned_away: TurnedAway,
    ) -> None:
        """``limit``: the longest body in bytes."""
        self._sources = sources
        self._connections = connections
        self._limit = limit
        self._bodies = bodies
        self._tally = tally
        self._sayings = sayings
        self._turned_away = turned_away
        self._instant = Instant(connections)

    async def receive(self, request: Request) -> Response:
        """Take one delivery in, or refuse it."""
        source = self._sources.get(request.path_params["source"])
        if source is None:
            self._turned_away.tell(_NOBODY, "unknown_source", _address(request))
            raise not_found()
        try:
            async with self._bodies.of(request, self._limit) as body:
                arrival = await self._verified(source, request.scope["headers"], body)
                return await self._accepted(arrival)
        except Refusal as refusal:
            if refusal.status in _BODY_STATUSES:
                self._tally.count(source.name, refusal.reason)
            self._turned_away.tell(source.name, refusal.reason, _address(request))
            raise

    async def _verified(self, source: Source, headers: Headers, body: bytes) -> Arrival:
        """The delivery, known to be genuine; raises ``Refusal`` where it is not."""
        secrets = self._secrets(source)
        verdict = await self._judged(source, headers, body, secrets)
        if verdict.outcome != "ok":
            self._tally.count(source.name, verdict.outcome)
            raise self._refusal(source, verdict)
        return Arrival(
            source.name,
            body,
            headers,
            key=verdict.event_key,
            type=await _aside(body, lambda: _type(source, headers, body)),
            secret=verdict.secret,
            secrets=conceal.of({secret.label: secret.value for secret in secrets}),
        )

    def _secrets(self, source: Source) -> list[Secret]:
        """The secrets as they are now; one that is missing is told in the log, and passed over."""
        secrets = []
        for ref in source.secrets:
            try:
                secrets.append(Secret(ref.reference, ref.read()))
            except MissingSecret as error:
                self._sayings.warn(f"{source.name} {ref.reference}", f"{source.name}: {error}")
        return secrets

    async def _judged(
        self, source: Source, headers: Headers, body: bytes, secrets: Sequence[Secret]
    ) -> Verdict:
        """The verdict; one that goes by the time alone is asked for again by an exact reading."""
        now = await self._instant.now()
        verdict = await _aside(body, lambda: self._verdict(source, headers, body, secrets, now=now))
        if verdict.outcome not in ("stale", "future"):
            return verdict
        exact = await self._instant.now(exact=True)
        return await _aside(body, lambda: self._verdict(source, headers, body, secrets, now=exact))

    def _verdict(
        self,
        source: Source,
        headers: Headers,
        body: bytes,
        secrets: Sequence[Secret],
        *,
        now: float,
    ) -> Verdict:
        return verify(
            source.scheme, headers=headers, body=body, secrets=secrets, now=now, limit=self._limit
        )

    def _refusal(self, source: Source, verdict: Verdict) -> Refusal:
        """The answer to a delivery that was not found genuine."""
        if verdict.outcome not in _TOLD:
            cause = f"{source.name} {verdict.outcome}"
            message = f"{source.name}: no secret can be used ({verdict.outcome}): nothing gets in"
            self._sayings.warn(cause, message)
            told = "this source cannot verify anything at the moment"
            return unavailable(told, reason=verdict.outcome)
        message, hint = _TOLD[verdict.outcome]
        where = f" ({verdict.where})" if verdict.where else ""
        reason = verdict.outcome
        return Refusal(401, f"{message}{where}", hint=hint, reason=reason, more={"reason": reason})

    async def _accepted(self, arrival: Arrival) -> Response:
        accepted = await self._connections.run(
            lambda database: events.accept(database, arrival), repeatable=arrival.key is not None
        )
        if accepted is None:
            raise Refusal(
                404,
                "this source takes no deliveries: it is disabled, or was never declared here",
                hint="Ask whoever runs it.",
                reason="disabled",
            )
        self._instant.learn(accepted.at)
        return reply(
            200,
            {"event": accepted.event_id, "outcome": accepted.outcome, "jobs": accepted.jobs},
        )


def _address(request: Request) -> str:
    """Where a request came from, as the socket has it: what headers claim is the sender's."""
    return request.client.host if request.client else "an unknown address"


async def _aside(body: bytes, act: Callable[[], T]) -> T:
    """Do it at once for a small body; a large one would keep all other requests waiting."""
    return act() if len(body) <= _INLINE else await asyncio.to_thread(act)


def _type(source: Source, headers: Headers, body: bytes) -> str | None:
    """What kind of event it is, where the scheme's senders say so."""
    place = _TYPES.get(source.scheme.name)
    if place is None:
        return None
    delivery = Delivery(source.scheme.signature, headers=headers, body=body, method="", url="")
    try:
        return delivery.read(place).decode("utf-8", "replace")
    except Closed:
        return None
