"""What enters is stored byte for byte, once, with the jobs that it makes."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from uuid import UUID

import pytest

from tenure.base.clock import now
from tenure.base.conceal import Concealment
from tenure.base.model import Declared
from tenure.base.secrets import env
from tenure.store import automations, events, sources
from tenure.store.database import Database
from tenure.store.events import Accepted, Arrival
from tenure.store.sources import DeclaredSource
from tests.conftest import Clock

DEADLINE = 20.0
BODY = b'\x00\xff{"a": 1}\r\n'
HEADERS = ((b"content-type", b"application/json"), (b"webhook-signature", b"v1,c2VjcmV0"))


@pytest.fixture
def lead(database: Database) -> str:
    """A source, with one automation that hears all of it and one that hears one type."""
    declared = DeclaredSource("lead", "standard-webhooks", (env("LEAD"),), "header:webhook-id")
    sources.declare(database, declared, by="test")
    for name, listens in (("all", "lead"), ("won", "lead#deal.won"), ("other", "else")):
        automations.declare(database, Declared(name, "v1", listens=(listens,)), by="test")
    return "lead"


def take(
    database: Database,
    key: str | None = "k1",
    body: bytes = BODY,
    *,
    headers: Sequence[tuple[bytes, bytes]] = HEADERS,
    type_: str | None = None,
    secrets: Concealment | None = None,
) -> Accepted:
    """Take a delivery in; it must not be turned away."""
    arrival = Arrival("lead", body, headers, key=key, type=type_, secret="env:LEAD")
    if secrets is not None:
        arrival = Arrival("lead", body, headers, key=key, secrets=secrets)
    accepted = events.accept(database, arrival)
    assert accepted is not None
    return accepted


def listeners(database: Database, event_id: UUID) -> list[str]:
    """The automations that have a job of this event."""
    text = "select automation from tenure.jobs where event_id = %(id)s order by automation"
    return [row["automation"] for row in database.execute(text, {"id": event_id})]


def test_an_event_is_kept_byte_for_byte(database: Database, lead: str) -> None:
    """What comes out is what went in: NUL, bytes that are no text, the line break at the end."""
    accepted = take(database)
    event = events.get(database, accepted.event_id)
    assert event is not None
    assert (event.body, event.source, event.key, event.content_type) == (
        *(BODY, "lead", "k1", "application/json"),
    )
    [row] = database.execute("select digest, secret_label, received_at from tenure.events")
    assert (bytes(row["digest"]), row["secret_label"]) == (
        hashlib.sha256(BODY).digest(),
        "env:LEAD",
    )
    assert row["received_at"] <= accepted.at


def test_whoever_listens_has_a_job(database: Database, lead: str) -> None:
    """The accepting statement makes a job for each automation that listens, by source or type."""
    first, second = take(database, "k1"), take(database, "k2", type_="deal.won")
    assert (first.jobs, listeners(database, first.event_id)) == (1, ["all"])
    assert (second.jobs, listeners(database, second.event_id)) == (2, ["all", "won"])


def test_a_repeated_delivery_makes_nothing(database: Database, lead: str) -> None:
    """The same key and body again is answered with the first one's id, and is only counted."""
    first = take(database)
    again = take(database)
    assert (again.event_id, again.outcome, again.jobs) == (first.event_id, "duplicate", 0)
    assert len(listeners(database, first.event_id)) == 1
    [row] = database.execute("select duplicates from tenure.event_keys")
    assert row["duplicates"] == 1


def test_the_same_key_with_another_body_is_a_conflict(database: Database, lead: str) -> None:
    """It is kept and counted once for each body, and nothing of the first event changes."""
    first = take(database)
    for _ in range(2):
        other = take(database, body=b"other")
        assert (other.event_id, other.outcome, other.jobs) == (first.event_id, "conflict", 0)
    [row] = database.execute("select body, count from tenure.event_conflicts")
    assert (bytes(row["body"]), row["count"]) == (b"other", 2)
    event = events.get(database, first.event_id)
    assert event is not None
    assert event.body == BODY
    assert len(listeners(database, first.event_id)) == 1


