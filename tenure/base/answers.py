"""What a provider's answer means for the call: done, refused, to be repeated, or not known.

Owned here: the one place where status, headers and body become a call's state.  Called when a
carrier brings an answer back.  Promised: nothing a provider sends raises, and nothing is called
*not processed* unless the provider's documentation, or HTTP itself, says so; where an unsafe
request may have been processed, the state is ``unknown``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from tenure.base import patterns, waits
from tenure.base.catalogue import honors, is_safe
from tenure.base.entries import State
from tenure.base.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenure.base.entries import AnswerRule, Condition, Entry, KeyRule
    from tenure.base.http import Request, Response

_TEXT_SEARCHED = 65_536


class Answer(msgspec.Struct, frozen=True):
    """What an answer means.

    ``wait`` is seconds as the provider gave them, at most 24 h, None where it gave none; 0 is
    possible, so whoever repeats keeps a least wait of its own.  ``budget`` names the budget that
    closes; None with ``throttled`` closes the account.  ``why`` is one sentence for people.
    ``stored``: it is what the provider keeps under this key, so a repeat would bring it again.
    ``mismatch``: it remembers another request under this key, so one was received.
    """

    state: State
    wait: float | None
    budget: str | None
    why: str
    stored: bool = False
    mismatch: bool = False


def classify(
    entry: Entry,
    request: Request,
    response: Response,
    *,
    key_sent: bool,
    safe: bool | None = None,
) -> Answer:
    """The meaning of a final answer to a request; never raises, whatever was answered.

    For a safe operation ``unknown`` says only that no usable answer came: it may be made again.
    ``key_sent`` is whether the idempotency key left with the request; ``safe`` is what the call
    itself declares, None: what entry and method say.
    """
    path = patterns.path_of(request.url)
    key = honors(entry, request.method, path) if key_sent else None
    seen = _Seen(response)
    found = (_by_key(entry, key, seen) if key else None) or _by_rules(entry, seen)
    if safe is None:
        safe = is_safe(entry, request.method, path)
    found = found or _by_status(entry, response, safe=safe)
    if found.state not in ("done", "refused", "unknown"):
        return found
    if key and key.replay_marker and waits.has_header(response, key.replay_marker):
        return msgspec.structs.replace(found, stored=True)
    return found


class _Seen:
    """An answer with its body decoded at most once, and only where a condition asks for it."""

    def __init__(self, response: Response) -> None:
        self.response = response

    @cached_property
    def text(self) -> str:
        return self.response.body[:_TEXT_SEARCHED].decode("utf-8", "replace").casefold()

    @cached_property
    def tree(self) -> object:
        # RecursionError: a body of a hundred thousand brackets is a few kilobytes to send.
        try:
            return self.response.json()
        except (InvalidInput, RecursionError):
            return None

    def meets(self, condition: Condition) -> bool:
        if self.response.status not in condition.status:
            return False
        if condition.header and not waits.has_header(self.response, condition.header):
            return False
        if condition.contains and condition.contains.casefold() not in self.text:
            return False
        return all(self._has(path, wanted) for path, wanted in condition.fields.items())

    def _has(self, path: str, wanted: object) -> bool:
        options = wanted if isinstance(wanted, tuple) else (wanted,)
        found = _values(self.tree, path.split("."))
        return any(_equal(value, option) for value in found for option in options)


def _values(tree: object, path: list[str]) -> Iterator[object]:
    if isinstance(tree, list):
        for item in tree:
            # One list inside another is no path anyone declared, and could nest without end.
            if not isinstance(item, list):
                yield from _values(item, path)
    elif not path:
        yield tree
    elif isinstance(tree, dict) and path[0] in tree:
        yield from _values(tree[path[0]], path[1:])


def _equal(value: object, wanted: object) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value.casefold() == wanted.casefold()
    # In Python True equals 1; in a provider's answer it does not.
    return isinstance(value, bool) is isinstance(wanted, bool) and value == wanted


def _by_key(entry: Entry, key: KeyRule, seen: _Seen) -> Answer | None:
    """What the key layer answered before, or instead of, the operation itself."""
    status = seen.response.status
    if key.in_flight and seen.meets(key.in_flight):
        why = f"{status}: a request under the same key is still at work"
        return _waiting("in_flight", entry, seen.response, why)
    if key.mismatch and seen.meets(key.mismatch):
        why = f"{status}: the key was used before with a different request"
        return Answer("refused", None, None, why, stored=True, mismatch=True)
    if status >= 500 and key.replay_marker and waits.has_header(seen.response, key.replay_marker):
        why = f"{status}: the failure stored under this key, which no repeat of the key changes"
        return Answer("unknown", None, None, why)
    return None


def _by_rules(entry: Entry, seen: _Seen) -> Answer | None:
    rule = next((rule for rule in entry.answers if seen.meets(rule)), None)
    if rule is None:
        return None
    why = f"{seen.response.status}: {rule.why}"
    if rule.kind == "refused":
        return Answer("refused", None, None, why)
    return _waiting(rule.kind, entry, seen.response, why, rule)


def _by_status(entry: Entry, response: Response, *, safe: bool) -> Answer:
    status = response.status
    if response.ok or (status == 304 and safe):
        return Answer("done", None, None, f"{status}: accepted")
    if status == 429:
        return _waiting("throttled", entry, response, "429: too many requests")
    # 302 and 303 are how servers point to the result of what they have just done.
    if status in (302, 303) and not safe:
        why = f"{status}: sent elsewhere, perhaps after the request was processed"
        return Answer("unknown", None, None, why)
    if 300 <= status < 400:
        return Answer("refused", None, None, f"{status}: sent elsewhere, which is not followed")
    if 400 <= status < 500 and status != 408:
        return Answer("refused", None, None, f"{status}: refused")
    doubt = "it may be made again" if safe else "the request may have been processed"
    return _waiting("unknown", entry, response, f"{status}: no usable answer, {doubt}")


def _waiting(
    state: State, entry: Entry, response: Response, why: str, rule: AnswerRule | None = None
) -> Answer:
    wait, remark = waits.stated(response, entry.hints)
    if rule is not None:
        wait = rule.wait if wait is None else wait
        wait = max(wait, rule.at_least) if wait is not None else rule.at_least or None
    if wait is not None and wait > waits.LONGEST:
        wait, remark = waits.capped(wait)
    why = f"{why}; {remark}" if remark else why
    return Answer(state, wait, rule.budget if rule else None, why)
