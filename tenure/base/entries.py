"""What the catalogue knows of one provider, as types that refuse what cannot be true.

Owned here: the shape of an entry, and the checks that hold over a whole one.  ``catalogue`` fills
it from the files, ``answers`` and ``waits`` read it.  Promised: an entry that exists is sound: its
key fits the provider, its rules close budgets it has, its patterns can be read.
All times are seconds.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from tenure.base import patterns
from tenure.base.budget import Budget
from tenure.base.errors import ConfigurationError, UnknownName

KeyForm = Literal["hex64", "base64url43", "uuid", "hex32", "hex25"]
State = Literal["done", "refused", "throttled", "overloaded", "unknown", "in_flight"]
Scalar = str | int | float | bool

FORM_LENGTHS: dict[str, int] = {
    "hex64": 64,
    "base64url43": 43,
    "uuid": 36,
    "hex32": 32,
    "hex25": 25,
}

Alphabet = Literal["any", "url", "alphanumeric", "hex", "uuid"]

# What each form is made of: the alphabets that hold all of its characters.
FORM_ALPHABETS: dict[str, frozenset[Alphabet]] = {
    "hex64": frozenset({"any", "url", "alphanumeric", "hex"}),
    "base64url43": frozenset({"any", "url"}),
    "uuid": frozenset({"any", "url", "uuid"}),
    "hex32": frozenset({"any", "url", "alphanumeric", "hex"}),
    "hex25": frozenset({"any", "url", "alphanumeric", "hex"}),
}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HOST = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+")


def _names(budgets: tuple[Budget, ...]) -> list[str]:
    names = [budget.name for budget in budgets]
    for name in names:
        if names.count(name) > 1:
            raise _wrong("budgets", name, "two budgets have that name")
    return names


def _check_patterns(texts: tuple[str, ...]) -> None:
    for text in texts:
        patterns.parse(text)


def _check_hosts(hosts: tuple[str, ...]) -> None:
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise _wrong("hosts", host, "a host is lower case, '*.' at most in front")


def _check_address(base_url: str | None, hosts: tuple[str, ...]) -> None:
    if base_url is None:
        return
    address = urlsplit(base_url)
    if address.scheme != "https" or address.hostname not in hosts:
        raise _wrong("base_url", base_url, "it is https and its host is one of the hosts")


def _check_header(text: str | None) -> None:
    if text is not None and not _TOKEN.fullmatch(text.partition(":")[0]):
        raise _wrong("header", text, "it is no header name")


def _check_place(where: str, name: str) -> None:
    if where == "header":
        _check_header(name)
    elif not all(name.split(".") if where == "body" else (name,)):
        raise _wrong("name", name, f"a {where} has no field of that name")


def _check_seconds(field: str, value: float | None) -> None:
    if value is not None and not 0 <= value < math.inf:
        raise _wrong(field, value, "a wait is 0 seconds or more")


def _wrong(field: str, value: object, means: str) -> ConfigurationError:
    return ConfigurationError(
        f"a provider's entry has a wrong {field} ({value!r}): {means}",
        hint="Compare the entry with the provider's documentation.",
    )


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer described: one of these statuses, and all the rest that is given.

    ``header`` is ``name`` (present) or ``name: value``.  ``fields`` maps dotted paths of the JSON
    body to a value or several; a list on the way is searched.  Texts are compared without case.
    """

    status: tuple[int, ...]
    header: str | None = None
    fields: dict[str, Scalar | tuple[Scalar, ...]] = {}
    contains: str | None = None

    def __post_init__(self) -> None:
        """Refuse a condition that no answer can meet."""
        if not self.status or any(not 100 <= status <= 599 for status in self.status):
            raise _wrong("status", self.status, "an HTTP status lies between 100 and 599")
        _check_header(self.header)
        if self.contains == "":
            raise _wrong("contains", "", "every body contains it")


