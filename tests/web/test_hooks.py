"""Only genuine deliveries get in, once, and whatever else is sent is turned away in good order."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import httpx2
import psycopg
import pytest

from tenure.store import events, sources
from tenure.store.database import Database
from tests.conftest import Clock
from tests.web.doors import (
    FORMER,
    LIMIT,
    PLAIN,
    SECRETS,
    STRIPE,
    Running,
    cut,
    outage,
    request,
    until,
)

REFUND = b'{"id":"evt_1","type":"charge.refunded"}'
BODIES = [
    b'{"id":"evt_1","type":"charge.refunded"}\r\n',
    b'\n {"id": "evt_1",\t"type": "charge.refunded"}',
    b'{"id":"evt_1","type":"charge.refunded","name":"\\u0000\\ud800 \xc5\x81"}',
]


def stored(database: Database, answer: httpx2.Response) -> bytes:
    """The body of the event that was answered with."""
    event = events.get(database, UUID(answer.json()["event"]))
    assert event is not None
    return event.body


def count(database: Database) -> int:
    """How many events there are."""
    [row] = database.execute("select count(*)::int as n from tenure.events")
    return int(row["n"])


def rejected(database: Database, source: str, total: int) -> dict[str, int]:
    """What was counted as refused, by reason, as soon as so many were."""
    text = (
        "select reason, sum(count)::int as n from tenure.rejections where source = %(s)s group by 1"
    )

    def counted() -> dict[str, int] | None:
        counts = {row["reason"]: row["n"] for row in database.execute(text, {"s": source})}
        return counts if sum(counts.values()) >= total else None

    return until(counted)


def test_a_genuine_delivery_is_an_event_and_its_jobs(running: Running, database: Database) -> None:
    """The answer has the event's id, and event and jobs are there by then."""
    body = b'{"amounts": [1]}'
    answer = running.deliver("lead", body)
    assert (answer.status_code, answer.json()["outcome"], answer.json()["jobs"]) == (
        *(200, "accepted", 1),
    )
    assert stored(database, answer) == body
    [job] = database.execute("select automation, event_id, created_by from tenure.jobs")
    assert (job["automation"], str(job["event_id"]), job["created_by"]) == (
        *("lead", answer.json()["event"], "source:lead"),
    )
    [event] = database.execute("select key, secret_label from tenure.events")
    assert (event["key"], event["secret_label"]) == ("msg_1", "env:LEAD")


@pytest.mark.parametrize("body", [*BODIES, b"\x00\xff no json \r\n", b"", b"x" * 90_000])
def test_standard_webhooks_are_verified_byte_for_byte(
    running: Running, database: Database, body: bytes
) -> None:
    """Whatever bytes were signed are let in and stored as they are."""
    answer = running.deliver("lead", body)
    assert answer.status_code == 200
    assert stored(database, answer) == body


@pytest.mark.parametrize("body", BODIES)
def test_stripe_is_verified_byte_for_byte(
    running: Running, database: Database, body: bytes
) -> None:
    """The key is the body's id, the type decides who hears it, the bytes stay as they were."""
    answer = running.deliver("pay", body)
    assert (answer.status_code, answer.json()["jobs"]) == (200, 1)
    assert stored(database, answer) == body
    [row] = database.execute("select key, type from tenure.events")
    assert (row["key"], row["type"]) == ("evt_1", "charge.refunded")
    [job] = database.execute("select automation from tenure.jobs")
    assert job["automation"] == "refund"


def test_an_event_without_a_listener_is_kept(running: Running, database: Database) -> None:
    """A type that nobody listens to makes no job, and is no error."""
    answer = running.deliver("pay", b'{"id":"evt_2","type":["odd"]}')
    assert (answer.status_code, answer.json()["jobs"]) == (200, 0)
    [row] = database.execute("select type from tenure.events")
    assert row["type"] is None


def test_a_repeated_delivery_is_answered_with_the_first_id(running: Running) -> None:
    """The same key and body is a duplicate, another body a conflict, both 200 with the first id."""
    first = running.deliver("lead", b"1").json()
    again = running.deliver("lead", b"1", age=5)
    other = running.deliver("lead", b"2")
    assert (again.status_code, other.status_code) == (200, 200)
    assert again.json() == {"event": first["event"], "outcome": "duplicate", "jobs": 0}
    assert other.json() == {"event": first["event"], "outcome": "conflict", "jobs": 0}


def test_a_scheme_without_a_key_makes_each_delivery_an_event(
    running: Running, database: Database
) -> None:
    """Where the sender names no event, nothing is taken for a repetition."""
    first, again = (running.deliver("plain", b"1").json() for _ in range(2))
    assert first["outcome"] == again["outcome"] == "accepted"
    assert first["event"] != again["event"]
    assert count(database) == 2


def test_many_deliveries_at_once_of_one_key_make_one_event(
    running: Running, database: Database
) -> None:
    """However they fall together, one is accepted and all tell its id."""
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: running.deliver("lead", b"1").json(), range(12)))
    assert sorted(answer["outcome"] for answer in answers) == ["accepted", *["duplicate"] * 11]
    assert len({answer["event"] for answer in answers}) == 1
    assert count(database) == 1