def test_without_a_key_each_delivery_is_an_event(database: Database, lead: str) -> None:
    """Where the scheme names no key, nothing is taken for a repetition."""
    first, second = take(database, None), take(database, None)
    assert first.event_id != second.event_id
    assert second.outcome == "accepted"
    assert list(database.execute("select * from tenure.event_keys")) == []


@pytest.mark.parametrize("state", ["disabled", "undeclared"])
def test_a_closed_source_takes_nothing(database: Database, lead: str, state: str) -> None:
    """A source that is disabled, or has no row, leaves neither event nor key behind."""
    name = lead if state == "disabled" else "nobody"
    if state == "disabled":
        sources.set_state(database, lead, "disabled", by="test")
    assert events.accept(database, Arrival(name, BODY, HEADERS, key="k1")) is None
    [row] = database.execute(
        "select (select count(*) from tenure.events) + (select count(*) from tenure.event_keys)"
        " as written"
    )
    assert row["written"] == 0


def test_no_credential_is_stored_with_the_headers(database: Database, lead: str) -> None:
    """Signatures are masked by name, and a secret's value is hidden wherever else it stands."""
    headers = ((b"Webhook-Signature", b"v1,abc"), (b"x-odd", b"a hunter22 b"), (b"x-odd", b"2"))
    accepted = take(database, headers=headers, secrets=Concealment({"LEAD": "hunter22"}))
    event = events.get(database, accepted.event_id)
    assert event is not None
    assert json.loads(event.headers) == [
        ["Webhook-Signature", "[redacted]"],
        ["x-odd", "a {secret:LEAD} b"],
        ["x-odd", "2"],
    ]


def test_odd_headers_do_not_keep_an_event_out(database: Database, lead: str) -> None:
    """NUL and bytes beyond ASCII are made storable, and what is too long is cut with a mark."""
    headers = (
        (b"x-\xff\x00", b"\x00\xe9"),
        (b"content-type", b"a\x00b"),
        (b"x-long", b"y" * 9_000),
    )
    accepted = take(database, headers=headers, type_="t\x00" + "y" * 300)
    event = events.get(database, accepted.event_id)
    assert event is not None
    kept = dict(json.loads(event.headers))
    assert kept["x-ÿ␀"] == "␀é"
    assert event.content_type == "a␀b"
    assert kept["x-long"].endswith("… [cut: 9000 bytes]")
    assert event.type is not None
    assert event.type.startswith("t␀yyy")
    assert len(event.type.encode()) <= 256


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_two_deliveries_at_once_of_one_key_make_one_event(
    database: Database, database_url: str, lead: str, ends: str
) -> None:
    """The second waits for the first: a duplicate where that commits, else the event itself."""
    second: list[Accepted] = []
    other = Database(database_url)
    late = threading.Thread(target=lambda: second.append(take(other)))
    watching = Database(database_url)
    first: Accepted | None = None
    try:
        with database.transaction():
            first = take(database)
            late.start()
            _wait_for_a_waiter(watching)
            if ends == "rollback":
                raise LookupError  # noqa: TRY301 - whatever ends a transaction badly
    except LookupError:
        first = None
    late.join(DEADLINE)
    for each in (other, watching):
        each.close()
    [kept] = database.execute("select id from tenure.events")
    assert second[0].event_id == kept["id"]
    assert second[0].outcome == ("accepted" if first is None else "duplicate")
    assert len(listeners(database, kept["id"])) == 1


def _wait_for_a_waiter(watching: Database) -> None:
    deadline = now() + DEADLINE
    text = (
        "select 1 from pg_stat_activity where datname = current_database()"
        " and wait_event_type = 'Lock'"
    )
    while not watching.execute(text):
        assert now() < deadline, "nobody waits"


def test_an_unknown_event_is_none(database: Database, lead: str) -> None:
    """There is no event of an id that nobody was told."""
    assert events.get(database, UUID(int=7)) is None


def test_the_clock_is_the_databases(database: Database, clock: Clock) -> None:
    """The door's time moves with the database's, and with nothing else."""
    before = events.clock(database)
    clock.advance(3_600)
    assert 3_600 <= (events.clock(database) - before).total_seconds() < 3_600 + DEADLINE
