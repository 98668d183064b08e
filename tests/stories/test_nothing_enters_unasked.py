"""Promise 5: nothing enters unasked.  Every door verifies, and nothing listens without a token."""

from __future__ import annotations

import pytest

from tenure.base.errors import ConfigurationError
from tenure.base.schemes import preset
from tenure.base.secrets import env
from tenure.base.signing import sign
from tenure.base.verification import Secret
from tenure.flow.source import declare
from tenure.store import tokens
from tenure.store.database import Database
from tenure.web import server
from tests.web.conftest import running
from tests.web.doors import STANDARD, STRIPE, Pairs, Running, application

__all__ = ["running"]

BODY = b'{"id":"evt_1","type":"charge.refunded","a":[1.0, 2.50]}\r\n'
DOORS = [("lead", "standard-webhooks", STANDARD), ("pay", "stripe", STRIPE)]


def rows(database: Database) -> tuple[int, int]:
    """How many events and jobs there are."""
    [row] = database.execute(
        "select (select count(*) from tenure.events)::int as events,"
        " (select count(*) from tenure.jobs)::int as jobs"
    )
    return row["events"], row["jobs"]


def knock(running: Running, source: str, body: bytes, headers: Pairs) -> int:
    """The status of a delivery's answer."""
    return running.deliver(source, body, headers).status_code


@pytest.mark.parametrize(("source", "scheme", "secret"), DOORS)
def test_only_who_can_sign_gets_in(
    running: Running, database: Database, source: str, scheme: str, secret: str
) -> None:
    """A delivery enters with its very bytes signed by the door's secret, now; no other does."""
    key, at = Secret("", secret), running.now()

    def signed(body: bytes, *, by: Secret = key, now: float = at) -> Pairs:
        return sign(preset(scheme), body, by, event_id="msg_1", now=now)

    tampered = BODY.replace(b"2.50", b"9.50")
    other = Secret("", "whsec_" + "B" * 44)
    turned_away = {
        "nothing signed": knock(running, source, BODY, []),
        "another body": knock(running, source, tampered, signed(BODY)),
        "the same JSON, other bytes": knock(running, source, BODY.strip(), signed(BODY)),
        "another secret": knock(running, source, BODY, signed(BODY, by=other)),
        "an old delivery": knock(running, source, BODY, signed(BODY, now=at - 3_600)),
        "one from the future": knock(running, source, BODY, signed(BODY, now=at + 3_600)),
    }
    assert turned_away == dict.fromkeys(turned_away, 401)
    assert rows(database) == (0, 0)
    assert knock(running, source, BODY, signed(BODY)) == 200
    assert knock(running, source, BODY, signed(BODY)) == 200
    assert rows(database) == (1, 1)


def test_a_job_is_made_by_who_holds_a_token_for_it(running: Running, database: Database) -> None:
    """No token, a wrong one, one that may only read: no job; the right one makes it."""
    reader = tokens.create(database, owner="ann", scopes=["read"], by="test", expires=None)
    writer = tokens.create(database, owner="bob", scopes=["enqueue"], by="test", expires=None)
    order = {"automation": "lead", "input": {"a": [1.0]}}
    answers = [
        running.client.post("/v1/jobs", json=order, headers=headers).status_code
        for headers in (
            {},
            {"authorization": "Bearer tnr_" + "A" * 43},
            {"authorization": f"Bearer {reader.token}"},
        )
    ]
    assert answers == [401, 401, 403]
    assert rows(database) == (0, 0)
    right = {"authorization": f"Bearer {writer.token}"}
    assert running.client.post("/v1/jobs", json=order, headers=right).status_code == 201
    assert rows(database) == (0, 1)


def test_nothing_listens_without_a_token(database_url: str) -> None:
    """A server without a single token does not start."""
    app = application()
    with pytest.raises(ConfigurationError, match="token"):
        server.serve(app, app.settings, database_url, announce=print)


def test_there_is_no_door_that_asks_nothing() -> None:
    """A source cannot be declared without a scheme that verifies, or without a secret."""
    with pytest.raises(ConfigurationError):
        declare("open", scheme="none", secret=env("X"))
    with pytest.raises(ConfigurationError):
        declare("open", scheme="stripe", secret=())
