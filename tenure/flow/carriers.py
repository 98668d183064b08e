"""Carriers: how a call leaves, or does not.  One protocol, one method; the job's mode chooses.

Called by the gate's client alone.  ``Live`` is the only way out of a Tenure process, ``Dry`` has
none.  A carried call ends in one of three ways and never in a guess:

    check URL ─ connection ─ admission ─ check of age ─ first byte ─ whole answer ─ Answered
        │           │            │             │             │             │
    CallForbidden  NotSent    (raises)      NotSent       NotSent       Unknown

``NotSent`` is said only where no byte of the request has left; after the first byte all that is
not a whole answer is ``Unknown``.  Nothing is tried twice here and no redirect is followed.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, runtime_checkable
from urllib.parse import urlencode

import h11
import msgspec

from tenure.base import clock
from tenure.base.http import Request, Response
from tenure.flow import egress
from tenure.flow.exchange import Answer, compose, talk
from tenure.flow.standin import stand_in
from tenure.flow.wire import Flight, Pool, Unsent, Wire, broken, dial

__all__ = [
    "Admission",
    "Admit",
    "Answered",
    "Auth",
    "Carried",
    "Carrier",
    "Dry",
    "Flight",
    "Live",
    "NotSent",
    "Outgoing",
    "QueryAuth",
    "Unknown",
    "stand_in",
]

FRESH_FOR = 1.0  # seconds for which an idle connection is trusted with what cannot be repeated
IDLE_FOR = 30.0
CONNECT_WITHIN = 10.0


class Auth(Protocol):
    """A credential that leaves in headers; asked anew for every call, never recorded."""

    def headers(self) -> Sequence[tuple[str, str]]:
        """Names and values as they leave."""
        ...


@runtime_checkable
class QueryAuth(Protocol):
    """A credential that (also) leaves in the URL's query."""

    def query(self) -> Sequence[tuple[str, str]]:
        """Names and values as they leave, not yet percent-encoded."""
        ...


class Admission(msgspec.Struct, frozen=True):
    """One permission to send once.

    ``admitted`` and ``deadline`` are readings of ``tenure.base.clock``: not later than the moment
    of admission; and that after which this worker makes no calls.  The first byte leaves within
    ``window`` seconds of ``admitted``, or not at all.  ``headers`` hold the key.
    """

    admitted: float
    window: float
    deadline: float
    headers: tuple[tuple[str, str], ...] = ()


class Outgoing(msgspec.Struct, frozen=True):
    """A call to be carried.

    ``timeout``: seconds for the whole answer.  ``fresh``: the call may not be repeated, so no
    connection that was idle for a second.  ``hosts``: where the credential may go, as ``host``,
    ``host:port`` or ``*.domain``; to any other host it is left away.  ``allow``: exceptions of
    ``tenure.flow.egress``.  ``max_answer``: bytes of body that are kept of an answer.  ``key``: the
    step's key in hex, from which stand-ins take their ids.
    """

    request: Request
    auth: Auth | None = None
    timeout: float = 30.0
    fresh: bool = False
    hosts: frozenset[str] = frozenset()
    allow: frozenset[str] = frozenset()
    max_answer: int = 10_000_000
    key: str = ""


class Answered(msgspec.Struct, frozen=True):
    """The provider's whole answer, whatever its status.

    A body longer than the call keeps is cut and marked by a header ``tenure-cut``.
    """

    response: Response


class NotSent(msgspec.Struct, frozen=True):
    """Proved: no byte of the request left.  ``void``: the admission was too old to be used."""

    reason: str
    void: bool = False


class Unknown(msgspec.Struct, frozen=True):
    """Bytes of the request left, and no whole answer came: nobody here knows what happened."""

    reason: str


Carried = Answered | NotSent | Unknown
Admit = Callable[[], Awaitable[Admission]]


class Carrier(Protocol):
    """The one method between an automation and the outside."""

    async def carry(self, call: Outgoing, admit: Admit, flight: Flight | None = None) -> Carried:
        """Carry one call; ``flight`` tells what is known where this is cancelled."""
        ...


class Dry:
    """Never opens a socket and never asks for admission: every answer is an echo."""

    async def carry(self, call: Outgoing, admit: Admit, flight: Flight | None = None) -> Carried:
        """Check the URL as a live call would be, then answer with a stand-in."""
        del admit, flight
        egress.check(call.request.url, call.allow)
        return Answered(stand_in(call.request, call.key or _digest(call.request)))


def _digest(request: Request) -> str:
    return hashlib.sha256(f"{request.method} {request.url}\n".encode() + request.body).hexdigest()


