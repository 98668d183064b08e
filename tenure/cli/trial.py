"""A source's trial: deliveries made here, and what verification says of each.

Called by ``tenure source test``.  Pure: no database, no network, no clock; the instant is any one.
Promises: the genuine delivery is made exactly as its sender would make it, and every other differs
from it in one thing.
"""

from __future__ import annotations

import msgspec

from tenure.base import json, signing
from tenure.base.delivery import Outcome
from tenure.base.schemes import InBody, InHeader, Scheme
from tenure.base.verification import Secret, verify

_NOW = 1_800_000_000.0
_EVENT = "evt_trial"

Headers = list[tuple[bytes, bytes]]


class Trial(msgspec.Struct, frozen=True):
    """One delivery, the outcome it has, and the one it should have."""

    delivery: str
    secret: str
    outcome: Outcome
    expected: Outcome
    passed: bool


def run(scheme: Scheme, *, label: str, value: str) -> list[Trial]:
    """Try a scheme with one secret; raises ``ConfigurationError`` where nothing can be signed."""
    secret = Secret(label, value)
    body = _body(scheme)
    headers = signing.sign(scheme, body, secret, event_id=_EVENT, now=_NOW)

    def tried(
        delivery: str,
        expected: Outcome,
        *,
        at: float = _NOW,
        sent: Headers = headers,
        content: bytes = body,
    ) -> Trial:
        verdict = verify(scheme, headers=sent, body=content, secrets=[secret], now=at)
        passed = verdict.outcome == expected
        return Trial(delivery, label, verdict.outcome, expected, passed)

    trials = [
        tried("genuine", "ok"),
        tried("unsigned", "missing_header", sent=_without_signature(scheme, headers)),
        tried("signed by another", "bad_signature", sent=_altered(scheme, headers)),
    ]
    if scheme.algorithm != "shared":
        trials.append(tried("altered on its way", "bad_signature", content=body + b" "))
    if scheme.timestamp is not None:
        past, future = scheme.timestamp.past, scheme.timestamp.future
        trials.append(tried("sent again too late", "stale", at=_NOW + past + 2))
        trials.append(tried("from the future", "future", at=_NOW - future - 2))
    return trials


def _body(scheme: Scheme) -> bytes:
    """A small event, with an id wherever the scheme looks for one."""
    event: dict[str, object] = {"id": _EVENT, "trial": True}
    for place in scheme.event_id:
        if isinstance(place, InBody):
            top, *rest = place.path.split(".")
            inner: object = _EVENT
            for name in reversed(rest):
                inner = {name: inner}
            event[top] = inner
    return json.encode(event)


def _without_signature(scheme: Scheme, headers: Headers) -> Headers:
    names = _signature_headers(scheme)
    return [(name, value) for name, value in headers if name.lower() not in names]


def _altered(scheme: Scheme, headers: Headers) -> Headers:
    """The same delivery with another signature of the same form."""
    names = _signature_headers(scheme)
    return [(name, _turned(value) if name.lower() in names else value) for name, value in headers]


def _signature_headers(scheme: Scheme) -> set[bytes]:
    places = scheme.signature.places
    return {place.name.lower().encode() for place in places if isinstance(place, InHeader)}


def _turned(value: bytes) -> bytes:
    """At its end every digit is another digit and every letter another one; padding stays."""
    head, tail = value[:-6], value[-6:]
    turned = tail.translate(bytes.maketrans(b"0123456789abcdefABCDEF", b"1234567890bcdefaBCDEFA"))
    return head + (turned if turned != tail else b"A" + tail[1:])
