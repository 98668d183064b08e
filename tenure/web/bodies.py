"""Bodies of requests, read with a bound on their length, on the time, and on all of them together.

Used by every endpoint that takes one.  Promises: not a byte more than the limit is kept, whatever
the length that was announced; a sender who never ends is not waited for; many large bodies at once
are put off, not held in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from tenure.web.refusals import Refusal, unavailable

PATIENCE = 60.0  # seconds for a whole body
_TOGETHER = 256_000_000  # bytes
# What is left unread would be taken for the next request.
_CLOSE = {"connection": "close"}


class Bodies:
    """All bodies that this server holds at the moment."""

    def __init__(self, *, patience: float = PATIENCE, together: int = _TOGETHER) -> None:
        """Seconds for one body, bytes for all at once."""
        self._patience = patience
        self._together = together
        self._held = 0

    @asynccontextmanager
    async def of(self, request: Request, limit: int) -> AsyncIterator[bytes]:
        """The request's body, held for as long as the block; raises ``Refusal`` beyond a bound."""
        _announced(request, limit)
        body = bytearray()
        try:
            try:
                async with asyncio.timeout(self._patience):
                    await self._read(request, limit, body)
            except TimeoutError:
                raise Refusal(
                    408,
                    f"the body did not come to an end ({self._patience:g} s)",
                    hint="Send it again.",
                    reason="too_slow",
                    headers=_CLOSE,
                ) from None
            yield bytes(body)
        finally:
            self._held -= len(body)

    async def _read(self, request: Request, limit: int, body: bytearray) -> None:
        async for chunk in request.stream():
            body += chunk
            self._held += len(chunk)
            if len(body) > limit:
                raise _too_large(limit)
            if self._held > max(self._together, 2 * limit):
                raise unavailable("too much is being sent at once", reason="too_much_at_once")


def _announced(request: Request, limit: int) -> None:
    """Refuse by the announced length, before a byte of it is read."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > limit):
        raise _too_large(limit)


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413,
        f"the body is too large: at most {limit} bytes are taken here",
        hint="Send less, or raise the limit in the server's settings.",
        reason="too_large",
        headers=_CLOSE,
    )
