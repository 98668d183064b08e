"""The dialect of HubSpot's CRM objects: what an automation can tell from the plain one.

Used by the profile of its name; shapes follow the provider's public documentation.
"""

# ruff: noqa: ARG002 - a dialect is asked with all that any provider's answer depends on

from __future__ import annotations

from tenure.testing.emulators.dialect import Dialect
from tenure.testing.emulators.limits import Refusal, Standing
from tenure.testing.emulators.message import Answer, Headers, json_answer
from tenure.testing.emulators.store import Fields

_DAY = 86_400.0


class HubSpot(Dialect):
    """Objects with ``properties``; a throttle names its policy and gives no wait."""

    root = 3

    def shape(self, collection: str, fields: Fields, n: int) -> tuple[str, Fields]:
        """A numeric identity beside the properties."""
        identity = str(n)
        properties = fields.get("properties", {})
        return identity, {"id": identity, "properties": properties, "archived": False}

    def failure(self, status: int, message: str) -> Answer:
        """``status: error`` with a category."""
        category = "VALIDATION_ERROR" if status < 500 else "INTERNAL_ERROR"
        category = "OBJECT_NOT_FOUND" if status == 404 else category
        return json_answer(status, {"status": "error", "message": message, "category": category})

    def throttle(self, refusal: Refusal, wall: float) -> Answer:
        """429 whose ``policyName`` is that of the ten seconds or that of the day."""
        policy = "DAILY" if refusal.lasts_a_day else "TEN_SECONDLY_ROLLING"
        message = f"You have reached your {policy.lower()} limit."
        error = {"status": "error", "message": message, "errorType": "RATE_LIMIT"}
        return json_answer(429, error | {"policyName": policy})

    def standing(self, standings: tuple[Standing, ...], wall: float) -> Headers:
        """``X-HubSpot-RateLimit-*``, those of the day under names of their own."""
        headers: list[tuple[str, str]] = []
        for standing in standings:
            per = standing.limit.per
            if per is None:
                continue
            if per >= _DAY:
                headers.append(("x-hubspot-ratelimit-daily", str(standing.limit.units)))
                headers.append(("x-hubspot-ratelimit-daily-remaining", str(standing.remaining)))
                continue
            headers.append(("x-hubspot-ratelimit-max", str(standing.limit.units)))
            headers.append(("x-hubspot-ratelimit-remaining", str(standing.remaining)))
            headers.append(("x-hubspot-ratelimit-interval-milliseconds", str(int(per * 1000))))
        return tuple(headers)
