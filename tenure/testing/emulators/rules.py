"""A provider's rules as plain values: how much it takes, and how it remembers keys.

Declared by profiles and by tests, read by the limiter, the key memory and the peaks.  They are
msgspec structs, so that a configuration file says the same as code does.
"""

from __future__ import annotations

import fnmatch
import math
from typing import Literal

import msgspec

from tenure.base.errors import ConfigurationError
from tenure.testing.emulators.message import Head


def covers(pattern: str | None, path: str) -> bool:
    """Whether a pattern means this path.

    None means every path, a pattern with ``*`` is a glob over the whole path, any other is a path
    together with everything below it.
    """
    if pattern is None or pattern == path:
        return True
    if "*" in pattern:
        return fnmatch.fnmatchcase(path, pattern)
    return path.startswith(pattern.rstrip("/") + "/")


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many units in any ``per`` seconds, or, with ``per=None``, so many requests at once.

    ``rolling`` counts the last ``per`` seconds, ``fixed`` counts from every whole multiple of
    ``per`` seconds after the emulator's start.  A limit is checked when the head of a request is
    complete.  ``scope`` keeps one count for all, one per path, or one per credential.
    ``unsafe_cost`` is what POST, PUT, PATCH and DELETE take; all else takes one unit.  A refused
    request takes nothing unless ``counts_refused``.
    """

    units: int
    per: float | None = None
    kind: Literal["rolling", "fixed"] = "rolling"
    match: str | None = None
    methods: tuple[str, ...] = ()
    name: str = ""
    scope: Literal["all", "path", "account"] = "all"
    unsafe_cost: int = 1
    counts_refused: bool = False

    def __post_init__(self) -> None:
        """Refuse what no request could ever pass, and windows without a length."""
        if self.units < max(1, self.unsafe_cost):
            raise ConfigurationError(
                f"a limit of {self.units} units: a request of {self.unsafe_cost} never passes",
                hint="Give the limit at least as many units as one request takes.",
            )
        if self.per is not None and not (self.per > 0 and math.isfinite(self.per)):
            raise ConfigurationError(
                f"a window of {self.per} seconds: it has no length",
                hint="Give seconds above 0, or per=None for requests at once.",
            )

    @property
    def label(self) -> str:
        """The limit's name, else its figures in words."""
        if self.name:
            return self.name
        return f"{self.units} at once" if self.per is None else f"{self.units} per {self.per:g} s"

    def concerns(self, method: str, path: str) -> bool:
        """Whether a request of this method and path is counted."""
        return (not self.methods or method in self.methods) and covers(self.match, path)

    def cost(self, *, unsafe: bool) -> int:
        """How many units such a request takes."""
        return self.unsafe_cost if unsafe else 1

    def counted_under(self, path: str, account: str) -> str:
        """Which of the limit's counts a request belongs to."""
        return {"all": "", "path": path, "account": account}[self.scope]


class KeyRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a provider remembers idempotency keys, for ``window`` seconds from the first use.

    The key stands in ``header``, or, where they are given, at the dotted ``field`` of a JSON body,
    in the ``field`` of a form, or in the ``query`` parameter.  The same key with another request is
    answered ``mismatch``, while the first is still at work ``in_flight``.  A success is always
    kept; a failure only where ``stores_failures`` and its status is not among ``unstored``.
    """

    header: str = "Idempotency-Key"
    field: str | None = None
    query: str | None = None
    window: float = 86400.0
    methods: tuple[str, ...] = ("POST",)
    paths: tuple[str, ...] = ()
    max_length: int = 255
    mismatch: int = 400
    in_flight: int = 409
    stores_failures: bool = True
    unstored: tuple[int, ...] = (400, 401, 403, 404, 409, 422, 429)
    replay_marker: str | None = "Idempotent-Replayed"
    per_account: bool = False

    def honours(self, head: Head) -> bool:
        """Whether a key on this request means anything."""
        return head.method in self.methods and (not self.paths or head.path in self.paths)

    def keeps(self, status: int) -> bool:
        """Whether an answer of this status is stored under its key."""
        return status < 400 or (self.stores_failures and status not in self.unstored)
