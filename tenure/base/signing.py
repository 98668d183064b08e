"""Deliveries signed as their senders would sign them.

Made for tests, the demo, ``source test`` and webhooks of our own; the doors never use it.
Promises: what ``sign`` makes, ``verify`` accepts under the same scheme, secret and instant.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tenure.base.delivery import Closed, Delivery, Item, signed_text
from tenure.base.errors import ConfigurationError
from tenure.base.schemes import InField, InHeader, Scheme, Timestamp
from tenure.base.verification import Secret, supported, written_signature


def sign(
    scheme: Scheme,
    body: bytes,
    secret: Secret,
    *,
    event_id: str,
    now: float,
    method: str = "POST",
    url: str = "",
) -> list[tuple[bytes, bytes]]:
    """The headers that make ``body`` a genuine delivery at ``now`` (seconds since 1970).

    Where the event's id stands in the body, ``event_id`` is not used.  Raises
    ``ConfigurationError`` where the scheme or the secret cannot sign, or a signed part is missing.
    """
    place = scheme.signature.places[0]
    if not supported(scheme) or not isinstance(place, InHeader):
        raise ConfigurationError(
            f"deliveries of this scheme cannot be made here ({scheme.name}): only checked",
            hint="Have the sender send a test delivery.",
        )
    headers = _id_headers(scheme, event_id)
    fields: list[Item] = []
    if scheme.timestamp is not None:
        stamp = _stamp(scheme.timestamp, now)
        match scheme.timestamp.place:
            case InHeader(name):
                headers.append((name.encode(), stamp))
            case InField(name):
                fields.append((name.encode(), stamp))
    delivery = Delivery(
        scheme.signature, headers=headers, body=body, method=method, url=url, items=fields
    )
    signature = written_signature(scheme, scheme.key.decode(secret.value), _text(scheme, delivery))
    items = [*fields, (scheme.signature.name.encode(), signature)]
    joint, separator = scheme.signature.joint.encode(), scheme.signature.separator.encode()
    written = separator.join(name + joint + value for name, value in items)
    return [*headers, (place.name.encode(), written)]


def _id_headers(scheme: Scheme, event_id: str) -> list[Item]:
    places = [place for place in scheme.event_id if isinstance(place, InHeader)]
    return [(place.name.encode(), event_id.encode()) for place in places[:1] if event_id]


def _stamp(timestamp: Timestamp, now: float) -> bytes:
    if timestamp.unit == "iso8601":
        return datetime.fromtimestamp(now, UTC).isoformat().encode()
    return str(int(now * 1000) if timestamp.unit == "ms" else int(now)).encode()


def _text(scheme: Scheme, delivery: Delivery) -> bytes:
    try:
        return signed_text(scheme.signed, delivery)
    except Closed as closed:
        raise ConfigurationError(
            f"a signed part is {closed.outcome} ({closed.where}): the delivery cannot be signed",
            hint="Give an event id without the scheme's separators, and the body it asks for.",
        ) from closed
