"""Jobs are made by those who may, once for each key, and only of inputs that fit."""

from __future__ import annotations

import json
import logging
import uuid

import httpx2
import psycopg
import pytest

from tenure.base.model import Declared
from tenure.base.tokens import SCOPES
from tenure.store import automations, tokens
from tenure.store.database import Database
from tests.conftest import Clock
from tests.web.doors import Running, cut, outage

GOOD = {"input": {"a": [1, 2.5]}}


@pytest.fixture
def token(database: Database) -> str:
    """A token that may enqueue and read."""
    return tokens.create(database, owner="ann", scopes=["enqueue", "read"], by="test").token


def order(running: Running, token: str, content: object = None, **headers: str) -> httpx2.Response:
    """Ask for a job of the automation ``lead``; bytes are sent as they are."""
    named = content if isinstance(content, bytes) else {"automation": "lead", **GOOD}
    if isinstance(content, dict):
        named = {"automation": "lead", **GOOD, **content}
    sent = named if isinstance(named, bytes) else json.dumps(named).encode()
    shown = {"authorization": f"Bearer {token}"} | headers
    return running.client.post("/v1/jobs", content=sent, headers=shown)


def jobs(database: Database) -> int:
    """How many jobs there are."""
    return int(database.execute("select count(*)::int as n from tenure.jobs")[0]["n"])


def test_a_job_is_made_as_it_was_ordered(running: Running, database: Database, token: str) -> None:
    """Input, key, time, priority and the token's owner stand in the job's rows."""
    wanted = {"key": "k1", "at": "2031-05-01T12:00:00+02:00", "priority": 1}
    answer = order(running, token, wanted)
    assert (answer.status_code, answer.json()["created"]) == (201, True)
    [row] = database.execute(
        "select j.id::text, j.unique_key, j.leased_until at time zone 'UTC' as at, j.priority,"
        " j.created_by, i.input::text from tenure.jobs j join tenure.inputs i on i.job_id = j.id"
    )
    assert row["id"] == answer.json()["job"]
    assert (row["unique_key"], row["priority"], row["created_by"]) == ("k1", 1, "token:ann")
    assert row["at"].isoformat() == "2031-05-01T10:00:00"
    assert json.loads(row["input"]) == {"a": [1, 2.5]}


def test_an_order_may_wait_expire_and_have_tags(
    running: Running, database: Database, token: str
) -> None:
    """A delay counts from now, an expiry from when the job is due; bad ones are refused."""
    wanted = {"delay": 60, "expires_after": 30, "tags": ["a", "b"]}
    assert order(running, token, wanted).status_code == 201
    [row] = database.execute(
        "select extract(epoch from leased_until - created_at)::float8 as delay,"
        " extract(epoch from expires_at - leased_until)::float8 as expires, tags from tenure.jobs"
    )
    assert (round(row["delay"]), row["expires"], row["tags"]) == (60, 30.0, ["a", "b"])
    for odd in (
        {"delay": -1},
        {"expires_after": 0},
        {"expires": "2001-01-01T00:00:00Z"},
        {"tags": [""]},
        {"tags": ["a\u0000b"]},
        {"at": "2031-05-01T12:00:00Z", "delay": 1},
    ):
        assert order(running, token, odd).status_code == 422, odd
    assert jobs(database) == 1


def test_the_same_key_makes_one_job(running: Running, database: Database, token: str) -> None:
    """In the order or in the header, the key's second job is the first one, told with 200."""
    first = order(running, token, {"key": "k1"})
    again = order(running, token, **{"idempotency-key": "k1"})
    assert (again.status_code, again.json()) == (
        200,
        {"job": first.json()["job"], "created": False},
    )
    other = order(running, token, {"key": "k2"}, **{"idempotency-key": "k1"})
    assert other.status_code == 201
    assert jobs(database) == 2


def test_a_job_is_told_to_those_who_may_read(running: Running, token: str) -> None:
    """The answer has its state, what it waits for and who made it."""
    job_id = order(running, token).json()["job"]
    answer = running.client.get(f"/v1/jobs/{job_id}", headers={"authorization": f"bearer  {token}"})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["id"], told["state"], told["automation"]) == (job_id, "ready", "lead")
    assert (told["created_by"], told["waiting_on"]) == ("token:ann", None)


