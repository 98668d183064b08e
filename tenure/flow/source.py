"""Sources as an author declares them: an authenticated door for events.

Called by ``app.source``; read by the server.  Promises: there is no scheme that verifies nothing;
secrets are references; ``source["charge.refunded"]`` names the events of one type.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenure.base import schemes
from tenure.base.errors import ConfigurationError
from tenure.base.schemes import InBody, InHeader, Place, Scheme
from tenure.base.secrets import SecretRef

FROM_SCHEME = "scheme"


class Source(msgspec.Struct, frozen=True):
    """A door: its scheme, and the secrets of which any may have signed."""

    name: str
    scheme: Scheme
    secrets: tuple[SecretRef, ...]

    @property
    def event_key(self) -> str | None:
        """Where an event's key is found, as text; None: nowhere, each delivery is an event."""
        return ", ".join(map(_written, self.scheme.event_id)) or None

    def __getitem__(self, type_: str) -> str:
        """The events of one type, for ``on=``."""
        return f"{self.name}#{type_}"


def declare(
    name: str,
    *,
    scheme: str,
    secret: SecretRef | Sequence[SecretRef],
    event_key: str | None = FROM_SCHEME,
) -> Source:
    """A source; raises ``ConfigurationError`` for an unknown scheme or a name no address can hold.

    ``event_key``: ``header:NAME`` or ``body:PATH`` in place of what the scheme says; None: each
    delivery is an event, however often it comes.
    """
    check_name("source", name)
    known = schemes.preset(scheme)
    secrets = (secret,) if isinstance(secret, SecretRef) else tuple(secret)
    if not all(isinstance(each, SecretRef) for each in secrets):
        raise ConfigurationError(
            f"the source {name!r} was given a secret itself: secrets are never in code",
            hint="Give secret=env('NAME') or file('/path').",
        )
    if not secrets:
        raise ConfigurationError(
            f"the source {name!r} has no secret: nothing could be verified",
            hint="Give secret=env('NAME').",
        )
    if event_key != FROM_SCHEME:
        places = () if event_key is None else (_place(event_key),)
        known = msgspec.structs.replace(known, event_id=places)
    return Source(name, known, secrets)


def check_name(kind: str, name: str) -> None:
    """Raise ``ConfigurationError`` for a name that no address, key or command line can hold."""
    if not name or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in name):
        raise ConfigurationError(
            f"a {kind} cannot be named {name!r}: the name is part of its address",
            hint="Use letters, digits, dots, dashes and underscores.",
        )


def _place(event_key: str) -> Place:
    kind, _, name = event_key.partition(":")
    if kind not in ("header", "body") or not name:
        raise ConfigurationError(
            f"no place of an event's key ({event_key!r}): nothing is found there",
            hint="Write header:NAME, body:PATH with dots between its parts, or None.",
        )
    return InHeader(name) if kind == "header" else InBody(name)


def _written(place: Place) -> str:
    match place:
        case InHeader(name):
            return f"header:{name}"
        case InBody(path):
            return f"body:{path}"
    return f"field:{place.name}"
