"""The dialect of Resend: what an automation can tell from the plain one.

Used by the profile of its name; shapes follow the provider's public documentation.
"""

# ruff: noqa: ARG002 - a dialect is asked with all that any provider's answer depends on

from __future__ import annotations

import uuid

from tenure.testing.emulators.dialect import Dialect, Made, tightest, whole
from tenure.testing.emulators.limits import Refusal, Standing
from tenure.testing.emulators.message import Answer, Head, Headers, json_answer
from tenure.testing.emulators.rules import KeyRule
from tenure.testing.emulators.store import Fields, Store


class Resend(Dialect):
    """E-mails with UUIDs; errors have a name; resets are seconds from now."""

    created = 200

    def judge(self, head: Head, fields: Fields) -> Answer | None:
        """An e-mail needs a sender and somebody to go to."""
        absent = [name for name in ("from", "to") if head.path == "/emails" and name not in fields]
        if not absent:
            return None
        return self._error(422, "missing_required_field", f"Missing `{absent[0]}` field.")

    def make(self, store: Store, head: Head, fields: Fields, n: int) -> Made:
        """The answer is the identity alone; a batch has one each."""
        if head.path != "/emails/batch":
            identity = self._email(store, fields, f"{n}")
            return Made(json_answer(200, {"id": identity}), identity)
        items = fields.get("items")
        emails = [it for it in items if isinstance(it, dict)] if isinstance(items, list) else []
        identities = [self._email(store, it, f"{n}/{i}") for i, it in enumerate(emails)]
        body = {"data": [{"id": identity} for identity in identities]}
        return Made(json_answer(200, body), f"batch_{n}")

    def _email(self, store: Store, fields: Fields, seed: str) -> str:
        identity = str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:emulated-email:{seed}"))
        email = {**fields, "id": identity, "object": "email", "last_event": "delivered"}
        store.put(f"/emails/{identity}", email)
        return identity

    def listing(self, objects: list[Fields]) -> object:
        """A list under ``data``."""
        return {"object": "list", "data": objects}

    def failure(self, status: int, message: str) -> Answer:
        """An error by name."""
        names = {404: "not_found"}
        name = "application_error" if status >= 500 else names.get(status, "validation_error")
        return self._error(status, name, message)

    def throttle(self, refusal: Refusal, wall: float) -> Answer:
        """429 with Retry-After; ``rate_limit_exceeded``, of a day ``daily_quota_exceeded``."""
        name = "daily_quota_exceeded" if refusal.lasts_a_day else "rate_limit_exceeded"
        answer = self._error(429, name, "Too many requests.")
        return answer.with_headers((("retry-after", whole(refusal.wait or 1.0)),))

    def standing(self, standings: tuple[Standing, ...], wall: float) -> Headers:
        """``ratelimit-*`` with the reset in seconds from now."""
        nearest = tightest(standings)
        if nearest is None:
            return ()
        return (
            ("ratelimit-limit", str(nearest.limit.units)),
            ("ratelimit-remaining", str(nearest.remaining)),
            ("ratelimit-reset", whole(nearest.reset)),
        )

    def mismatch(self, rule: KeyRule) -> Answer:
        """409 ``invalid_idempotent_request``."""
        message = "This key was used with another payload."
        return self._error(rule.mismatch, "invalid_idempotent_request", message)

    def in_flight(self, rule: KeyRule) -> Answer:
        """409 ``concurrent_idempotent_requests``."""
        message = "Another request with this key is in progress."
        return self._error(rule.in_flight, "concurrent_idempotent_requests", message)

    def invalid_key(self, rule: KeyRule) -> Answer:
        """400 ``invalid_idempotency_key``."""
        message = f"A key has 1 to {rule.max_length} characters."
        return self._error(400, "invalid_idempotency_key", message)

    def _error(self, status: int, name: str, message: str) -> Answer:
        return json_answer(status, {"statusCode": status, "name": name, "message": message})
