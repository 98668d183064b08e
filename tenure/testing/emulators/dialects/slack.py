"""The dialect of Slack's Web API: what an automation can tell from the plain one.

Used by the profile of its name; shapes follow the provider's public documentation, but for the body
of a throttle, which is not documented.
"""

# ruff: noqa: ARG002 - a dialect is asked with all that any provider's answer depends on

from __future__ import annotations

from tenure.testing.emulators.dialect import Dialect, Made, whole
from tenure.testing.emulators.limits import Refusal, Standing
from tenure.testing.emulators.message import Answer, Head, Headers, json_answer
from tenure.testing.emulators.store import Fields, Store


class Slack(Dialect):
    """Methods instead of objects, ``ok`` in every body; a throttle may hide in a 200.

    ``quiet`` answers throttles as 200 with ``ok: false``, which some of its doors do.
    """

    root = 1
    _READING = (".list", ".info", ".history", ".replies", ".test", ".members")

    def __init__(self, *, quiet: bool = False) -> None:
        """Choose whether throttles say 429."""
        super().__init__(throttle_status=200 if quiet else 429)

    def reads(self, head: Head) -> bool:
        """Methods whose verb asks."""
        return head.path.endswith(self._READING)

    def judge(self, head: Head, fields: Fields) -> Answer | None:
        """A message needs a channel."""
        if head.path.endswith("chat.postMessage") and not fields.get("channel"):
            return self._refused(200, "channel_not_found")
        return None

    def make(self, store: Store, head: Head, fields: Fields, n: int) -> Made:
        """A message gets its ``ts``; every other method just succeeds."""
        if not head.path.endswith("chat.postMessage"):
            return Made(json_answer(200, {"ok": True}), f"{head.path.rpartition('/')[2]}_{n}")
        stamp = f"1700000000.{n:06d}"
        message = {**fields, "ts": stamp, "type": "message"}
        store.put(f"/messages/{stamp}", message)
        body = {"ok": True, "channel": fields["channel"], "ts": stamp, "message": message}
        return Made(json_answer(200, body), stamp)

    def found(self, store: Store, head: Head) -> Answer:
        """The messages there are, to whichever question."""
        return json_answer(200, {"ok": True, "messages": store.below("/messages")})

    def failure(self, status: int, message: str) -> Answer:
        """``ok: false``."""
        return self._refused(status, "internal_error" if status >= 500 else "invalid_arguments")

    def throttle(self, refusal: Refusal, wall: float) -> Answer:
        """429 with Retry-After, or, being quiet, 200; both ``ratelimited``."""
        answer = self._refused(self.throttle_status, "ratelimited")
        if self.throttle_status == 200:
            return answer
        return answer.with_headers((("retry-after", whole(refusal.wait or 1.0)),))

    def standing(self, standings: tuple[Standing, ...], wall: float) -> Headers:
        """Nothing: there are no budget headers."""
        return ()

    def _refused(self, status: int, error: str) -> Answer:
        return json_answer(status, {"ok": False, "error": error})