@pytest.mark.parametrize("job_id", [str(uuid.UUID(int=5)), "5", "%00", "x" * 5_000])
def test_a_job_nobody_was_told_of_is_not_found(running: Running, token: str, job_id: str) -> None:
    """An unknown id and what is no id are one answer."""
    answer = running.client.get(f"/v1/jobs/{job_id}", headers={"authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["error"]) == (404, "nothing is here")


@pytest.mark.parametrize(
    "shown",
    [
        [],
        ["Bearer"],
        ["Bearer tnr_" + "x" * 43],
        ["Bearer tnr_" + "x" * 5_000],
        ["Bearer tnr_\xff"],
        ["Basic {token}"],
        ["{token}"],
        ["Bearer {token}", "Bearer {token}"],
        ["Bearer {token}x"],
    ],
)
def test_without_a_good_token_nothing_is_read_or_made(
    running: Running, database: Database, token: str, shown: list[str]
) -> None:
    """Whatever is shown instead of one token is a 401 with a challenge, and makes no job."""
    headers = [(b"authorization", value.format(token=token).encode("latin-1")) for value in shown]
    for answer in (
        running.client.post("/v1/jobs", json={"automation": "lead", **GOOD}, headers=headers),
        running.client.get(f"/v1/jobs/{uuid.uuid4()}", headers=headers),
    ):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith('Bearer realm="tenure"')
    assert jobs(database) == 0


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_opens_what_its_scope_says(
    running: Running, database: Database, scope: str
) -> None:
    """Enqueue makes jobs, read reads them, and no scope stands in for another."""
    token = tokens.create(database, owner="bob", scopes=[scope], by="test").token
    made = order(running, token)
    read = running.client.get(
        f"/v1/jobs/{uuid.uuid4()}", headers={"authorization": f"Bearer {token}"}
    )
    assert made.status_code == (201 if scope == "enqueue" else 403)
    assert read.status_code == (404 if scope == "read" else 403)
    if scope != "enqueue":
        assert 'scope="enqueue"' in made.headers["www-authenticate"]


def test_a_token_that_ended_opens_nothing(
    running: Running, database: Database, clock: Clock
) -> None:
    """A token counts until it is revoked or its time is over, and not a request longer."""
    revoked, ending = (
        tokens.create(database, owner=owner, scopes=["enqueue"], by="test", expires=60.0)
        for owner in ("ann", "bob")
    )
    assert order(running, revoked.token).status_code == 201
    tokens.revoke(database, revoked.id, by="test")
    assert order(running, revoked.token).status_code == 401
    assert order(running, ending.token).status_code == 201
    clock.advance(61)
    assert order(running, ending.token).status_code == 401
    assert jobs(database) == 2


def test_an_unknown_automation_is_told_with_the_nearest(
    running: Running, database: Database, token: str
) -> None:
    """A name nobody declared makes no job, and the one that was meant is named."""
    answer = order(running, token, {"automation": "laed"})
    assert answer.status_code == 404
    assert "'laed'" in answer.json()["error"]
    assert answer.json()["hint"] == "Did you mean 'lead'?"
    assert order(running, token, {"automation": "\0" * 9}).status_code == 404
    assert jobs(database) == 0


def test_an_input_that_does_not_fit_is_told_with_path_and_value(
    running: Running, database: Database, token: str
) -> None:
    """No job is made, and the caller learns what is wrong and where."""
    answer = order(running, token, {"input": {"a": [1, "2"]}})
    assert answer.status_code == 422
    told = answer.json()
    assert "Expected `float`, got `str`" in told["error"]
    assert (told["path"], told["value"]) == ("$.a[1]", '"2"')
    assert jobs(database) == 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"automation":"lead","input":NaN}', 400),
        (b'{"automation":"lead","input":"\xff"}', 400),
        (b'{"automation":"lead","input":' + b"[" * 2_000 + b"]" * 2_000 + b"}", 400),
        (b"[]", 422),
        (b"{}", 422),
        ({"automation": 5}, 422),
        ({"priority": 10}, 422),
        ({"priority": "5"}, 422),
        ({"at": "2031-05-01T12:00:00"}, 422),
        ({"at": "tomorrow"}, 422),
        ({"at": "9999-12-31T23:59:59-23:59"}, 422),
        ({"at": "0001-01-01T00:00:00+23:59"}, 422),
        ({"key": ""}, 422),
        ({"key": "a\0b"}, 422),
        ({"key": "x" * 513}, 422),
        ({"unknown": 1}, 422),
        ({"input": {"a": [1.0] * 400}}, 413),
        ({"input": {"a": [], "\ud800": "\0"}}, 422),
        ({"automation": "refund", "input": {"a": [], "\ud800": 1}}, 422),
        ({"automation": "refund", "input": {"a": ["\0"]}}, 422),
        ({"automation": "refund", "input": {"a": 10**29}}, 201),
        ({"automation": "\ud800"}, 404),
        ({"key": "\ud800"}, 422),
        (b"x" * 20_000, 413),
    ],
)
def test_an_order_that_cannot_be_carried_out_makes_no_job(
    running: Running, database: Database, token: str, content: object, status: int
) -> None:
    """What is no JSON, does not fit or is too large is refused below 500, with what to do."""
    answer = order(running, token, content)
    assert answer.status_code == status
    assert jobs(database) == (1 if status == 201 else 0)
    assert status == 201 or answer.json()["hint"]


