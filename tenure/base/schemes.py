"""How senders sign what they deliver: each scheme is a value, and a new one is data, not code.

Declared by sources and kept as JSON beside them; read by ``tenure.base.verification``, which knows
no sender by name.  A scheme promises to say everything that verification needs: the algorithm, how
the key is written, where the signature stands, what was signed, which instant it names and how old
that may be, and where the event's own id is found.

Scheme
├── algorithm    what makes the signature from key and signed text
├── key          how a secret's text becomes key bytes
├── signature    the headers or body paths that carry it, and how an item is written there
├── signed       the parts whose bytes, put together, were signed
├── timestamp    where the instant stands, its unit, how far it may lie in the past or future
└── event_id     where to look for the event's id, in order
"""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import msgspec

from tenure.base.errors import ConfigurationError, UnknownName

Algorithm = Literal[
    "hmac-sha1",
    "hmac-sha256",
    "hmac-sha512",
    "sha256-concat",
    "shared",
    "ed25519",
    "ecdsa-p256-sha256",
    "rsa-sha256",
]
Encoding = Literal["hex", "base64", "plain"]
Grade = Literal["A", "B", "C"]


class InHeader(msgspec.Struct, frozen=True, tag="header"):
    """A request header's value; the name is found without regard to case."""

    name: str


class InField(msgspec.Struct, frozen=True, tag="field"):
    """A named item of the signature itself, such as ``t`` in ``t=1,v1=ab``."""

    name: str


class InBody(msgspec.Struct, frozen=True, tag="body"):
    """A text or whole number in a JSON body; the path's segments are parted by dots."""

    path: str


class Text(msgspec.Struct, frozen=True, tag="text"):
    """The same text in every delivery."""

    text: str


class RawBody(msgspec.Struct, frozen=True, tag="raw_body"):
    """The body, byte for byte as it was received."""


class Method(msgspec.Struct, frozen=True, tag="method"):
    """The request's method."""


class Url(msgspec.Struct, frozen=True, tag="url"):
    """The source's configured public address, never one taken from the request."""


Place = InHeader | InField | InBody
Part = Text | InHeader | InField | InBody | RawBody | Method | Url


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """How a secret's text becomes key bytes, and how many bytes there may be."""

    encoding: Literal["utf8", "base64", "hex"] = "utf8"
    prefix: str = ""
    least: int = 1
    most: int | None = None

    def decode(self, text: str) -> bytes:
        """The key's bytes; raises ``ConfigurationError``, which never quotes the secret."""
        written = text.removeprefix(self.prefix)
        try:
            key = _decoded(written, self.encoding)
        except ValueError:  # the cause would quote the secret
            raise ConfigurationError(
                f"the secret is not written as {self.encoding}: no key can be made of it",
                hint="Copy it again as the sender shows it, with nothing before or behind it.",
            ) from None
        if len(key) < self.least or (self.most is not None and len(key) > self.most):
            bounds = f"{self.least} to {self.most}" if self.most else f"at least {self.least}"
            raise ConfigurationError(
                f"the secret has {len(key)} bytes: this scheme takes {bounds}",
                hint="Check that the whole secret was copied, and that it belongs to this scheme.",
            )
        return key


def _decoded(text: str, encoding: str) -> bytes:
    if encoding == "base64":
        return base64.b64decode(text, validate=True)
    return binascii.unhexlify(text) if encoding == "hex" else text.encode()


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """Where signatures stand and how each item is written: ``name`` ``joint`` ``value``.

    Several places make a family: any that is present may carry a signature.  An empty
    ``separator`` means one item a place, an empty ``joint`` an item without a name.
    """

    places: tuple[InHeader | InBody, ...]
    encoding: Encoding = "hex"
    separator: str = ""
    joint: str = ""
    name: str = ""


class Timestamp(msgspec.Struct, frozen=True, kw_only=True):
    """The instant a delivery names, and how many seconds it may lie in the past and future."""

    place: Place
    unit: Literal["s", "ms", "iso8601"] = "s"
    past: float = 300.0
    future: float = 60.0


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """One way of signing, complete: nothing else about the sender needs to be known."""

    name: str
    algorithm: Algorithm = "hmac-sha256"
    key: Key = Key()
    signature: Signature
    signed: tuple[Part, ...] = (RawBody(),)
    timestamp: Timestamp | None = None
    event_id: tuple[Place, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a scheme under which nothing could be verified, or anything would be."""
        lacking = [
            what
            for what, missing in (
                ("a place for its signature", not self.signature.places),
                ("a joint for its items' name", self.signature.name and not self.signature.joint),
                ("anything that is signed", self.algorithm != "shared" and not self.signed),
            )
            if missing
        ]
        if lacking:
            raise ConfigurationError(
                f"the scheme lacks {' and '.join(lacking)} ({self.name}): it cannot verify",
                hint="Compare it with the sender's own description of its signatures.",
            )

    @property
    def grade(self) -> Grade:
        """A: body and a fresh instant are signed.  B: the body is.  C: a shared secret, no more."""
        if self.algorithm == "shared" or RawBody() not in self.signed:
            return "C"
        if self.timestamp is None:
            return "B"
        signed = isinstance(self.timestamp.place, InBody) or self.timestamp.place in self.signed
        return "A" if signed else "B"


_SCHEMES = (
    # Standard Webhooks 1.0.0, symmetric: id.timestamp.body, minutes of tolerance on both sides.
    Scheme(
        name="standard-webhooks",
        key=Key(encoding="base64", prefix="whsec_", least=24, most=64),
        signature=Signature(
            places=(InHeader("webhook-signature"),),
            encoding="base64",
            separator=" ",
            joint=",",
            name="v1",
        ),
        signed=(
            InHeader("webhook-id"),
            Text("."),
            InHeader("webhook-timestamp"),
            Text("."),
            RawBody(),
        ),
        timestamp=Timestamp(place=InHeader("webhook-timestamp"), past=300.0, future=300.0),
        event_id=(InHeader("webhook-id"),),
    ),
    # Stripe: the secret is used as it is written, whsec_ and all; v0 is for test events only.
    Scheme(
        name="stripe",
        signature=Signature(
            places=(InHeader("stripe-signature"),), separator=",", joint="=", name="v1"
        ),
        signed=(InField("t"), Text("."), RawBody()),
        timestamp=Timestamp(place=InField("t")),
        event_id=(InBody("id"),),
    ),
    # GitHub names no instant; the delivery id stays the same when a delivery is sent again.
    Scheme(
        name="github",
        signature=Signature(places=(InHeader("x-hub-signature-256"),), joint="=", name="sha256"),
        event_id=(InHeader("x-github-delivery"),),
    ),
    # What many small senders do; ``msgspec.structs.replace`` fits it to their header.
    Scheme(name="hmac-sha256", signature=Signature(places=(InHeader("x-signature"),))),
)

PRESETS: dict[str, Scheme] = {scheme.name: scheme for scheme in _SCHEMES}


def preset(name: str) -> Scheme:
    """The scheme of that name; raises ``UnknownName`` with the nearest one."""
    try:
        return PRESETS[name]
    except KeyError:
        raise UnknownName.of("scheme", name, PRESETS) from None
