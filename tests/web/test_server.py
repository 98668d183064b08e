"""A server starts only where it can keep its promises, and stops in good order."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from tenure.app import Tenure
from tenure.base.defaults import Settings
from tenure.base.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    SchemaMismatch,
    UnknownName,
)
from tenure.base.schemes import preset
from tenure.base.signing import sign
from tenure.base.verification import Secret
from tenure.store import tokens
from tenure.store.database import Database
from tenure.web.listening import address_of, bind
from tenure.web.server import declare, serve
from tests.house.tree import ROOT
from tests.web.doors import DEADLINE, PLAIN, SECRETS, application, request, until


def start(app: Tenure, url: str, *, port: int = 0, first_token: bool = False) -> list[str]:
    """What a server says that does not come to listen."""
    said: list[str] = []
    serve(app, Settings(port=port), url, first_token=first_token, announce=said.append)
    return said


def test_nothing_listens_without_a_credential(database: Database, database_url: str) -> None:
    """Without a token that is still good the server does not start, and makes none unasked."""
    dead = tokens.create(database, owner="ann", scopes=["read"], by="test")
    tokens.revoke(database, dead.id, by="test")
    with pytest.raises(ConfigurationError, match="no token opens this server"):
        start(application(), database_url)
    assert len(tokens.listed(database)) == 1


def test_a_taken_port_is_told_before_anything_is_done(
    database: Database, database_url: str
) -> None:
    """The address is named, and no token was made that nobody would see."""
    with bind("127.0.0.1", 0) as taken:
        port = urlsplit(address_of(taken)).port
        assert port
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}"):
            start(application(), database_url, port=port, first_token=True)
    assert tokens.listed(database) == ()


def test_what_listens_to_nothing_does_not_start(database_url: str) -> None:
    """An automation on a source that nobody declared is told with the nearest name."""
    app = application()

    @app.automation(on="laed")
    async def lost(ctx: object) -> None: ...

    with pytest.raises(UnknownName, match="Did you mean 'lead'"):
        start(app, database_url, first_token=True)


def test_a_schema_it_cannot_serve_is_told(database: Database, database_url: str) -> None:
    """A database that was not migrated is not served."""
    database.execute("delete from tenure.migrations where version = 1")
    with pytest.raises(SchemaMismatch, match="lacks 1 migrations"):
        start(application(), database_url, first_token=True)


def test_a_database_that_does_not_answer_is_told(database_url: str) -> None:
    """The server does not start into an outage."""
    nowhere = database_url.replace("tenure_test_", "tenure_gone_")
    with pytest.raises(DatabaseUnavailable):
        start(application(), nowhere, first_token=True)


def test_what_the_application_declares_is_written(database: Database) -> None:
    """The door and SQL callers find every automation and source as a row."""
    declare(application(), database)
    declare(application(), database)
    names = database.execute("select name, listens from tenure.automations order by name")
    assert [(row["name"], row["listens"]) for row in names] == [
        ("lead", ["lead"]),
        ("refund", ["pay#charge.refunded"]),
    ]
    rows = database.execute("select name, scheme, event_key from tenure.sources order by name")
    assert [tuple(row.values()) for row in rows] == [
        ("lead", "standard-webhooks", "header:webhook-id"),
        ("pay", "stripe", "body:id"),
        ("plain", "hmac-sha256", None),
    ]


class Served:
    """A server in a process of its own."""

    def __init__(self, url: str) -> None:
        """Start it; its first lines are read as it says them."""
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.web.served", url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # what was read with one line would be missed with the next
            cwd=ROOT,
            env=os.environ | SECRETS,
        )

    def hear(self) -> str:
        """The next line it says."""
        assert self.popen.stdout is not None
        readable, _, _ = select.select([self.popen.stdout], [], [], DEADLINE)
        assert readable, "the server says nothing"
        return self.popen.stdout.readline().decode().strip()

    def end(self) -> tuple[int, str]:
        """Its exit code and all else it said, once it has ended."""
        rest = self.popen.communicate(timeout=DEADLINE)
        return self.popen.returncode, b"".join(rest).decode()


@pytest.fixture
def served(database_url: str) -> Iterator[Served]:
    """A server as the command line starts it, gone when the test has ended."""
    server = Served(database_url)
    yield server
    server.popen.kill()
    server.popen.wait(DEADLINE)


def test_the_first_token_is_told_once_and_opens_the_server(
    served: Served, database: Database, database_url: str
) -> None:
    """It is announced with the address, works, and is not made again at the next start."""
    token = served.hear().rpartition(" ")[2]
    address = served.hear().removeprefix("listening on ")
    answer = httpx2.post(
        f"{address}/v1/jobs",
        json={"automation": "lead", "input": {}},
        headers={"authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 201
    [listed] = tokens.listed(database)
    assert (listed.owner, listed.usable) == ("first", True)
    again = Served(database_url)
    assert again.hear().startswith("listening on http://127.0.0.1:")
    again.popen.send_signal(signal.SIGINT)
    assert again.end()[0] == 0
    assert len(tokens.listed(database)) == 1


def test_sigterm_lets_a_delivery_come_to_its_end(served: Served, database: Database) -> None:
    """A request under way is answered, new ones find nobody, the process ends well and quietly."""
    served.hear()
    at = urlsplit(served.hear().removeprefix("listening on "))
    assert at.hostname
    assert at.port
    here = (at.hostname, at.port)
    body = b"late"
    with socket.create_connection(here, timeout=DEADLINE) as conn:
        secret = Secret("", PLAIN)
        signed = sign(preset("hmac-sha256"), body, secret, event_id="", now=0.0)
        head = request("/hooks/plain", [*signed, (b"expect", b"100-continue")], body)
        conn.sendall(head.removesuffix(body))
        assert conn.recv(1_000).startswith(b"HTTP/1.1 100")
        served.popen.send_signal(signal.SIGTERM)
        until(lambda: not _answers(here))
        conn.sendall(body)
        assert conn.recv(1_000).startswith(b"HTTP/1.1 200")
    code, said = served.end()
    assert (code, said) == (0, "")
    assert database.execute("select body from tenure.events")[0]["body"] == body
    assert PLAIN not in said


def _answers(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=DEADLINE).close()
    except OSError:
        return False
    return True
