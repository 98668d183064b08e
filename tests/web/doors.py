"""A server to knock at, deliveries to knock with, and an outage to knock during."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from starlette.types import ASGIApp

from tenure.app import Tenure
from tenure.base.clock import now
from tenure.base.defaults import Settings
from tenure.base.schemes import preset
from tenure.base.secrets import env
from tenure.base.signing import sign
from tenure.base.verification import Secret
from tenure.flow.context import Context
from tenure.store import events
from tenure.store.database import Database
from tenure.web.listening import Server, address_of, bind
from tenure.web.server import asgi, declare
from tests.kit import facts

DEADLINE = 20.0
LIMIT = 100_000
STANDARD = "whsec_" + base64.b64encode(bytes(range(32))).decode()
FORMER = "whsec_" + base64.b64encode(bytes(range(32, 64))).decode()
STRIPE = "whsec_hunter22hunter22hunter22"
PLAIN = "plain-hunter22-plain"
SECRETS = {"LEAD": STANDARD, "LEAD_FORMER": FORMER, "PAY": STRIPE, "PLAIN": PLAIN}

Pairs = list[tuple[bytes, bytes]]
T = TypeVar("T")


class Amounts(msgspec.Struct):
    """What the automation ``lead`` takes."""

    a: list[float] = []


def application() -> Tenure:
    """Three doors, and automations behind two of them."""
    app = Tenure()
    leads = app.source("lead", scheme="standard-webhooks", secret=(env("LEAD"), env("LEAD_FORMER")))
    payments = app.source("pay", scheme="stripe", secret=env("PAY"))
    app.source("plain", scheme="hmac-sha256", secret=env("PLAIN"))

    @app.automation(on=leads)
    async def lead(ctx: Context, amounts: Amounts) -> None: ...

    @app.automation(on=payments["charge.refunded"])
    async def refund(ctx: Context) -> None: ...

    return app


class Running:
    """The application on a port of its own, in a thread, until the block ends."""

    def __init__(self, app: Tenure, database_url: str, *, limit: int = LIMIT) -> None:
        """Declare what the application has and listen; it answers within the block."""
        database = Database(database_url)
        declare(app, database)
        self.settings = Settings(event_limit=limit, input_limit=1_000, drain=DEADLINE)
        served = asgi(app, database_url=database_url, settings=self.settings)
        self._skew = events.clock(database).timestamp() - now()
        database.close()
        self._start(served)

    def _start(self, served: ASGIApp) -> None:
        listening = bind("127.0.0.1", 0)
        self.address = address_of(listening)
        ready = threading.Event()
        self.server = Server(served, drain=DEADLINE, ready=ready.set)
        self.client = httpx2.Client(base_url=self.address, timeout=DEADLINE, trust_env=False)
        self._thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [listening]}, daemon=True
        )
        self._thread.start()
        assert ready.wait(DEADLINE)

    def now(self) -> float:
        """Seconds since 1970 by the database's clock as it was at the start."""
        return now() + self._skew

    def signed(
        self, source: str, body: bytes, *, id_: str = "msg_1", age: float = 0, secret: str = ""
    ) -> Pairs:
        """The headers of a genuine delivery to one of the doors, signed ``age`` seconds ago."""
        name, value = {
            "lead": ("standard-webhooks", STANDARD),
            "pay": ("stripe", STRIPE),
            "plain": ("hmac-sha256", PLAIN),
        }[source]
        key = Secret("", secret or value)
        return sign(preset(name), body, key, event_id=id_, now=self.now() - age)

    def deliver(
        self, source: str, body: bytes, headers: Pairs | None = None, **how: object
    ) -> httpx2.Response:
        """Send a delivery, signed as it should be where no headers are given."""
        if headers is None:
            headers = self.signed(source, body, **how)  # type: ignore[arg-type]  # one signature
        return self.client.post(f"/hooks/{source}", content=body, headers=headers)

    def raw(self, *pieces: bytes, leave: bool = False) -> tuple[int, bytes]:
        """Send bytes as they are, and ``leave`` or listen; status (0: none) and whole answer."""
        at = urlsplit(self.address)
        assert at.hostname is not None
        assert at.port is not None
        with socket.create_connection((at.hostname, at.port), timeout=DEADLINE) as conn:
            answer = b""
            with contextlib.suppress(ConnectionError):  # it may have heard enough
                for piece in pieces:
                    conn.sendall(piece)
                if leave:
                    conn.shutdown(socket.SHUT_WR)
                while chunk := conn.recv(65_536):
                    answer += chunk
        return (int(answer.split(b" ", 2)[1]) if answer else 0), answer

    def __enter__(self) -> Self:
        """The server answers."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it as SIGTERM would."""
        self.client.close()
        self.server.should_exit = True
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()


def request(path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes = b"") -> bytes:
    """A POST as it is written on the wire, with a length and one request a connection."""
    lines = [b"POST %b HTTP/1.1" % path.encode(), b"host: door", b"connection: close"]
    lines += [b"%b: %b" % pair for pair in headers]
    lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


@contextlib.contextmanager
def outage(server_url: str, database_url: str) -> Iterator[None]:
    """The test's database refuses connections, and those there were are cut."""
    name = str(conninfo_to_dict(database_url)["dbname"])
    allow = sql.SQL("alter database {} allow_connections {}")
    with psycopg.connect(server_url, autocommit=True) as conn:
        conn.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
        cut(conn, name)
        yield
        conn.execute(allow.format(sql.Identifier(name), sql.SQL("true")))


def cut(conn: psycopg.Connection, name: str) -> None:
    """End every session of a database, and return when they have gone."""
    end = "select pg_terminate_backend(pid, 20000) from pg_stat_activity where datname = %s"
    conn.execute(end, [name])


def until(ask: Callable[[], T | None]) -> T:
    """What ``ask`` answers, once it answers anything but nothing; asked at a person's pace.

    Asking a server as fast as a loop can opens more connections than it may have files.
    """
    return facts.until(ask, within=DEADLINE)
