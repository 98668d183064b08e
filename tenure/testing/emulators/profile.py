"""Profiles: a provider's limits, key rule and dialect under one name.

Made by tests and by configurations, read by the service.  Limits given to a profile replace its
published ones, so that a test fills a window with a handful of requests; figures are those of the
providers' public documentation in 2026 and drift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tenure.base.errors import UnknownName
from tenure.testing.emulators.dialect import Dialect, Hint
from tenure.testing.emulators.dialects.github import GitHub
from tenure.testing.emulators.dialects.hubspot import HubSpot
from tenure.testing.emulators.dialects.resend import Resend
from tenure.testing.emulators.dialects.slack import Slack
from tenure.testing.emulators.dialects.stripe import Stripe
from tenure.testing.emulators.rules import KeyRule, Limit

_CHANGING = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Profile:
    """What an emulator is: the rules it enforces and the way it words its answers.

    ``keys=None`` honours no idempotency key at all.
    """

    name: str
    limits: tuple[Limit, ...] = ()
    keys: KeyRule | None = None
    dialect: Dialect = field(default_factory=Dialect)


def generic(
    *limits: Limit, keys: KeyRule | None = None, hint: Hint = "seconds", name: str = "generic"
) -> Profile:
    """No provider in particular: JSON, 429 with a wait in the form of ``hint``, keys if given."""
    return Profile(name, limits, keys, Dialect(hint=hint))


def stripe(*limits: Limit) -> Profile:
    """Stripe v1: 100 a second, 25 an endpoint; keys for 24 hours that keep failures too."""
    published = (
        Limit(100, per=1.0, name="account"),
        Limit(25, per=1.0, scope="path", name="endpoint"),
    )
    return Profile("stripe", limits or published, KeyRule(), Stripe())


def hubspot(*limits: Limit) -> Profile:
    """HubSpot: 100 in ten seconds, 250,000 a day; no keys."""
    published = (
        Limit(100, per=10.0, name="burst"),
        Limit(250_000, per=86_400.0, kind="fixed", name="daily"),
    )
    return Profile("hubspot", limits or published, None, HubSpot())


def slack(*limits: Limit, quiet: bool = False) -> Profile:
    """Slack: 50 a minute and method, a message a second; no keys; ``quiet`` throttles in a 200."""
    published = (
        Limit(50, per=60.0, scope="path", name="method"),
        Limit(1, per=1.0, match="/api/chat.postMessage", name="message"),
    )
    return Profile("slack", limits or published, None, Slack(quiet=quiet))


def github(*limits: Limit) -> Profile:
    """GitHub: 5,000 an hour (named ``core``) and the secondary limits, all told by 403; no keys."""
    published = (
        Limit(5_000, per=3_600.0, kind="fixed", name="core"),
        Limit(900, per=60.0, scope="path", unsafe_cost=5, name="points"),
        Limit(80, per=60.0, methods=_CHANGING, name="content"),
        Limit(100, name="concurrent"),
    )
    return Profile("github", limits or published, None, GitHub())


def resend(*limits: Limit) -> Profile:
    """Resend: 5 a second; keys for 24 hours on e-mails alone, which keep successes."""
    keys = KeyRule(
        paths=("/emails", "/emails/batch"),
        max_length=256,
        mismatch=409,
        in_flight=409,
        stores_failures=False,
        replay_marker=None,
    )
    return Profile("resend", limits or (Limit(5, per=1.0, name="team"),), keys, Resend())


_BY_NAME: dict[str, Callable[[], Profile]] = {
    "generic": generic,
    "stripe": stripe,
    "hubspot": hubspot,
    "slack": slack,
    "slack-quiet": lambda: slack(quiet=True),
    "github": github,
    "resend": resend,
}


def profile_named(
    name: str, *, limits: tuple[Limit, ...] | None = None, keys: KeyRule | bool | None = None
) -> Profile:
    """The profile of that name, with limits and keys replaced where they are given.

    ``keys=True`` is the usual rule, ``keys=False`` none.  Raises ``UnknownName``.
    """
    if name not in _BY_NAME:
        raise UnknownName.of("profile", name, _BY_NAME)
    profile = _BY_NAME[name]()
    if limits is not None:
        profile = replace(profile, limits=limits)
    if isinstance(keys, bool):
        keys = (profile.keys or KeyRule()) if keys else None
        return replace(profile, keys=keys)
    return profile if keys is None else replace(profile, keys=keys)
