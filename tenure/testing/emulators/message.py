"""What travels on an emulator's wire: the head of a request, an answer, nothing else.

Made by the wire, judged by limits, keys and faults, answered by dialects.  Header names are kept
in lower case and in the order in which they came.
"""

from __future__ import annotations

import hashlib

import msgspec

from tenure.base import json

Headers = tuple[tuple[str, str], ...]

UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})

# A ledger is readable over HTTP and is printed by failing tests, so credentials stay out of it.
_CREDENTIALS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})


class Head(msgspec.Struct, frozen=True):
    """A request's first lines and ``at``, the emulator's clock when the last of them was here."""

    method: str
    path: str
    query: str = ""
    headers: Headers = ()
    at: float = 0.0

    def header(self, name: str) -> str | None:
        """The first value of a header, found without regard to case; None where it is absent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)

    @property
    def unsafe(self) -> bool:
        """Whether the method may change something."""
        return self.method in UNSAFE

    @property
    def account(self) -> str:
        """Whose request this is: the fingerprint of its credential, empty where it has none."""
        return fingerprint(self.header("authorization") or "")


class Answer(msgspec.Struct, frozen=True):
    """A status, headers and a body as they will be written; the wire adds length and date."""

    status: int
    headers: Headers = ()
    body: bytes = b""

    def with_headers(self, headers: Headers) -> Answer:
        """The same answer with more headers behind its own."""
        return Answer(self.status, self.headers + headers, self.body) if headers else self


def json_answer(status: int, value: object, headers: Headers = ()) -> Answer:
    """An answer whose body is the value as JSON."""
    return Answer(status, (("content-type", "application/json"), *headers), json.encode(value))


def fingerprint(credential: str) -> str:
    """A credential's scheme and the start of its SHA-256: comparable, and worth nothing to a thief.

    Empty for an empty credential.
    """
    if not credential:
        return ""
    scheme, _, secret = credential.rpartition(" ")
    digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{scheme} sha256:{digest}".strip()


def without_credentials(headers: Headers) -> Headers:
    """The headers with every credential replaced by its fingerprint."""
    return tuple(
        (name, fingerprint(value) if name in _CREDENTIALS else value) for name, value in headers
    )