class AnswerRule(Condition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an answer of this provider means where its status alone does not tell.

    ``throttled`` and ``overloaded`` stand only where the provider documents that the request was
    not processed.  ``budget`` is closed by it; without one, all calls of the account wait.
    ``wait`` holds where the answer gives no time, ``at_least`` bounds the time from below.
    """

    kind: Literal["throttled", "overloaded", "refused", "unknown"]
    why: str
    budget: str | None = None
    wait: float | None = None
    at_least: float = 0.0

    def __post_init__(self) -> None:
        """Refuse times that are none, and a budget closed by what closes nothing."""
        super().__post_init__()
        _check_seconds("wait", self.wait)
        _check_seconds("at_least", self.at_least)
        if self.budget is not None and self.kind not in ("throttled", "overloaded"):
            raise _wrong("budget", self.budget, f"an answer of kind {self.kind!r} closes none")


class Hint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an answer says how long to wait.

    ``retry_after``: seconds or a date.  ``epoch`` and ``delta``: a reset header in seconds since
    1970, or from now.  ``fixed``: the documented time, whatever the answer says.  ``when`` is a
    header condition without which the hint is not read.
    """

    form: Literal["retry_after", "epoch", "delta", "fixed"]
    header: str | None = None
    seconds: float | None = None
    when: str | None = None

    def __post_init__(self) -> None:
        """Refuse a hint that lacks its header or its seconds, or has what it does not use."""
        if (self.seconds is not None) is not (self.form == "fixed"):
            raise _wrong("seconds", self.seconds, "a 'fixed' hint has them, no other")
        if (self.header is not None) is not (self.form in ("epoch", "delta")):
            raise _wrong("header", self.header, "'epoch' and 'delta' name one, no other")
        _check_seconds("seconds", self.seconds)
        _check_header(self.header)
        _check_header(self.when)


class KeyRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the provider takes an idempotency key, on which operations, and for how long.

    ``where`` and ``name``: a ``header``; a field of the ``body``, by its dotted path in JSON or its
    name in a form; or a parameter of the ``query``.  ``alphabet``: what the provider takes: ``url``
    is letters, digits, ``-`` and ``_``; ``hex`` is in small letters; ``uuid`` is nothing else.
    ``window``: seconds for which the provider promises to remember a key.  ``stores_failures``:
    whether a 5xx is given back under the same key; None where undocumented.  ``replay_marker``: the
    header by which a stored answer is known.  ``not_stored``: statuses after which the key is free.
    """

    where: Literal["header", "body", "query"]
    name: str
    form: KeyForm
    max_length: int
    window: float
    honors: tuple[str, ...]
    alphabet: Alphabet = "any"
    stores_failures: bool | None = None
    replay_marker: str | None = None
    in_flight: Condition | None = None
    mismatch: Condition | None = None
    not_stored: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a key that the provider would refuse."""
        _check_place(self.where, self.name)
        _check_header(self.replay_marker)
        if not (0 < self.window < math.inf):
            raise _wrong("window", self.window, "a key is remembered for some seconds")
        if FORM_LENGTHS[self.form] > self.max_length:
            raise _wrong(
                "form",
                self.form,
                f"its {FORM_LENGTHS[self.form]} characters exceed the {self.max_length} allowed",
            )
        if self.alphabet not in FORM_ALPHABETS[self.form]:
            raise _wrong("form", self.form, f"it has characters that {self.alphabet!r} has not")
        if not self.honors:
            raise _wrong("honors", (), "a key that no operation honours is none")
        _check_patterns(self.honors)


class Sandbox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The provider's test side: no ``base_url`` is the same address under test credentials."""

    base_url: str | None = None
    hosts: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an address outside the hosts, and one budget name twice."""
        _check_hosts(self.hosts)
        _check_address(self.base_url, self.hosts)
        _names(self.budgets)


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer as the provider gives it, and what it must be taken for; read by the tests."""

    title: str
    path: str
    status: int
    state: State
    method: str = "POST"
    headers: dict[str, str] = {}
    body: str = ""
    key_sent: bool = False
    wait: float | None = None
    budget: str | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is known of one provider; what is not known is absent, and nothing is guessed.

    ``as_of`` and ``source`` say when and where it was read.  ``unkept`` lists published limits
    that no budget here keeps.  ``safe`` and ``unsafe`` declare operations against their method;
    the narrower pattern wins, ``unsafe`` among equals.  No ``base_url`` is any host.  ``settle``:
    seconds until whoever asks is shown what was done; a probe waits for so long.
    """

    name: str
    title: str
    as_of: date
    source: str
    budgets: tuple[Budget, ...]
    base_url: str | None = None
    hosts: tuple[str, ...] = ()
    sandbox: Sandbox | None = None
    keys: tuple[KeyRule, ...] = ()
    answers: tuple[AnswerRule, ...] = ()
    hints: tuple[Hint, ...] = (Hint(form="retry_after"),)
    safe: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()
    settle: float = 5.0
    examples: tuple[Example, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what contradicts itself across the entry."""
        for field in ("title", "source"):
            if not getattr(self, field).strip():
                raise _wrong(field, "", "every entry says what it is and where it was read")
        _check_hosts(self.hosts)
        _check_address(self.base_url, self.hosts)
        _check_patterns(self.safe + self.unsafe)
        _check_seconds("settle", self.settle)
        names = _names(self.budgets)
        for rule in self.answers:
            if rule.budget is not None and rule.budget not in names:
                raise UnknownName.of("budget", rule.budget, names)
