"""A provider's memory of idempotency keys: first use, use in flight, repeat, misuse, oblivion.

Asked by the service on its event loop only, so nothing here locks.  The limiter stands before it:
a refused request never gets here, and so leaves no trace under its key.
"""

from __future__ import annotations

import hashlib
from typing import Literal
from urllib.parse import parse_qs

import msgspec

from tenure.base import json
from tenure.base.errors import InvalidInput
from tenure.testing.emulators.message import Answer, Head
from tenure.testing.emulators.rules import KeyRule

Verdict = Literal["unkeyed", "first", "replay", "mismatch", "in_flight", "invalid"]

_Place = tuple[str, str]


class Entry(msgspec.Struct):
    """A key in use: what it was first used for, when, and, once there is one, the answer."""

    place: _Place
    request: tuple[str, str, str]
    at: float
    answer: Answer | None = None


class Opening(msgspec.Struct, frozen=True):
    """What a key means for the request that bears it; ``entry`` for ``first`` and ``replay``."""

    verdict: Verdict
    entry: Entry | None = None


class KeyMemory:
    """The keys that one emulated provider remembers; with no rule it honours none."""

    def __init__(self, rule: KeyRule | None) -> None:
        """Start with no memory."""
        self.rule = rule
        self._entries: dict[_Place, Entry] = {}

    def open(self, head: Head, key: str | None, body: bytes, at: float) -> Opening:
        """Judge a request by its key; a first use is in flight until ``settle``."""
        rule = self.rule
        if rule is None or key is None or not rule.honours(head):
            return Opening("unkeyed")
        if not 0 < len(key) <= rule.max_length:
            return Opening("invalid")
        place = (head.account if rule.per_account else "", key)
        request = (head.method, head.path, hashlib.sha256(body).hexdigest())
        entry = self._entries.get(place)
        if entry is None or at - entry.at >= rule.window:
            entry = self._entries[place] = Entry(place, request, at)
            return Opening("first", entry)
        if entry.request != request:
            return Opening("mismatch")
        return Opening("in_flight") if entry.answer is None else Opening("replay", entry)

    def settle(self, entry: Entry, answer: Answer | None) -> None:
        """Store the answer where the rule keeps such, else forget the key as if never used."""
        if answer is not None and self.rule is not None and self.rule.keeps(answer.status):
            entry.answer = answer
        elif self._entries.get(entry.place) is entry:
            del self._entries[entry.place]


def key_of(rule: KeyRule | None, head: Head, body: bytes | None = None) -> str | None:
    """The key of a request, where the rule looks for it; None where there is none.

    Without a rule the usual header is read, as the ledger shows keys that a provider ignores too.
    A key in the body is found once the body is there.
    """
    rule = rule or KeyRule()
    if rule.field is not None:
        return None if body is None else _in_body(rule.field, head, body)
    if rule.query is not None:
        return next(iter(parse_qs(head.query).get(rule.query, [])), None)
    return head.header(rule.header)


def _in_body(field: str, head: Head, body: bytes) -> str | None:
    if (head.header("content-type") or "").startswith("application/x-www-form-urlencoded"):
        return next(iter(parse_qs(body.decode("latin-1")).get(field, [])), None)
    try:
        value = json.decode(body)
    except InvalidInput:
        return None  # not JSON, so no key in it; the dialect answers for the body itself
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
