"""Is this delivery genuine?  Bytes in, one answer of a closed list out.

The doors ask before anything else is done with a delivery.  Promises: ``verify`` never raises,
whatever the bytes are; every key is tried against every signature in constant time, so that timing
tells neither which secret matched nor how much of one did; both bounds of time hold; what is not
plainly genuine is refused.

secrets → keys          none usable: no_secret
headers → signatures    absent: missing_header; unreadable: malformed; beyond limits: too_large
parts   → signed text
keys × signatures       none matches: bad_signature
timestamp               stale, future
event id                ok
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from tenure.base.delivery import Closed, Delivery, Headers, Outcome, signed_text, where_of
from tenure.base.errors import ConfigurationError
from tenure.base.schemes import Scheme, Timestamp

BODY_LIMIT = 20_000_000
EVENT_KEY_LIMIT = 512

_DIGITS = re.compile(rb"[0-9]{1,16}")

_DIGESTS: Mapping[str, Callable[[bytes, bytes], bytes]] = {
    "hmac-sha1": lambda key, signed: hmac.digest(key, signed, "sha1"),
    "hmac-sha256": lambda key, signed: hmac.digest(key, signed, "sha256"),
    "hmac-sha512": lambda key, signed: hmac.digest(key, signed, "sha512"),
    "sha256-concat": lambda key, signed: hashlib.sha256(key + signed).digest(),
    "shared": lambda key, _signed: key,
}
_ENCODINGS: Mapping[str, Callable[[bytes], bytes]] = {
    "hex": lambda digest: digest.hex().encode(),
    "base64": base64.b64encode,
    "plain": bytes,
}


class Secret(msgspec.Struct, frozen=True):
    """A secret as the sender shows it, under the label by which people speak of it."""

    label: str
    value: str

    def __repr__(self) -> str:
        """The label; the value is never printed."""
        return f"Secret({self.label!r}, …)"


class Verdict(msgspec.Struct, frozen=True):
    """What verification found.

    ``secret`` is the label that matched and ``timestamp`` the instant that was signed, in seconds
    since 1970; both are there only where the signature is genuine.  ``event_key`` names the event,
    where the scheme can and the outcome is ok; a key too long or too odd to be stored stands as
    its SHA-256.  ``where`` is the header, field or path at which another outcome was found.
    """

    outcome: Outcome
    secret: str | None = None
    event_key: str | None = None
    timestamp: float | None = None
    where: str = ""


def verify(
    scheme: Scheme,
    *,
    headers: Headers,
    body: bytes,
    secrets: Sequence[Secret],
    now: float,
    method: str = "POST",
    url: str = "",
    limit: int = BODY_LIMIT,
) -> Verdict:
    """Judge one delivery at the instant ``now`` (seconds since 1970); never raises.

    ``secrets`` are all that are active, in any order.  ``url`` is the source's configured address,
    for schemes that sign it.  A body of more than ``limit`` bytes is too large.
    """
    if not supported(scheme):
        return Verdict("unsupported_alg")
    keys = list(_usable(scheme, secrets))
    if not keys:
        return Verdict("no_secret")
    if len(body) > limit:
        return Verdict("too_large", where="body")
    delivery = Delivery(scheme.signature, headers=headers, body=body, method=method, url=url)
    try:
        return _judge(scheme, delivery, keys, now)
    except Closed as closed:
        return Verdict(closed.outcome, where=closed.where)


def supported(scheme: Scheme) -> bool:
    """Whether the scheme's algorithm is one that this engine knows."""
    return scheme.algorithm in _DIGESTS


def written_signature(scheme: Scheme, key: bytes, signed: bytes) -> bytes:
    """The signature of a signed text under a key, as the scheme writes it."""
    return _ENCODINGS[scheme.signature.encoding](_DIGESTS[scheme.algorithm](key, signed))


def _judge(
    scheme: Scheme, delivery: Delivery, keys: Sequence[tuple[str, bytes]], now: float
) -> Verdict:
    candidates = delivery.candidates()
    instant = _instant(scheme.timestamp, delivery) if scheme.timestamp else None
    signed = signed_text(scheme.signed, delivery)
    expected = [(label, written_signature(scheme, key, signed)) for label, key in keys]
    # All pairs are compared before anything is decided.
    matched = [label for label, text in expected for found in candidates if _same(text, found)]
    if not matched:
        return Verdict("bad_signature", where=where_of(scheme.signature.places[0]))
    outcome = _freshness(scheme.timestamp, instant, now)
    where, key = "", None
    if outcome == "ok":
        key = _event_key(scheme, delivery)
    elif scheme.timestamp is not None:
        where = where_of(scheme.timestamp.place)
    return Verdict(outcome, secret=matched[0], event_key=key, timestamp=instant, where=where)


def _usable(scheme: Scheme, secrets: Iterable[Secret]) -> Iterable[tuple[str, bytes]]:
    """Labels and keys; a secret of which this scheme can make no key matches nothing."""
    for secret in secrets:
        try:
            yield secret.label, scheme.key.decode(secret.value)
        except ConfigurationError:
            continue


def _same(expected: bytes, found: bytes) -> bool:
    """Whether two written signatures are one.

    Written forms are compared, for base64 and hex have several forms of one value; digests of them
    are, so that not even the length of a shared secret shows.
    """
    return hmac.compare_digest(hashlib.sha256(expected).digest(), hashlib.sha256(found).digest())


def _instant(timestamp: Timestamp, delivery: Delivery) -> float:
    """Seconds since 1970; nothing but plain digits, or ISO 8601 with a zone, is read."""
    text = delivery.read(timestamp.place)
    malformed = Closed("malformed", where_of(timestamp.place))
    if timestamp.unit == "iso8601":
        try:
            instant = datetime.fromisoformat(text.decode("ascii"))
        except ValueError:
            raise malformed from None
        if instant.tzinfo is None:
            raise malformed
        return instant.timestamp()
    if not _DIGITS.fullmatch(text):
        raise malformed
    return int(text) / 1000 if timestamp.unit == "ms" else float(int(text))


def _freshness(timestamp: Timestamp | None, instant: float | None, now: float) -> Outcome:
    if timestamp is None or instant is None:
        return "ok"
    if instant > now + timestamp.future:
        return "future"
    # Asked this way round, a comparison with NaN counts as stale.
    return "ok" if instant >= now - timestamp.past else "stale"


def _event_key(scheme: Scheme, delivery: Delivery) -> str | None:
    """The first id that can be read; None where there is none."""
    for place in scheme.event_id:
        try:
            key = delivery.read(place)
        except Closed:
            continue
        return _storable_key(key)
    return None


def _storable_key(key: bytes) -> str:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or len(key) > EVENT_KEY_LIMIT:
        return f"sha256:{hashlib.sha256(key).hexdigest()}"
    return text
