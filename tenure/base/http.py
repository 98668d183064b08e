"""A request as it will leave and an answer as it came: values, bytes kept exactly.

Made by the author's calls, recorded by the store, sent by the carriers.  Credentials, signatures
and telemetry headers are never part of a ``Request``: the carrier adds them when it sends.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tenure.base import json


class Request(msgspec.Struct, frozen=True):
    """What is recorded before it is sent, and sent again unchanged: method, URL, headers, body."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Response(msgspec.Struct, frozen=True):
    """A provider's answer; ``elapsed`` is seconds from the first byte out to the last byte in."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    elapsed: float = 0.0

    def header(self, name: str) -> str | None:
        """The first value of a header, found without regard to case; None where it is absent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    def text(self) -> str:
        """The body as UTF-8 text, with a mark where bytes are not."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:  # noqa: ANN401 - authors index what a provider sent, as in httpx2
        """The body decoded as JSON; raises ``InvalidInput`` where it is not JSON."""
        return json.decode(self.body)

    @property
    def ok(self) -> bool:
        """Whether the status is a 2xx."""
        return 200 <= self.status < 300
