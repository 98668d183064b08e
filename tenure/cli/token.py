"""``tenure token``: bearer tokens are made, listed and revoked.

Promises: a token is printed once, alone on standard output, and can never be printed again.
"""

from __future__ import annotations

from datetime import datetime

import click
import msgspec

from tenure.base.tokens import SCOPES
from tenure.cli import database, options, output
from tenure.store import tokens


class _Made(msgspec.Struct, frozen=True):
    id: int
    token: str
    owner: str
    scopes: list[str]
    expires_at: datetime | None


class _Revoked(msgspec.Struct, frozen=True):
    id: int
    revoked: bool


@click.group()
def token() -> None:
    """Make, list and revoke tokens."""


@token.command()
@click.option("--owner", required=True, metavar="NAME", help="Who answers for its use.")
@click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES))
@click.option("--expires", type=options.LENGTH, metavar="LENGTH", help="Its life, such as 90d.")
@options.actor
@options.as_json
def create(
    *, owner: str, scopes: tuple[str, ...], expires: float | None, actor: str | None, as_json: bool
) -> None:
    """Make a token; it is shown this once."""
    with database.opened(make=True) as opened:
        made = tokens.create(
            opened,
            owner=owner,
            scopes=scopes,
            by=options.named(actor),
            expires=expires,
            origin=options.ORIGIN,
        )
    if as_json:
        output.json(_Made(made.id, made.token, owner, sorted(set(scopes)), made.expires_at))
        return
    end = f"ends at {output.instant(made.expires_at)}" if made.expires_at else "has no end"
    output.notice(f"token {made.id} of {owner} {end}; it is shown this once:")
    click.echo(made.token)


@token.command("list")
@options.as_json
def list_(*, as_json: bool) -> None:
    """List tokens; they themselves are on no record."""
    with database.opened() as opened:
        found = tokens.listed(opened)
    if as_json:
        output.json(found)
        return
    rows = [
        (
            each.id,
            each.owner,
            each.scopes,
            "yes" if each.usable else "revoked" if each.revoked_at else "expired",
            each.expires_at or "no end",
            each.last_used_at or "never",
        )
        for each in found
    ]
    if rows:
        output.table(("id", "owner", "scopes", "usable", "ends", "last used"), rows)
    else:
        output.notice("no token was made yet: tenure token create --owner NAME --scope read")


@token.command()
@click.argument("number", type=int, metavar="ID")
@click.option("--reason", metavar="TEXT", help="Why; it is kept with the act.")
@options.actor
@options.as_json
def revoke(*, number: int, reason: str | None, actor: str | None, as_json: bool) -> None:
    """Revoke a token for good."""
    with database.opened() as opened:
        revoked = tokens.revoke(
            opened, number, by=options.named(actor), reason=reason, origin=options.ORIGIN
        )
    if as_json:
        output.json(_Revoked(number, revoked))
    else:
        click.echo(f"token {number} {'is revoked' if revoked else 'had been revoked before'}")
