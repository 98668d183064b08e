"""What the doors answer: JSON, and refusals that say what happened and what to do.

Used by every endpoint.  Promises: an answer is never kept by what stands between; a refusal names
nothing that the caller did not send or may not know; an error of the database is told as an outage,
its own words go to the log alone.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tenure.base import clock, json
from tenure.base.errors import DatabaseError, TenureError

RETRY_AFTER = 5  # seconds

Answer = Callable[[Request, Exception], Awaitable[Response]]

_log = logging.getLogger("tenure.web")


class Refusal(TenureError):
    """An answer other than the one asked for, raised wherever it is found."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str,
        reason: str = "",
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the HTTP status beside message and hint.

        ``reason``: the word for it in the door's log; ``more`` are fields of the answer.
        """
        super().__init__(message, hint=hint)
        self.reason = reason
        self.status = status
        self.headers = headers
        self.more = more or {}


def not_found() -> Refusal:
    """The one answer for whatever is not here, so that it tells nothing about what is."""
    return Refusal(404, "nothing is here", hint="Check the address.")


def unavailable(message: str, *, reason: str = "") -> Refusal:
    """What was sent may be sent again as it is, after a few seconds."""
    return Refusal(
        503,
        message,
        hint="Send it again in a few seconds.",
        reason=reason,
        headers={"retry-after": str(RETRY_AFTER)},
    )


def reply(status: int, value: object, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(
        json.encode(value),
        status_code=status,
        headers={"cache-control": "no-store", **(headers or {})},
        media_type="application/json",
    )


class Sayings:
    """A log that says the same thing once a minute, however often it happens."""

    def __init__(self, every: float = 60.0) -> None:
        """``every`` so many seconds; nothing was said yet."""
        self._every = every
        self._said: dict[str, float] = {}

    def warn(self, cause: str, message: str) -> None:
        """Say it, unless this cause was told lately; causes are few: names, never what was sent."""
        now = clock.now()
        if now - self._said.get(cause, -self._every) >= self._every:
            self._said[cause] = now
            _log.warning("%s", message)


class Refusals:
    """Whatever an endpoint raises, as the answer that it stands for."""

    def __init__(self, sayings: Sayings) -> None:
        """``sayings`` takes what a stranger is not told."""
        self._sayings = sayings

    async def refused(self, _request: Request, error: Exception) -> Response:
        """A refusal, or a path and method that are not served."""
        if isinstance(error, HTTPException):
            error = _unserved(error)
        if not isinstance(error, Refusal):
            raise error
        return reply(
            error.status,
            {"error": error.message, "hint": error.hint, **error.more},
            error.headers,
        )

    async def outage(self, request: Request, error: Exception) -> Response:
        """The database cannot be used: the caller may come again, the log has the reason."""
        if not isinstance(error, DatabaseError):
            raise error
        self._sayings.warn("database", str(error))
        return await self.refused(request, unavailable("the database cannot be reached"))

    async def left(self, _request: Request, _error: Exception) -> Response:
        """The caller has gone before all was sent: nobody reads this answer."""
        return reply(400, {"error": "the request ended early", "hint": "Send all of it."})

    async def failed(self, request: Request, _error: Exception) -> Response:
        """A fault of this server; whoever raised it is told in the log, not here."""
        fault = Refusal(500, "the server failed", hint="Its log says why.")
        return await self.refused(request, fault)

    def handlers(self) -> dict[type[Exception], Answer]:
        """All of them, by what is raised."""
        return {
            Refusal: self.refused,
            HTTPException: self.refused,
            DatabaseError: self.outage,
            ClientDisconnect: self.left,
            Exception: self.failed,
        }


def _unserved(error: HTTPException) -> Refusal:
    if error.status_code == 405:
        return Refusal(
            405,
            "this address takes another method",
            hint="Check the method.",
            headers=error.headers,
        )
    return not_found()