@pytest.mark.parametrize("keys", [["a\tb"], ["x" * 600], ["a", "b"], ["\xe9"]])
def test_a_header_that_is_no_key_makes_no_job(
    running: Running, database: Database, token: str, keys: list[str]
) -> None:
    """A key that could not be kept as it is, or two of them, is refused, not guessed."""
    headers = [(b"authorization", f"Bearer {token}".encode())]
    headers += [(b"idempotency-key", key.encode("latin-1")) for key in keys]
    answer = running.client.post("/v1/jobs", json={"automation": "lead", **GOOD}, headers=headers)
    assert answer.status_code == 400
    assert jobs(database) == 0


def test_an_outage_is_a_503_and_passes(
    running: Running, token: str, server_url: str, database_url: str
) -> None:
    """While the database is away nobody is let in and nothing is lost; then all is well."""
    assert order(running, token).status_code == 201
    with outage(server_url, database_url):
        answer = order(running, token)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert order(running, token).status_code == 201


def test_connections_cut_meanwhile_are_not_noticed(
    running: Running, token: str, server_url: str, database: Database
) -> None:
    """Orders without a key go over a connection that has proved itself."""
    name = database.execute("select current_database() as name")[0]["name"]
    for _ in range(3):
        assert order(running, token).status_code == 201
        database.close()
        with psycopg.connect(server_url, autocommit=True) as conn:
            cut(conn, name)
    assert order(running, token).status_code == 201
    assert jobs(database) == 4


def test_no_token_is_in_any_row_log_or_answer(
    running: Running, database: Database, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is shown at the door is neither kept nor repeated."""
    secret = token.removeprefix("tnr_")
    with caplog.at_level(logging.DEBUG):
        answers = [order(running, token), order(running, token + "x"), order(running, token, b"{")]
    rows = database.execute(
        "select (select string_agg(j::text, '') from tenure.jobs j)"
        " || (select string_agg(t::text, '') from tenure.tokens t)"
        " || (select string_agg(a::text, '') from tenure.audit a) as all"
    )
    logged = "".join(record.getMessage() for record in caplog.records if _ours(record))
    assert secret not in rows[0]["all"] + logged + "".join(answer.text for answer in answers)


def _ours(record: logging.LogRecord) -> bool:
    """The test's own client logs its requests too."""
    return not record.name.startswith("http")


def test_health_is_told_to_anybody_and_tells_nothing_else(running: Running) -> None:
    """The one address without a credential says that the server answers, and no more."""
    answer = running.client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    assert "server" not in answer.headers


def test_an_input_of_an_automation_of_other_code_is_held_against_what_was_declared(
    running: Running, database: Database, token: str
) -> None:
    """Where the server does not have the type, the schema that its worker declared decides."""
    declared = Declared(
        name="elsewhere",
        version="v1",
        lane="free",
        input_schema='{"type": "object", "properties": {"a": {"type": "array"}}}',
    )
    automations.declare(database, declared, by="test")
    wrong = order(running, token, {"automation": "elsewhere", "input": {"a": 5}})
    assert wrong.status_code == 422
    assert (wrong.json()["path"], wrong.json()["value"]) == ("$.a", "5")
    assert order(running, token, {"automation": "elsewhere"}).status_code == 201
    assert jobs(database) == 1
