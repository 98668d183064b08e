"""``tenure token``."""

from __future__ import annotations

from tenure.store import tokens
from tenure.store.database import Database
from tests.cli.conftest import Row, Run, told


def test_a_token_is_printed_once_and_alone(tenure: Run, database: Database) -> None:
    """Standard output holds the token and nothing else, and it opens what its scopes say."""
    done = tenure("token", "create", "--owner", "ann", "--scope", "read", "--scope", "enqueue")
    token = done.stdout.strip()
    bearing = tokens.find(database, token)
    assert bearing is not None
    assert (bearing.owner, bearing.scopes) == ("ann", frozenset({"read", "enqueue"}))
    assert token not in done.stderr
    assert token not in tenure("token", "list").stdout
    assert token not in tenure("token", "list", "--json").stdout


def test_a_token_ends_when_it_is_told_to(tenure: Run, database: Database) -> None:
    """With a length of life the token has an end, which is told as JSON too."""
    words = ("token", "create", "--owner", "x", "--scope", "read", "--expires")
    made = told(tenure(*words, "90d", "--json"), Row)
    assert made["expires_at"] is not None
    assert tokens.find(database, str(made["token"])) is not None
    assert tenure(*words, "soon").exit_code == 2


def test_a_revoked_token_opens_nothing(tenure: Run, database: Database) -> None:
    """A revoked token is found no more; revoking it twice changes nothing."""
    token = tenure("token", "create", "--owner", "ann", "--scope", "read").stdout.strip()
    done = tenure("token", "revoke", 1, "--as", "bob", "--reason", "lost")
    assert (done.exit_code, done.stdout) == (0, "token 1 is revoked\n")
    assert tokens.find(database, token) is None
    assert tenure("token", "revoke", 1).stdout == "token 1 had been revoked before\n"
    assert "revoked" in tenure("token", "list").stdout


def test_an_unknown_token_or_scope_is_told(tenure: Run) -> None:
    """A number that no token has matches nothing; a scope that does not exist is wrong usage."""
    assert tenure("token", "revoke", 9).exit_code == 5
    assert tenure("token", "create", "--owner", "ann", "--scope", "all").exit_code == 2
    assert tenure("token", "create", "--owner", "ann").exit_code == 2
