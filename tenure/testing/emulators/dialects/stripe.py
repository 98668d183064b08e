"""The dialect of Stripe, API v1: what an automation can tell from the plain one.

Used by the profile of its name; shapes follow the provider's public documentation.
"""

# ruff: noqa: ARG002 - a dialect is asked with all that any provider's answer depends on

from __future__ import annotations

from tenure.testing.emulators.dialect import Dialect, Made
from tenure.testing.emulators.limits import Refusal, Standing
from tenure.testing.emulators.message import Answer, Head, Headers, json_answer
from tenure.testing.emulators.rules import KeyRule
from tenure.testing.emulators.store import Fields, Store

_PREFIXES = {
    "charges": "ch",
    "customers": "cus",
    "refunds": "re",
    "payment_intents": "pi",
    "invoices": "in",
    "subscriptions": "sub",
}


class Stripe(Dialect):
    """Form-encoded in, JSON out; throttles without any wait hint; errors have a type and a code."""

    root = 1
    created = 200

    def shape(self, collection: str, fields: Fields, n: int) -> tuple[str, Fields]:
        """``ch_1`` of object ``charge``, livemode off."""
        prefix = _PREFIXES.get(collection, collection[:3])
        identity = f"{prefix}_{n}"
        kind = collection.removesuffix("s")
        return identity, {**fields, "id": identity, "object": kind, "livemode": False}

    def removed(self, store: Store, head: Head) -> Made:
        """200 with the identity and ``deleted``."""
        made = super().removed(store, head)
        if made.effect_id is None:
            return made
        return Made(json_answer(200, {"id": made.effect_id, "deleted": True}), made.effect_id)

    def listing(self, objects: list[Fields]) -> object:
        """An object of kind ``list``."""
        return {"object": "list", "data": objects, "has_more": False}

    def failure(self, status: int, message: str) -> Answer:
        """``invalid_request_error`` below 500, ``card_error`` for 402, ``api_error`` above."""
        kinds = {402: "card_error"}
        kind = "api_error" if status >= 500 else kinds.get(status, "invalid_request_error")
        return self._error(status, kind, None, message)

    def throttle(self, refusal: Refusal, wall: float) -> Answer:
        """429, code ``rate_limit``, and no word on how long."""
        answer = self._error(429, "invalid_request_error", "rate_limit", "Too many requests.")
        return answer.with_headers((("stripe-should-retry", "true"),))

    def standing(self, standings: tuple[Standing, ...], wall: float) -> Headers:
        """Nothing: no budget headers are documented."""
        return ()

    def mismatch(self, rule: KeyRule) -> Answer:
        """``idempotency_error``."""
        message = "This key was first used with other parameters."
        return self._error(rule.mismatch, "idempotency_error", None, message)

    def in_flight(self, rule: KeyRule) -> Answer:
        """409, code ``idempotency_key_in_use``."""
        message = "Another request with this key is in progress."
        code = "idempotency_key_in_use"
        return self._error(rule.in_flight, "invalid_request_error", code, message)

    def _error(self, status: int, kind: str, code: str | None, message: str) -> Answer:
        error = {"type": kind, "message": message} | ({"code": code} if code else {})
        return json_answer(status, {"error": error})
