"""The dialect of GitHub's REST API: what an automation can tell from the plain one.

Used by the profile of its name; shapes follow the provider's public documentation.
"""

# ruff: noqa: ARG002 - a dialect is asked with all that any provider's answer depends on

from __future__ import annotations

from tenure.testing.emulators.dialect import Dialect, whole
from tenure.testing.emulators.limits import Refusal, Standing
from tenure.testing.emulators.message import Answer, Headers, json_answer
from tenure.testing.emulators.store import Fields


class GitHub(Dialect):
    """403 for every limit: remaining 0 and a reset for the hour's, Retry-After for the others."""

    root = 3

    def shape(self, collection: str, fields: Fields, n: int) -> tuple[str, Fields]:
        """A number."""
        return str(n), {**fields, "id": n, "number": n}

    def listing(self, objects: list[Fields]) -> object:
        """A bare array."""
        return objects

    def failure(self, status: int, message: str) -> Answer:
        """A message and where to read on."""
        url = "https://docs.github.com/rest"
        return json_answer(status, {"message": message, "documentation_url": url})

    def throttle(self, refusal: Refusal, wall: float) -> Answer:
        """The hourly limit is told by its headers alone, the secondary ones by Retry-After."""
        if refusal.limit is not None and refusal.limit.name == "core":
            return self.failure(403, "API rate limit exceeded for user ID 1.")
        answer = self.failure(403, "You have exceeded a secondary rate limit.")
        return answer.with_headers((("retry-after", whole(refusal.wait or 60.0)),))

    def standing(self, standings: tuple[Standing, ...], wall: float) -> Headers:
        """``x-ratelimit-*`` of the hourly limit, the reset in epoch seconds."""
        for standing in standings:
            if standing.limit.name == "core":
                units = standing.limit.units
                return (
                    ("x-ratelimit-limit", str(units)),
                    ("x-ratelimit-remaining", str(standing.remaining)),
                    ("x-ratelimit-used", str(units - standing.remaining)),
                    ("x-ratelimit-reset", str(int(wall + standing.reset) + 1)),
                    ("x-ratelimit-resource", "core"),
                )
        return ()
