"""A delivery as it was received, read part by part as a scheme says where the parts stand.

Read by verification and, for deliveries of our own making, by signing.  Promises: every reading
gives bytes or ends as ``Closed`` with one outcome of the closed list; what could be read in two
ways (a header twice, a field twice, an id that runs on into the next part) is malformed, not
guessed; nothing is read beyond the limits.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from tenure.base import json
from tenure.base.errors import InvalidInput
from tenure.base.schemes import (
    InBody,
    InField,
    InHeader,
    Method,
    Part,
    RawBody,
    Signature,
    Text,
    Url,
)

Outcome = Literal[
    "ok",
    "missing_header",
    "malformed",
    "bad_signature",
    "stale",
    "future",
    "no_secret",
    "unsupported_alg",
    "too_large",
]
Headers = Sequence[tuple[bytes, bytes]]
Item = tuple[bytes, bytes]

HEADER_LIMIT = 8_192
SIGNATURE_LIMIT = 128

_READABLE = re.compile(rb"[\x20-\x7e]+")


class Closed(Exception):
    """The way out of a reading: the outcome, and the header, field or path it was found at."""

    def __init__(self, outcome: Outcome, where: str) -> None:
        """Keep both; ``where`` comes from the scheme, never from the delivery."""
        super().__init__(outcome)
        self.outcome: Outcome = outcome
        self.where = where


class Delivery:
    """Headers, body, method and configured address; ``items`` are those of the signature."""

    def __init__(
        self,
        signature: Signature,
        *,
        headers: Headers,
        body: bytes,
        method: str,
        url: str,
        items: Sequence[Item] | None = None,
    ) -> None:
        """``items`` given, nothing is looked for where the signature stands."""
        self.signature = signature
        self.headers = headers
        self.body = body
        self.method = method
        self.url = url
        self._items = items

    def read(self, part: Part) -> bytes:
        """The bytes of one part, wherever it stands."""
        match part:
            case Text(text):
                return _bytes(text)
            case InHeader(name):
                return self.header(name)
            case InField(name):
                return self.field(name)
            case InBody(path):
                return self.value(path)
            case RawBody():
                return self.body
            case Method():
                return _bytes(self.method)
            case Url():
                return _bytes(self.url)

    def header(self, name: str) -> bytes:
        """The value of a header that is there once, in printable ASCII."""
        wanted = _bytes(name.lower())
        values = [value for key, value in self.headers if key.lower() == wanted]
        if not values:
            raise Closed("missing_header", name)
        if any(len(value) > HEADER_LIMIT for value in values):
            raise Closed("too_large", name)
        if len(values) > 1 or not _READABLE.fullmatch(values[0]):
            raise Closed("malformed", name)
        return values[0]

    def field(self, name: str) -> bytes:
        """The value of a field that the signature has once."""
        values = [value for key, value in self.items() if key == _bytes(name)]
        if len(values) != 1 or not values[0]:
            raise Closed("malformed", name)
        return values[0]

    def value(self, path: str) -> bytes:
        """The text or whole number at a path of the body."""
        found = self._decoded
        for segment in path.split("."):
            found = found.get(segment) if isinstance(found, dict) else None
        if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
            raise Closed("malformed", path)
        return _bytes(str(found))

    def candidates(self) -> list[bytes]:
        """The signatures of the scheme's kind, as they are written: at least one, not too many."""
        wanted, where = _bytes(self.signature.name), where_of(self.signature.places[0])
        values = [value for name, value in self.items() if name == wanted and value]
        if not values:
            raise Closed("malformed", where)
        if len(values) > SIGNATURE_LIMIT:
            raise Closed("too_large", where)
        return values

    def items(self) -> Sequence[Item]:
        """Names and values of all that stands where the signature does."""
        if self._items is None:
            self._items = [item for text in self._signatures() for item in self._split(text)]
        return self._items

    @functools.cached_property
    def _decoded(self) -> object:
        """The body as plain values; None where it is no JSON that can be read."""
        try:
            return json.decode(self.body)
        except InvalidInput:
            return None

    def _signatures(self) -> list[bytes]:
        """One text for each place of the family that is there."""
        texts, absent = [], None
        for place in self.signature.places:
            try:
                texts.append(self.read(place))
            except Closed as closed:
                if closed.outcome != "missing_header":
                    raise
                absent = absent or closed
        if absent is not None and not texts:
            raise absent
        return texts

    def _split(self, text: bytes) -> Iterable[Item]:
        separator, joint = _bytes(self.signature.separator), _bytes(self.signature.joint)
        for item in text.split(separator) if separator else (text,):
            name, found, value = item.partition(joint) if joint else (b"", b"-", item)
            if found:
                yield name, value


def signed_text(parts: Sequence[Part], delivery: Delivery) -> bytes:
    """The parts put together.

    A header or field may not hold the text that ends it, or two deliveries that differ in where
    one part ends and the next begins would share one signature.
    """
    texts = [delivery.read(part) for part in parts]
    for part, text, after in zip(parts, texts, parts[1:], strict=False):
        bounded = isinstance(part, InHeader | InField) and isinstance(after, Text)
        if bounded and delivery.read(after) in text:
            raise Closed("malformed", where_of(part))
    return b"".join(texts)


def where_of(place: Part) -> str:
    """The name or path of a place, for people."""
    match place:
        case InHeader(name) | InField(name):
            return name
        case InBody(path):
            return path
    return ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
