"""Providers as an author declares them: catalogue entry, address, credential, budgets.

Called by ``app.provider`` and by the calls that go to them.  Promises: a provider of the catalogue
keeps its facts unless the declaration says otherwise; a provider that honours no key is held when
in doubt; credentials go to the provider's own hosts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar, get_args
from urllib.parse import urlsplit

import msgspec

from tenure.base import catalogue, patterns
from tenure.base.budget import Budget
from tenure.base.entries import Entry, KeyRule
from tenure.base.errors import CallForbidden, ConfigurationError
from tenure.flow.carriers import Auth

Allowance = Literal["plain-http", "private-address", "metadata-address"]
_ALLOWANCES = get_args(Allowance)

Probe = Callable[..., object]
P = TypeVar("P", bound=Probe)


class Provider(msgspec.Struct, frozen=True, eq=False):
    """A third-party API as declared: what its calls are sent to, under which limits and keys."""

    name: str
    base_url: str
    entry: Entry
    hosts: frozenset[str]
    auth: Auth | None = None
    allow: frozenset[str] = frozenset()
    account: str = ""
    probes: dict[str, Probe] = msgspec.field(default_factory=dict)

    def probe(self, operation: str) -> Callable[[P], P]:
        """Declare how to find out what became of a send of which nobody knows.

        ``operation`` is a pattern, as ``POST /deals``.  The function takes a ``ProbeContext`` (a
        ``def`` a ``SyncProbeContext``) and what was ``Sent``, asks with safe calls, and gives
        ``Happened``, ``DidNot`` or ``CannotTell``.  Raises ``ConfigurationError`` for a second one.
        """
        patterns.parse(operation)

        def declare(fn: P) -> P:
            if operation in self.probes:
                raise ConfigurationError(
                    f"the provider {self.name!r} has two probes for {operation!r}",
                    hint="Keep one of them.",
                )
            self.probes[operation] = fn
            return fn

        return declare

    def probe_of(self, method: str, path: str) -> Probe | None:
        """The probe that speaks about a request most narrowly; None where none does."""
        ranked = [(patterns.narrowest((text,), method, path), text) for text in self.probes]
        weight, text = max(ranked, default=(-1, ""))
        return self.probes[text] if weight >= 0 else None

    @property
    def lane(self) -> str:
        """The lane of jobs that are dispatched under this provider."""
        return f"{self.name}/{self.account}" if self.account else self.name

    def url(self, target: str) -> str:
        """The full URL of a path or URL; raises ``CallForbidden`` for a host of somebody else."""
        if not target.startswith(("http://", "https://")):
            return self.base_url.rstrip("/") + "/" + target.lstrip("/")
        host = (urlsplit(target).hostname or "").lower()
        if not _covers(host, self.hosts):
            owner = catalogue.of_host(host)
            raise CallForbidden(
                f"the URL's host ({host}) is not one of {self.name}'s: nothing was sent",
                hint=f"Call it through the provider {owner.name!r}."
                if owner
                else f"Declare it with app.provider, or give a path below {self.base_url}.",
            )
        return target


def declare(
    name: str,
    *,
    base_url: str | None = None,
    auth: Auth | None = None,
    budgets: Sequence[Budget] | None = None,
    keys: KeyRule | Sequence[KeyRule] | None = None,
    settle: float | None = None,
    allow: Iterable[Allowance] = (),
) -> Provider:
    """A provider by its catalogue entry where there is one, else by what is said here.

    Raises ``ConfigurationError`` where it has no address, and for names that lanes cannot hold.
    """
    if name == "free" or not name or any(c in name for c in "/# \n"):
        raise ConfigurationError(
            f"a provider cannot be named {name!r}: the name is a lane's",
            hint="Use letters, digits, dots and dashes; 'free' is the lane of jobs without one.",
        )
    words = (allow,) if isinstance(allow, str) else tuple(allow)
    for word in words:
        if word not in _ALLOWANCES or isinstance(allow, str):
            raise ConfigurationError(
                f"the provider {name!r} allows what is no allowance ({word!r})",
                hint=f"Give a list of some of: {', '.join(_ALLOWANCES)}.",
            )
    if auth is not None and not callable(getattr(auth, "headers", None)):
        raise ConfigurationError(
            f"the provider {name!r} has a credential that is none ({type(auth).__name__})",
            hint="Give auth=Bearer(env('NAME')), Basic or Header.",
        )
    known = name in catalogue.names() and name != catalogue.GENERIC
    entry = catalogue.load(name if known else catalogue.GENERIC)
    address = base_url or entry.base_url
    if address is None:
        raise ConfigurationError(
            f"the provider {name!r} is not in the catalogue and has no base_url",
            hint=f"Give app.provider({name!r}, base_url=...).",
        )
    return Provider(
        name=name,
        base_url=address,
        entry=_adapted(entry, name, budgets, keys, settle),
        hosts=_hosts(address, entry if known else None),
        auth=auth,
        allow=frozenset(words),
    )


def _adapted(
    entry: Entry,
    name: str,
    budgets: Sequence[Budget] | None,
    keys: KeyRule | Sequence[KeyRule] | None,
    settle: float | None,
) -> Entry:
    changes: dict[str, object] = {"name": name}
    if settle is not None:
        changes["settle"] = settle
    if budgets is not None:
        names = {budget.name for budget in budgets}
        changes["budgets"] = tuple(budgets)
        # A rule that closed a budget which is not there any more closes the account.
        changes["answers"] = tuple(
            rule
            if rule.budget in names or rule.budget is None
            else msgspec.structs.replace(rule, budget=None)
            for rule in entry.answers
        )
    if keys is not None:
        changes["keys"] = (keys,) if isinstance(keys, KeyRule) else tuple(keys)
    return msgspec.structs.replace(entry, **changes)


def _hosts(address: str, entry: Entry | None) -> frozenset[str]:
    host = (urlsplit(address).hostname or "").lower()
    if not host:
        raise ConfigurationError(
            f"the base_url ({address}) names no host",
            hint="It looks like https://api.example.com.",
        )
    own = entry.hosts if entry and entry.base_url == address else ()
    return frozenset((host, *own))


def _covers(host: str, hosts: frozenset[str]) -> bool:
    return host in hosts or any(
        known.startswith("*.") and host.endswith(known[1:]) for known in hosts
    )
