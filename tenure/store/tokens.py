"""Tokens as rows: whom a bearer credential belongs to, what it opens, until when.

Called by the doors for every request and by the command line.  Promises: the token itself is in no
row; a token that is revoked or has expired is not found; making and revoking leave an audit row in
the same statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tenure.base import tokens
from tenure.base.errors import ConfigurationError, NothingMatched, UnknownName
from tenure.base.text import storable
from tenure.store.database import Database

_OWNER_LIMIT = 200


class Minted(msgspec.Struct, frozen=True):
    """A new token, to be shown once; ``expires_at`` None: it lasts until it is revoked."""

    id: int
    token: str
    expires_at: datetime | None

    def __repr__(self) -> str:
        """The id; the token is never printed by accident."""
        return f"Minted({self.id}, …)"


class Bearing(msgspec.Struct, frozen=True):
    """Who shows a token, and what it opens."""

    id: int
    owner: str
    scopes: frozenset[str]


class ListedToken(msgspec.Struct, frozen=True):
    """A token as people see it; ``usable``: neither revoked nor expired."""

    id: int
    owner: str
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    usable: bool


def create(
    database: Database,
    *,
    owner: str,
    scopes: Sequence[str],
    by: str,
    expires: float | None = None,
    origin: str = "sql",
) -> Minted:
    """Make a token that ends in so many seconds, or never; nobody can be told it again.

    Raises ``UnknownName`` for a scope there is not, ``ConfigurationError`` where there is none.
    """
    _check(owner, scopes)
    token, digest = tokens.mint()
    rows = database.run(
        "tokens/create",
        {
            "owner": storable(owner, _OWNER_LIMIT),
            "digest": digest,
            "scopes": sorted(set(scopes)),
            "by": by,
            "seconds": expires,
            "origin": origin,
        },
    )
    return Minted(rows[0]["id"], token, rows[0]["expires_at"])


def find(database: Database, token: str) -> Bearing | None:
    """Whose token this is; None where it opens nothing.  Its use is noted once a minute."""
    rows = database.run("tokens/find", {"digest": tokens.digest(token)})
    return msgspec.convert(rows[0], Bearing) if rows else None


def listed(database: Database) -> tuple[ListedToken, ...]:
    """Every token that was made here, oldest first."""
    return tuple(msgspec.convert(row, ListedToken) for row in database.run("tokens/listed"))


def revoke(
    database: Database,
    token_id: int,
    *,
    by: str,
    reason: str | None = None,
    origin: str = "sql",
) -> bool:
    """Revoke a token; False where it had been before.  Raises ``NothingMatched``."""
    wanted = {"id": token_id, "by": by, "reason": reason, "origin": origin}
    rows = database.run("tokens/revoke", wanted)
    if not rows:
        raise NothingMatched(
            f"no token has this number ({token_id}): nothing was revoked",
            hint="See `tenure token list`.",
        )
    return bool(rows[0]["revoked"])


def _check(owner: str, scopes: Sequence[str]) -> None:
    for scope in scopes:
        if scope not in tokens.SCOPES:
            raise UnknownName.of("scope", scope, tokens.SCOPES)
    if not scopes or not owner.strip():
        raise ConfigurationError(
            "the token would have no owner or no scope: nobody could answer for it, or use it",
            hint=f"Name an owner, and one or more of {', '.join(tokens.SCOPES)}.",
        )