class Live:
    """Carries calls to the outside, over connections of its own; belongs to one event loop."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        now: Callable[[], float] = clock.now,
        idle: float = IDLE_FOR,
        connect_within: float = CONNECT_WITHIN,
    ) -> None:
        """Trust what the system trusts unless ``tls`` is given; durations are seconds."""
        self._tls = tls or ssl.create_default_context()
        self._tls.set_alpn_protocols(["http/1.1"])
        # Python may ask OpenSSL to take a connection that was cut for one that was ended.
        self._tls.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        self._now = now
        self._connect_within = connect_within
        self._pool = Pool(now, idle)

    async def carry(self, call: Outgoing, admit: Admit, flight: Flight | None = None) -> Carried:
        """Carry one call; raises ``CallForbidden``, and whatever ``admit`` raises, unchanged.

        A cancelled call closes its connection; ``flight.first_byte`` then tells whether a byte
        of it left.
        """
        flight = flight or Flight()
        place = egress.check(call.request.url, call.allow)
        place, credentials = _with_credentials(call, place)
        compose(call.request, place, credentials)  # what cannot be written costs no admission
        try:
            wire = await self._connection(call, place)
        except OSError as error:
            return NotSent(f"no connection to {place.authority} ({broken(error)})")
        try:
            admission = await admit()
            flight.admitted = True
            head = compose(call.request, place, (*credentials, *admission.headers))
        except BaseException:
            self._pool.put(_key(call, place), wire)  # nothing was written on it
            raise
        wire.arm(lambda: self._cleared(call, wire, admission), flight)
        return await self._send(call, place, wire, head, flight)

    async def _connection(self, call: Outgoing, place: egress.Place) -> Wire:
        """Choose an idle connection or open one: lookup, connection, handshake; raises OSError."""
        within = FRESH_FOR if call.fresh else float("inf")
        wire = self._pool.take(_key(call, place), within)
        if wire is not None:
            return wire
        async with asyncio.timeout(min(self._connect_within, call.timeout)):
            addresses = await egress.resolve(place.host, place.port, call.allow)
            return await dial(addresses, place, self._tls, self._now)

    def _cleared(self, call: Outgoing, wire: Wire, admission: Admission) -> float:
        """Stands directly before the first byte: gives the time, or raises ``Unsent``.

        The clock is read last, so that nothing but the system call comes after it.
        """
        if not wire.clean():
            raise Unsent("the connection was closed from the other side before the first byte")
        if call.fresh and wire.used and self._now() - wire.since >= FRESH_FOR:
            raise Unsent("the connection was idle for too long for a call that is not repeated")
        now = self._now()
        if now > admission.admitted + admission.window:
            late = now - admission.admitted
            raise Unsent(f"the admission was {late:.3f} s old, beyond its send window", void=True)
        if now > admission.deadline:
            raise Unsent("the worker's deadline for calls has passed", void=True)
        return now

    async def _send(
        self, call: Outgoing, place: egress.Place, wire: Wire, head: h11.Request, flight: Flight
    ) -> Carried:
        try:
            async with asyncio.timeout(call.timeout):
                answer = await talk(wire, head, call.request.body, call.max_answer)
        except Unsent as refusal:
            wire.close()
            return NotSent(refusal.reason, void=refusal.void)
        except (OSError, h11.RemoteProtocolError) as error:
            wire.close()
            said = _said(error, call.timeout)
            return Unknown(said) if flight.first_byte else NotSent(said)
        except BaseException:
            wire.close()
            raise
        return self._answered(call, place, wire, answer, flight)

    def _answered(
        self, call: Outgoing, place: egress.Place, wire: Wire, answer: Answer, flight: Flight
    ) -> Answered:
        now = self._now()
        if answer.whole and wire.rest(now):
            self._pool.put(_key(call, place), wire)
        else:
            wire.close()
        return Answered(msgspec.structs.replace(answer.response, elapsed=now - flight.left_at))

    async def aclose(self) -> None:
        """Close the connections that are idle; calls in flight end by themselves."""
        self._pool.close()


def _key(call: Outgoing, place: egress.Place) -> tuple[object, ...]:
    """Connections are shared by calls to one place under the same exceptions, and by no others."""
    return (place.scheme, place.host, place.port, call.allow)


def _with_credentials(
    call: Outgoing, place: egress.Place
) -> tuple[egress.Place, tuple[tuple[str, str], ...]]:
    """The place with what its query carries, and the headers to add; nothing for foreign hosts."""
    if call.auth is None or not _trusted(place, call.hosts):
        return place, ()
    if isinstance(call.auth, QueryAuth):
        mark = "&" if "?" in place.target else "?"
        target = f"{place.target}{mark}{urlencode(call.auth.query())}"
        place = msgspec.structs.replace(place, target=target)
    return place, tuple(call.auth.headers())


def _trusted(place: egress.Place, hosts: frozenset[str]) -> bool:
    host = place.host.rstrip(".")
    named = {entry.lower() for entry in hosts}
    if named & {host, f"{host}:{place.port}"}:
        return True
    return any(name.startswith("*.") and host.endswith(name[1:]) for name in named)


def _said(error: Exception, timeout: float) -> str:
    """Why there is no answer, in one sentence."""
    if isinstance(error, TimeoutError) and error.errno is None:
        return f"no whole answer came within {timeout:g} s"
    if isinstance(error, OSError):
        return f"the connection did not last: {broken(error)}"
    return str(error)