def test_any_live_secret_may_have_signed(running: Running, database: Database) -> None:
    """During a rotation both secrets open the door, and the event tells which one did."""
    assert running.deliver("lead", b"1", secret=FORMER).status_code == 200
    [row] = database.execute("select secret_label from tenure.events")
    assert row["secret_label"] == "env:LEAD_FORMER"


@pytest.mark.parametrize("source", ["lead", "pay"])
def test_what_is_not_genuine_is_refused_and_counted(
    running: Running, database: Database, source: str
) -> None:
    """Each way to be false is a 401 that names it, leaves no event, and is counted by reason."""
    genuine = running.signed(source, REFUND)
    signature = next(name for name, _ in genuine if b"signature" in name)
    refused = {
        "bad_signature": running.deliver(source, REFUND + b" ", genuine),
        "stale": running.deliver(source, REFUND, age=400),
        "future": running.deliver(source, REFUND, age=-400),
        "missing_header": running.deliver(source, REFUND, []),
        "malformed": running.deliver(source, REFUND, [*genuine, (signature, b"x")]),
        "too_large": running.deliver(source, REFUND, [*genuine[:-1], (signature, b"x" * 9_000)]),
    }
    for reason, answer in refused.items():
        assert (answer.status_code, answer.json()["reason"]) == (401, reason)
        assert answer.json()["hint"]
    other = running.deliver(source, REFUND, secret="whsec_" + "A" * 44)
    assert other.json()["reason"] == "bad_signature"
    assert count(database) == 0
    counted = rejected(database, source, 7)
    assert counted == dict.fromkeys(refused, 1) | {"bad_signature": 2}


def test_a_flood_of_refusals_is_a_row(running: Running, database: Database) -> None:
    """Many refusals are one count, and what strangers name leaves no trace."""
    for _ in range(50):
        running.deliver("plain", b"", [(b"x-signature", b"00")])
    running.raw(request("/hooks/stranger", []))
    assert rejected(database, "plain", 50) == {"bad_signature": 50}
    [row] = database.execute(
        "select count(*)::int as rows, count(distinct source)::int as sources"
        " from tenure.rejections"
    )
    assert row["rows"] <= 3
    assert row["sources"] == 1


def test_an_unknown_source_is_like_any_other_address(running: Running) -> None:
    """What is not declared is not told from what was never an address."""
    answers = [
        running.raw(request(path, []))[1].partition(b"\r\n\r\n")[2]
        for path in ("/hooks/nobody", "/nowhere", "/hooks/", "/hooks/lead/", "/hooks/%00%ff", "/")
    ]
    assert len(set(answers)) == 1
    assert json.loads(answers[0])["error"] == "nothing is here"


def test_a_disabled_source_takes_nothing(running: Running, database: Database) -> None:
    """Once disabled it answers 404 to a genuine sender, at once, and 401 to any other."""
    sources.set_state(database, "lead", "disabled", by="test")
    genuine = running.deliver("lead", b"1")
    assert genuine.status_code == 404
    assert "disabled" in genuine.json()["error"]
    assert running.deliver("lead", b"1", []).status_code == 401
    assert count(database) == 0
    sources.set_state(database, "lead", "open", by="test")
    assert running.deliver("lead", b"1").status_code == 200


def test_other_methods_are_refused(running: Running) -> None:
    """Only POST is a delivery."""
    for method in ("GET", "PUT", "DELETE", "HEAD", "OPTIONS"):
        answer = running.client.request(method, "/hooks/lead")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"


def test_a_body_beyond_the_limit_is_refused_unread(running: Running, database: Database) -> None:
    """By its announced length before a byte is sent, or as soon as a byte is too much."""
    head = request("/hooks/lead", []).replace(b"content-length: 0", b"content-length: 10000000000")
    status, answer = running.raw(head)
    assert status == 413
    assert b"connection: close" in answer
    chunked = head.replace(b"content-length: 10000000000", b"transfer-encoding: chunked")
    chunk = b"%x\r\n%b\r\n" % (LIMIT + 1, b"x" * (LIMIT + 1))
    assert running.raw(chunked, chunk)[0] == 413
    assert running.deliver("lead", b"x" * LIMIT).status_code == 200
    assert rejected(database, "lead", 2) == {"too_large": 2}
    assert count(database) == 1


def test_a_delivery_cut_short_is_none(running: Running, database: Database) -> None:
    """A sender who leaves before the end has delivered nothing."""
    whole = request("/hooks/lead", running.signed("lead", b"1234"), b"1234")
    status, _ = running.raw(whole[:-1], leave=True)
    assert status == 0
    assert running.deliver("lead", b"1", id_="msg_2").status_code == 200
    assert count(database) == 1


