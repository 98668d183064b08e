"""A clock moved by hand, a plain client, and a few requests at once."""

from __future__ import annotations

import ssl
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

import httpx2

# No request here is encrypted, and loading the system's certificates takes a while.
_UNUSED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def plain_client() -> httpx2.Client:
    """A client that follows nothing, retries nothing and gives up after ten seconds."""
    return httpx2.Client(timeout=10.0, trust_env=False, verify=_UNUSED)


class Hand:
    """A clock that stands at ``at`` seconds until a test says otherwise."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        """What the clock says."""
        return self.at


class Crowd:
    """Requests sent at the same time, no two of them over one connection."""

    def __init__(self, size: int) -> None:
        self._pool = ThreadPoolExecutor(size)
        self._client = plain_client()

    def post(
        self, url: str, *, key: str | None = None, json: object = None
    ) -> Future[httpx2.Response]:
        """Send one now; the future has its answer or what went wrong."""
        headers = {"Idempotency-Key": key} if key else {}
        return self._pool.submit(self._client.post, url, headers=headers, json=json)

    def __enter__(self) -> Self:
        """The crowd."""
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for all of them."""
        self._pool.shutdown()
        self._client.close()
