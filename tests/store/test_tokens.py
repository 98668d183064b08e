"""A token opens what it was made for, as long as it was made for, and is kept nowhere."""

from __future__ import annotations

import pytest

from tenure.base.errors import ConfigurationError, NothingMatched, UnknownName
from tenure.store import tokens
from tenure.store.database import Database
from tests.conftest import Clock


def test_a_token_is_found_by_whom_it_was_made_for(database: Database) -> None:
    """The token that was shown once is its owner's, with the scopes it was given."""
    minted = tokens.create(database, owner="ann", scopes=["read", "enqueue", "read"], by="bob")
    bearing = tokens.find(database, minted.token)
    assert bearing is not None
    assert (bearing.id, bearing.owner) == (minted.id, "ann")
    assert bearing.scopes == {"read", "enqueue"}
    assert minted.expires_at is None


def test_the_token_itself_is_in_no_row_and_no_representation(database: Database) -> None:
    """From what is stored, audited or printed, no token can be had."""
    minted = tokens.create(database, owner="ann", scopes=["read"], by="bob", origin="cli")
    secret = minted.token.removeprefix("tnr_")
    rows = database.execute("select t::text || a::text as all from tenure.tokens t, tenure.audit a")
    assert secret not in rows[0]["all"]
    assert secret not in repr(minted)
    [act] = database.execute("select actor, act, target, after, origin from tenure.audit")
    assert (act["actor"], act["act"], act["target"], act["origin"]) == (
        *("bob", "token.create", f"token:{minted.id}", "cli"),
    )
    assert act["after"]["scopes"] == ["read"]


@pytest.mark.parametrize("token", ["", "tnr_", "tnr_" + "x" * 43, "\x00", "\ud800"])
def test_what_is_no_token_opens_nothing(database: Database, token: str) -> None:
    """Text that nobody was given is nobody's, whatever it holds."""
    tokens.create(database, owner="ann", scopes=["read"], by="bob")
    assert tokens.find(database, token) is None


def test_a_token_ends_when_its_time_is_over(database: Database, clock: Clock) -> None:
    """The database's clock decides: good before its end, nobody's after it."""
    minted = tokens.create(database, owner="ann", scopes=["read"], by="bob", expires=60.0)
    assert tokens.find(database, minted.token) is not None
    clock.advance(61)
    assert tokens.find(database, minted.token) is None
    [row] = tokens.listed(database)
    assert (row.usable, row.expires_at) == (False, minted.expires_at)


def test_a_revoked_token_is_nobodys(database: Database) -> None:
    """Revoking counts at once and for good, and is audited once."""
    minted = tokens.create(database, owner="ann", scopes=["read"], by="bob")
    assert tokens.revoke(database, minted.id, by="cy", reason="lost")
    assert not tokens.revoke(database, minted.id, by="cy")
    assert tokens.find(database, minted.token) is None
    [row] = tokens.listed(database)
    assert not row.usable
    acts = database.execute("select actor, reason from tenure.audit where act = 'token.revoke'")
    assert [(act["actor"], act["reason"]) for act in acts] == [("cy", "lost")]
    with pytest.raises(NothingMatched):
        tokens.revoke(database, minted.id + 1, by="cy")


def test_a_use_is_noted_once_a_minute(database: Database, clock: Clock) -> None:
    """Of many uses within a minute the first is written down, and then none for a minute."""
    minted = tokens.create(database, owner="ann", scopes=["read"], by="bob")

    def used() -> object:
        tokens.find(database, minted.token)
        return tokens.listed(database)[0].last_used_at

    first = used()
    assert first is not None
    assert used() == first
    clock.advance(61)
    assert used() != first


def test_nobody_waits_to_note_a_use(database: Database, database_url: str) -> None:
    """A token whose row another session holds is found all the same."""
    minted = tokens.create(database, owner="ann", scopes=["read"], by="bob")
    holding = Database(database_url)
    with holding.transaction():
        holding.execute("select from tenure.tokens for update")
        assert tokens.find(database, minted.token) is not None
        assert tokens.listed(database)[0].last_used_at is None
    holding.close()


def test_a_token_has_an_owner_and_known_scopes(database: Database) -> None:
    """What nobody answers for, or what opens nothing known, is not made."""
    with pytest.raises(UnknownName, match="Did you mean 'enqueue'"):
        tokens.create(database, owner="ann", scopes=["enqeue"], by="bob")
    for owner, scopes in ((" ", ["read"]), ("ann", [])):
        with pytest.raises(ConfigurationError, match="no owner or no scope"):
            tokens.create(database, owner=owner, scopes=scopes, by="bob")
    assert tokens.listed(database) == ()