def test_a_missing_secret_refuses_for_now_and_says_so_in_the_log(
    running: Running,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing gets in without a secret: the sender may come again, the operator is told why."""
    monkeypatch.delenv("PAY")
    with caplog.at_level(logging.WARNING, "tenure.web"):
        answers = [running.deliver("pay", REFUND) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {503}
    assert answers[0].headers["retry-after"] == "5"
    assert "PAY" not in answers[0].text
    assert sum("(PAY): its secret is missing" in line for line in caplog.messages) == 1
    assert rejected(database, "pay", 3) == {"no_secret": 3}
    monkeypatch.setenv("PAY", STRIPE)
    assert running.deliver("pay", REFUND).status_code == 200


def test_one_missing_secret_of_two_does_not_close_the_door(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other secret still opens it."""
    monkeypatch.delenv("LEAD_FORMER")
    assert running.deliver("lead", b"1").status_code == 200


@pytest.mark.parametrize("source", ["lead", "plain"])
def test_an_outage_is_a_503_and_passes(
    running: Running, server_url: str, database_url: str, source: str
) -> None:
    """While the database is away the genuine is put off, the false refused; then all is well."""
    body = b"1"
    genuine = running.signed(source, body)
    assert running.deliver(source, b"before", id_="msg_0").status_code == 200
    with outage(server_url, database_url):
        answer = running.deliver(source, body, genuine)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert answer.json()["error"] == "the database cannot be reached"
        assert running.deliver(source, body, []).status_code == 401
    after = running.deliver(source, body, genuine)
    assert (after.status_code, after.json()["outcome"]) == (200, "accepted")


@pytest.mark.parametrize("source", ["lead", "plain"])
def test_connections_cut_meanwhile_are_not_noticed(
    running: Running, server_url: str, database: Database, source: str
) -> None:
    """A delivery after the database restarted is accepted at once, with a key or without."""
    with ThreadPoolExecutor(8) as pool:
        first = list(pool.map(lambda n: running.deliver(source, b"%d" % n, id_=f"{n}"), range(24)))
    assert {answer.status_code for answer in first} == {200}
    name = database.execute("select current_database() as name")[0]["name"]
    database.close()
    with psycopg.connect(server_url, autocommit=True) as conn:
        cut(conn, name)
    for n in range(24, 40):
        assert running.deliver(source, b"%d" % n, id_=f"{n}").status_code == 200
    assert count(database) == 40


@pytest.mark.parametrize(("source", "tries"), [("lead", 2), ("plain", 1)])
def test_only_what_has_a_key_is_tried_again(
    running: Running, database: Database, source: str, tries: int
) -> None:
    """Lost in the middle, a delivery is repeated where that makes nothing twice, else put off."""
    database.execute(
        "create sequence tenure.tries;"
        " create function tenure.lose() returns trigger language plpgsql as $$ begin"
        " perform nextval('tenure.tries'), pg_terminate_backend(pg_backend_pid());"
        " return new; end $$;"
        " create trigger lose before insert on tenure.events"
        " for each row execute function tenure.lose()"
    )
    assert running.deliver(source, b"1").status_code == 503
    assert database.execute("select last_value from tenure.tries")[0]["last_value"] == tries
    database.execute("drop trigger lose on tenure.events")
    assert running.deliver(source, b"1").json()["outcome"] == "accepted"
    assert count(database) == 1


def test_the_databases_clock_decides_what_is_stale(running: Running, clock: Clock) -> None:
    """A delivery is judged by the database's time, and turned away by a fresh reading alone."""
    ahead = running.signed("lead", b"1", id_="msg_1", age=-3_600)
    assert running.deliver("lead", b"1", ahead).json()["reason"] == "future"
    clock.advance(3_600)

    def accepted() -> bool:
        return running.deliver("lead", b"1", ahead).status_code == 200

    assert until(accepted)
    assert running.deliver("lead", b"1", id_="msg_2").json()["reason"] == "stale"


def test_no_secret_is_in_any_row_log_or_answer(
    running: Running, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even a sender who puts the secret where it does not belong has it stored."""
    with caplog.at_level(logging.DEBUG):
        leaks = [(b"x-odd", PLAIN.encode()), (b"authorization", b"Bearer " + PLAIN.encode())]
        answers = [
            running.deliver("plain", b"1", [*running.signed("plain", b"1"), *leaks]),
            running.deliver("plain", b"1", leaks),
            running.deliver("plain", b"1", [(b"x-signature", PLAIN.encode())]),
            running.deliver("lead", b"1"),
            running.deliver("pay", REFUND),
        ]
    assert [answer.status_code for answer in answers] == [200, 401, 401, 200, 200]
    rejected(database, "plain", 2)
    rows = database.execute(
        "select (select string_agg(e::text, '') from tenure.events e)"
        " || (select string_agg(s::text, '') from tenure.sources s)"
        " || (select string_agg(r::text, '') from tenure.rejections r)"
        " || (select string_agg(a::text, '') from tenure.audit a) as all"
    )
    everywhere = rows[0]["all"] + caplog.text + "".join(answer.text for answer in answers)
    assert "{secret:env:PLAIN}" in rows[0]["all"]
    for secret in SECRETS.values():
        assert secret not in everywhere
        assert secret.encode().hex() not in everywhere
