"""How a provider words its answers, and the plain one that means no provider in particular.

One ``Dialect`` belongs to a profile; the service asks it for every answer.  ``perform`` keeps the
objects of a REST interface: POST on a collection makes one, GET finds it, PUT and PATCH change it,
DELETE takes it away.  Dialects of real providers override only what they word otherwise.
"""

# ruff: noqa: ARG002 - a dialect is asked with all that any provider's answer depends on

from __future__ import annotations

import math
from email.utils import formatdate
from typing import Literal
from urllib.parse import parse_qsl

import msgspec

from tenure.base import json
from tenure.base.errors import InvalidInput
from tenure.testing.emulators.limits import Refusal, Standing
from tenure.testing.emulators.message import Answer, Head, Headers, json_answer
from tenure.testing.emulators.rules import KeyRule
from tenure.testing.emulators.store import Fields, Store

Hint = Literal["seconds", "decimal", "milliseconds", "date", "reset", "body", "none"]


class Made(msgspec.Struct, frozen=True):
    """An answer, and the identity of what changed; None where nothing did."""

    answer: Answer
    effect_id: str | None = None


class Dialect:
    """The plain dialect: JSON both ways, 429 with a hint, ``X-RateLimit-*`` on every answer.

    ``hint`` is the form of the wait in a throttle: ``Retry-After`` in whole ``seconds``, in
    ``decimal`` ones or as a ``date``, ``retry-after-ms`` in ``milliseconds``, ``X-RateLimit-Reset``
    as epoch seconds (``reset``), ``retry_after`` in the ``body``, or ``none``.
    """

    root = 0  # how many segments of a path stand before the first collection
    created = 201

    def __init__(self, *, hint: Hint = "seconds", throttle_status: int = 429) -> None:
        """Choose the form of throttles."""
        self.hint = hint
        self.throttle_status = throttle_status

    def perform(self, store: Store, head: Head, body: bytes, n: int) -> Made:
        """Do what the request asks; ``n`` numbers the effect, if it becomes one."""
        if not head.unsafe or self.reads(head):
            return Made(self.found(store, head))
        fields = self.read(head, body)
        refusal = fields if isinstance(fields, Answer) else self.judge(head, fields)
        if refusal is not None or isinstance(fields, Answer):
            return Made(refusal or self.failure(400, "unreadable"))
        if head.method == "DELETE":
            return self.removed(store, head)
        known = store.get(head.path) is not None
        if head.method == "POST" and not known:
            return self.make(store, head, fields, n)
        return self.change(store, head, fields)

    def reads(self, head: Head) -> bool:
        """Whether an unsafe method is a mere question here, as POST to a search is."""
        return head.method == "POST" and head.path.endswith("/search")

    def read(self, head: Head, body: bytes) -> Fields | Answer:
        """The fields of a body, or the answer to one that cannot be read."""
        kind = head.header("content-type") or ""
        if kind.startswith("application/x-www-form-urlencoded"):
            return nested(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        if "json" not in kind or not body:
            return {}
        try:
            value = json.decode(body)
        except InvalidInput as error:
            return self.failure(400, str(error.message))
        return value if isinstance(value, dict) else {"items": value}

    def judge(self, head: Head, fields: Fields) -> Answer | None:
        """The answer to fields that the provider refuses; None where it takes them."""
        return None

    def make(self, store: Store, head: Head, fields: Fields, n: int) -> Made:
        """Make an object in the collection that the path names."""
        collection = head.path.rstrip("/").rpartition("/")[2]
        identity, made = self.shape(collection, fields, n)
        store.put(f"{head.path.rstrip('/')}/{identity}", made)
        return Made(json_answer(self.created, made), identity)

    def shape(self, collection: str, fields: Fields, n: int) -> tuple[str, Fields]:
        """A new object's identity and how it looks."""
        identity = f"{singular(collection)}_{n}"
        return identity, {**fields, "id": identity}

    def change(self, store: Store, head: Head, fields: Fields) -> Made:
        """Change the object at the path; one that nobody made is taken to have been there."""
        if store.deleted(head.path):
            return Made(self.missing(head))
        identity = head.path.rpartition("/")[2]
        before = {} if head.method == "PUT" else store.get(head.path) or {}
        after = {**before, **fields}
        after.setdefault("id", identity)
        store.put(head.path, after)
        return Made(json_answer(200, after), identity)

    def removed(self, store: Store, head: Head) -> Made:
        """Take the object at the path away."""
        if not store.delete(head.path):
            return Made(self.missing(head))
        return Made(Answer(204), head.path.rpartition("/")[2])

    def found(self, store: Store, head: Head) -> Answer:
        """The object or the collection at the path."""
        path = head.path.removesuffix("/search")
        one = store.get(path)
        if one is not None:
            return json_answer(200, one)
        objects = store.below(path)
        segments = len([part for part in path.split("/") if part])
        if not objects and (store.deleted(path) or (segments - self.root) % 2 == 0):
            return self.missing(head)
        wanted = parse_qsl(head.query)
        return json_answer(200, self.listing([it for it in objects if _fits(it, wanted)]))

    def listing(self, objects: list[Fields]) -> object:
        """How several objects look together."""
        return {"results": objects}

    def missing(self, head: Head) -> Answer:
        """The answer where nothing is at the path."""
        return self.failure(404, f"nothing at {head.path}")

    def failure(self, status: int, message: str) -> Answer:
        """An error in the provider's form."""
        return json_answer(status, {"error": message})

    def throttle(self, refusal: Refusal, wall: float) -> Answer:
        """The answer to a request beyond the limit; ``wall`` is the provider's epoch time."""
        wait = 1.0 if refusal.wait is None else refusal.wait
        body: dict[str, object] = {"error": "rate_limited"}
        if self.hint == "body":
            body["retry_after"] = round(wait, 3)
        return json_answer(self.throttle_status, body, self._hints(wait, wall))

    def _hints(self, wait: float, wall: float) -> Headers:
        forms: dict[str, tuple[str, str]] = {
            "seconds": ("retry-after", whole(wait)),
            "decimal": ("retry-after", f"{wait:.3f}"),
            "milliseconds": ("retry-after-ms", str(math.ceil(wait * 1000))),
            "date": ("retry-after", formatdate(math.ceil(wall + wait), usegmt=True)),
            "reset": ("x-ratelimit-reset", str(math.ceil(wall + wait))),
        }
        return (forms[self.hint],) if self.hint in forms else ()

    def standing(self, standings: tuple[Standing, ...], wall: float) -> Headers:
        """The headers, on every answer, that tell how much is left of which limit."""
        nearest = tightest(standings)
        if nearest is None:
            return ()
        return (
            ("x-ratelimit-limit", str(nearest.limit.units)),
            ("x-ratelimit-remaining", str(nearest.remaining)),
        )

    def mismatch(self, rule: KeyRule) -> Answer:
        """The answer to a key that was first used with another request."""
        return self.failure(rule.mismatch, "idempotency key reused with another request")

    def in_flight(self, rule: KeyRule) -> Answer:
        """The answer to a key whose first request is not answered yet."""
        return self.failure(rule.in_flight, "a request with this idempotency key is in progress")

    def invalid_key(self, rule: KeyRule) -> Answer:
        """The answer to a key that is empty or too long."""
        return self.failure(400, f"an idempotency key has 1 to {rule.max_length} characters")


def whole(seconds: float) -> str:
    """Seconds as a header has them: whole, rounded up, at least 1."""
    return str(max(1, math.ceil(seconds)))


def tightest(standings: tuple[Standing, ...]) -> Standing | None:
    """The limit over time that has least left; None where there is none."""
    timed = [standing for standing in standings if standing.limit.per is not None]
    return min(timed, key=lambda standing: standing.remaining / standing.limit.units, default=None)


def singular(collection: str) -> str:
    """A collection's name as the prefix of its objects' identities."""
    if collection.endswith("ies"):
        return collection[:-3] + "y"
    return collection.removesuffix("s") or "object"


def nested(pairs: list[tuple[str, str]]) -> Fields:
    """Form fields as an object: ``a[b]=1`` stands under ``a`` as ``b``."""
    fields: Fields = {}
    for name, value in pairs:
        first, *rest = name.replace("]", "").split("[")
        place = fields
        for inner in rest:
            below = place.setdefault(first, {})
            if not isinstance(below, dict):
                below = place[first] = {}
            place, first = below, inner
        place[first] = value
    return fields


def _fits(fields: Fields, wanted: list[tuple[str, str]]) -> bool:
    return all(str(fields[name]) == value for name, value in wanted if name in fields)
