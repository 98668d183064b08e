"""Whatever comes over the wire, the server answers below 500 or not at all, and stays up."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.base.errors import ConfigurationError
from tenure.web import listening
from tests.web.doors import DEADLINE, Running, request

HEADER = st.sampled_from([b"webhook-id", b"webhook-timestamp", b"webhook-signature", b"x-any"])


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(headers=st.lists(st.tuples(HEADER, st.binary(max_size=60)), max_size=6))
def test_random_bytes_in_headers_are_turned_away(
    running: Running, headers: list[tuple[bytes, bytes]]
) -> None:
    """No bytes in any header let a delivery in, or make the server stumble."""
    status, _ = running.raw(request("/hooks/lead", headers, b"1"))
    assert 400 <= status < 500


HEAD = b"POST /hooks/lead HTTP/1.1\r\nhost: door\r\nconnection: close\r\n"
SIGNATURE = b"webhook-signature: "
GARBAGE = {
    "NUL": HEAD + SIGNATURE + b"v1,\x00\r\ncontent-length: 0\r\n\r\n",
    "no Latin-1": HEAD + SIGNATURE + bytes(range(128, 256)) + b"\r\ncontent-length: 0\r\n\r\n",
    "a long value": HEAD + SIGNATURE + b"x" * 10_000 + b"\r\ncontent-length: 0\r\n\r\n",
    "a longer value": HEAD + SIGNATURE + b"x" * 70_000 + b"\r\ncontent-length: 0\r\n\r\n",
    "a head of many pieces": HEAD + b"a: b\r\n" * 30_000 + b"\r\n",
    "many of one name": HEAD + (SIGNATURE + b"v1,x\r\n") * 300 + b"content-length: 0\r\n\r\n",
    "a folded value": HEAD + SIGNATURE + b"v1,\r\n x\r\ncontent-length: 0\r\n\r\n",
    "no name": HEAD + b": x\r\n\r\n",
    "two lengths": HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\n12",
    "a negative length": HEAD + b"content-length: -1\r\n\r\n",
    "length and chunks": HEAD + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a false chunk": HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an odd path": b"POST /hooks/\xff\x00 HTTP/1.1\r\nhost: door\r\n\r\n",
    "an empty escape": b"POST /hooks/%ff%00% HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    "no path": b"OPTIONS * HTTP/1.1\r\nhost: door\r\nconnection: close\r\n\r\n",
    "a tunnel": b"CONNECT door:443 HTTP/1.1\r\nhost: door\r\n\r\n",
    "a socket": HEAD.replace(b"close", b"Upgrade") + b"upgrade: websocket\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n",
    "an odd method": b"P\xffST / HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_turned_away(running: Running, name: str) -> None:
    """What is no request, or a hostile one, is answered below 500; the next delivery gets in."""
    status, _ = running.raw(GARBAGE[name])
    assert 400 <= status < 500
    assert running.deliver("lead", b"1").status_code == 200


def test_a_head_that_does_not_end_is_cut_off(running: Running) -> None:
    """A value without an end is not kept for longer than the limit."""
    piece = b"x" * 50_000
    status, _ = running.raw(HEAD + b"a: ", *[piece] * 40)
    assert status in (0, 400)
    assert running.deliver("lead", b"1").status_code == 200


@pytest.mark.parametrize(("length", "status"), [(60_000, 200), (70_000, 400)])
def test_a_head_has_a_bound_whatever_came_in_one_piece(
    running: Running, length: int, status: int
) -> None:
    """A genuine delivery with a head beyond the limit is refused, one within it is not."""
    headers = [*running.signed("lead", b"1"), (b"x-any", b"x" * length)]
    assert running.raw(request("/hooks/lead", headers, b"1"))[0] == status


@pytest.mark.parametrize("sent", [b"", HEAD])
def test_a_head_that_does_not_come_is_not_waited_for(
    running: Running, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """Whoever connects and does not say what for is left after a while."""
    monkeypatch.setattr(listening, "HEAD_PATIENCE", 0.2)
    assert running.raw(sent) == (0, b"")


def test_two_requests_on_one_connection_are_both_answered(running: Running) -> None:
    """The bounds begin anew with each request."""
    one = request("/hooks/nobody", [(b"a", b"x" * 40_000)]).replace(b"connection: close\r\n", b"")
    _, answer = running.raw(one + one + one, request("/hooks/nobody", []))
    assert answer.count(b"HTTP/1.1 404") == 4


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    """The address and what to do are named."""
    with listening.bind("127.0.0.1", 0) as taken:
        port = urlsplit(listening.address_of(taken)).port
        assert port
        with pytest.raises(ConfigurationError) as caught:
            listening.bind("127.0.0.1", port)
    assert f"127.0.0.1:{port}" in caught.value.message
    assert "\n" not in str(caught.value)
    assert "TENURE_PORT" in caught.value.hint


def test_a_host_that_is_nowhere_is_told() -> None:
    """A name that leads nowhere is a fault of the settings."""
    with pytest.raises(ConfigurationError, match=r"nowhere\.invalid"):
        listening.bind("nowhere.invalid", 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_port_0_is_a_free_one_whose_address_leads_there(host: str) -> None:
    """The address that is told is one that can be connected to, of either kind."""
    try:
        bound = listening.bind(host, 0)
    except ConfigurationError:
        assert host == "::1"
        pytest.skip("this machine has no IPv6")
    with bound:
        at = urlsplit(listening.address_of(bound))
        assert at.hostname
        assert at.port
        socket.create_connection((at.hostname, at.port), timeout=DEADLINE).close()
