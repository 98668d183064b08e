"""The emulator is a careful HTTP server: what is malformed, cut short or piped is dealt with."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import httpx2
import pytest

from tenure.testing.emulators import Emulator, generic


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """A plain emulator."""
    with Emulator(generic()) as emulator:
        yield emulator


def _connect(emulator: Emulator) -> socket.socket:
    return socket.create_connection(("127.0.0.1", emulator.port), timeout=10.0)


def _all(conn: socket.socket) -> bytes:
    parts = []
    while part := conn.recv(65_536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 70_000, b"431"),
        (b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", b"400"),
    ],
)
def test_a_malformed_request_is_answered_and_has_no_effect(
    emulator: Emulator, sent: bytes, status: bytes
) -> None:
    """What is no HTTP request gets a status that says so, the end of the connection, no effect."""
    with closing(_connect(emulator)) as conn:
        conn.sendall(sent)
        answer = _all(conn)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert emulator.effects == ()


def test_a_client_that_leaves_in_mid_request_has_no_effect(emulator: Emulator) -> None:
    """A head without its body was seen, and nothing came of it."""
    with closing(_connect(emulator)) as conn:
        conn.sendall(b"POST /deals HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
        emulator.wait_for(lambda it: len(it.arrivals) == 1)
    record = emulator.wait_for(lambda it: it.arrivals[0].outcome == "gone")
    assert record.effects == ()


def test_a_client_that_leaves_in_mid_head_was_never_there(
    client: httpx2.Client, emulator: Emulator
) -> None:
    """Half a head is no arrival; the next client is served."""
    with closing(_connect(emulator)) as conn:
        conn.sendall(b"POST /deals HTTP/1.1\r\nHo")
    assert client.get(f"{emulator.url}/deals").status_code == 200
    assert [arrival.method for arrival in emulator.arrivals] == ["GET"]


def test_a_request_arrives_when_its_head_is_complete(emulator: Emulator) -> None:
    """The body may come as late as it likes: limits and ledger go by the head."""
    with closing(_connect(emulator)) as conn:
        conn.sendall(b"POST /deals HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
        conn.sendall(b"Content-Length: 2\r\n\r\n")
        emulator.wait_for(lambda it: len(it.arrivals) == 1)
        assert emulator.effects == ()
        conn.sendall(b"{}")
        assert _all(conn).startswith(b"HTTP/1.1 201")
    assert len(emulator.effects) == 1


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(emulator: Emulator) -> None:
    """``Expect: 100-continue`` is answered before the body comes."""
    with closing(_connect(emulator)) as conn:
        conn.sendall(
            b"POST /deals HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        assert conn.recv(65_536).startswith(b"HTTP/1.1 100")
        conn.sendall(b"{}")
        assert b"201" in _all(conn)


def test_piped_requests_are_answered_in_order(emulator: Emulator) -> None:
    """Requests sent without waiting are two arrivals and two answers, one after the other."""
    one = b"POST /deals HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    two = b"GET /deals HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with closing(_connect(emulator)) as conn:
        conn.sendall(one + two)
        answers = _all(conn)
    assert answers.index(b"201") < answers.index(b"HTTP/1.1 200")
    assert [arrival.method for arrival in emulator.arrivals] == ["POST", "GET"]


def test_an_answer_has_no_body_where_it_may_have_none(
    client: httpx2.Client, emulator: Emulator
) -> None:
    """HEAD and 204 are answered without a body, and the connection stays usable."""
    made = client.post(f"{emulator.url}/deals", json={}).json()
    assert client.head(f"{emulator.url}/deals/{made['id']}").content == b""
    assert client.delete(f"{emulator.url}/deals/{made['id']}").status_code == 204
    assert client.get(f"{emulator.url}/deals").json() == {"results": []}
    assert emulator.connections == 1
