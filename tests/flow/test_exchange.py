"""A request leaves as it was recorded, and an answer is given only when all of it has come."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from pathlib import Path

import msgspec
import pytest

from tenure.base.errors import CallForbidden
from tenure.base.http import Request
from tenure.flow.carriers import (
    Admission,
    Answered,
    Flight,
    Live,
    Outgoing,
    Unknown,
)
from tenure.flow.exchange import decoded
from tests.flow.carrying import INSIDE, Bearer, at_once, post, run
from tests.flow.raw_server import OK, Certificate, Peer, serving


def test_answer_is_given_whole() -> None:
    """A call that is admitted in time gets the provider's answer, whatever its status."""

    async def refuse(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 422 Nope\r\nX-Why: caf\xe9\r\ncontent-length: 4\r\n\r\nnope")

    async def scenario() -> None:
        async with serving(refuse) as server:
            flight = Flight()
            outcome = await Live().carry(post(server), at_once(), flight)
        assert isinstance(outcome, Answered)
        assert (outcome.response.status, outcome.response.body) == (422, b"nope")
        assert outcome.response.header("x-why") == "café"
        assert 0 < outcome.response.elapsed < 10
        assert (flight.admitted, flight.first_byte) == (True, True)

    run(scenario())


def test_request_leaves_as_recorded_with_what_is_added_at_send() -> None:
    """Method, path, query and body leave unchanged; key and credential are added at send."""

    async def scenario() -> None:
        async with serving() as server:
            call = post(server, "/deals?q=%20x", auth=Bearer())
            request = msgspec.structs.replace(
                call.request,
                headers=(("Authorization", "stale"), ("X-A", "1"), ("Host", "evil"), ("X-A", "2")),
                body=b'{"a": 1}',
            )
            await Live().carry(msgspec.structs.replace(call, request=request), at_once())
            head, _, body = (await server.peer(0)).received.partition(b"\r\n\r\n")
        lines = head.decode().lower().split("\r\n")
        assert lines[0] == "post /deals?q=%20x http/1.1"
        assert f"host: localhost:{server.port}" in lines
        assert [line for line in lines if line.startswith("authorization")] == [
            "authorization: bearer real"
        ]
        assert [line for line in lines if line.startswith("x-a")] == ["x-a: 1", "x-a: 2"]
        assert "idempotency-key: k1" in lines
        assert "content-length: 8" in lines
        assert body == b'{"a": 1}'

    run(scenario())


_SILENT = "the provider closed the connection without an answer"
_MIDDLE = "the provider closed the connection in the middle of its answer"
_SENSELESS = "what the provider sent is no HTTP answer ("
# What comes -> why it is no answer, as a person reads it.
HALF = {
    b"": _SILENT,
    b"HTTP/1.1 200 OK\r\nconte": _MIDDLE,
    b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf": _MIDDLE,
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n": _MIDDLE,
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nodd\r\n": (
        "what the provider sent is no whole HTTP answer ("
    ),
    b"220 smtp.example.com ready\r\n": _SENSELESS,
    b"HTTP/1.1 200 OK\r\nbad\x00header: 1\r\ncontent-length: 0\r\n\r\n": _SENSELESS,
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n": _SENSELESS,
    b"HTTP/1.1 100 Continue\r\n\r\n": _SILENT,
}
_RESET = "the connection did not last: it was reset (Connection reset by peer)"


@pytest.mark.parametrize("answer", HALF)
@pytest.mark.parametrize("rudely", [False, True])
def test_what_is_no_whole_answer_is_unknown(answer: bytes, *, rudely: bool) -> None:
    """A close, a reset, half an answer or garbage after the first byte is unknown, once."""

    async def break_off(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)
        if rudely:
            peer.reset()

    async def scenario() -> None:
        async with serving(break_off) as server:
            flight = Flight()
            outcome = await Live().carry(post(server), at_once(), flight)
            assert isinstance(outcome, Unknown), outcome
            said = (HALF[answer], _RESET) if rudely else (HALF[answer],)
            assert outcome.reason.startswith(said)
            assert flight.first_byte
            assert len(server.peers) == 1  # nothing was tried again

    run(scenario())


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nslow"])
def test_silence_is_unknown_when_the_timeout_is_over(start: bytes) -> None:
    """A provider that never ends its answer leaves the call unknown, and loses the connection."""

    async def stall(peer: Peer) -> None:
        await peer.request()
        await peer.send(start)
        await peer.rest()

    async def scenario() -> None:
        async with serving(stall) as server:
            outcome = await Live().carry(post(server, timeout=0.05), at_once())
            assert outcome == Unknown("no whole answer came within 0.05 s")
            await server.finished(0)

    run(scenario())


def test_tls_answer_without_length_and_without_goodbye_is_unknown(tmp_path: Path) -> None:
    """An answer that only the end of the connection delimits is whole only if TLS ended too."""

    async def cut(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}")
        peer.stop_sending()
        await peer.rest()

    async def end(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}")
        peer.close()

    async def scenario() -> None:
        certificate = Certificate(tmp_path)
        for serve, kind in ((cut, Unknown), (end, Answered)):
            async with serving(serve, tls=certificate.server()) as server:
                outcome = await Live(tls=certificate.client()).carry(post(server), at_once())
            assert isinstance(outcome, kind), outcome

    run(scenario())


def test_bytes_behind_an_answer_are_no_answer_to_the_next_call() -> None:
    """A provider that sends too much is not asked again on that connection."""

    async def twice(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK + OK.replace(b"ok", b"no"))
        await peer.rest()

    async def scenario() -> None:
        async with serving(twice) as server:
            carrier = Live()
            for _ in range(2):
                outcome = await carrier.carry(post(server), at_once())
                assert isinstance(outcome, Answered)
                assert outcome.response.body == b"ok"
            assert len(server.peers) == 2

    run(scenario())


@pytest.mark.parametrize("leaves", [True, False])
def test_early_refusal_of_a_large_body_is_an_answer(*, leaves: bool) -> None:
    """A provider that answers and stops reading half-way has answered."""

    async def too_large(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
        if leaves:
            peer.close()  # with bytes unread, which resets the connection under the writer
        else:
            await peer.rest()

    async def scenario() -> None:
        async with serving(too_large) as server:
            call = post(server)
            request = msgspec.structs.replace(call.request, body=b"x" * 20_000_000)
            outcome = await Live().carry(msgspec.structs.replace(call, request=request), at_once())
        assert isinstance(outcome, Answered)
        assert outcome.response.status == 413

    run(scenario())


def test_redirect_is_an_answer_and_is_not_followed() -> None:
    """A redirect is handed back as it came; the place it names is not visited."""

    async def scenario() -> None:
        async with serving() as other:

            async def redirect(peer: Peer) -> None:
                await peer.request()
                await peer.send(
                    b"HTTP/1.1 307 Elsewhere\r\nlocation: %s/x\r\ncontent-length: 0\r\n\r\n"
                    % other.url.encode()
                )

            async with serving(redirect) as server:
                outcome = await Live().carry(post(server), at_once())
            assert isinstance(outcome, Answered)
            assert outcome.response.status == 307
            assert outcome.response.header("location") == f"{other.url}/x"
            assert other.peers == []

    run(scenario())


def test_long_answer_is_cut_and_marked() -> None:
    """Of an answer that is too long the beginning is kept, with a mark, and the rest not read."""

    async def flood(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 201 Made\r\ncontent-length: 90000000\r\n\r\n" + b"x" * 5000)
        await peer.rest()

    async def scenario() -> None:
        async with serving(flood) as server:
            outcome = await Live().carry(post(server, max_answer=1000), at_once())
            await server.finished(0)
        assert isinstance(outcome, Answered)
        assert outcome.response.status == 201
        assert outcome.response.body == b"x" * 1000
        assert outcome.response.header("tenure-cut") == "1000"

    run(scenario())


@pytest.mark.parametrize(
    ("coding", "sent", "kept", "cut"),
    [
        (b"gzip", gzip.compress(b"hello"), b"hello", None),
        (b"deflate", zlib.compress(b"hello"), b"hello", None),
        (b"deflate", zlib.compress(b"hello")[2:-4], b"hello", None),
        (b"gzip", gzip.compress(b"0" * 10_000_000), b"0" * 20_000, "20000"),
        (b"gzip", b"not gzip", b"not gzip", None),
        (b"br", b"unknown", b"unknown", None),
    ],
    ids=["gzip", "deflate", "raw deflate", "bomb", "broken", "unknown"],
)
def test_content_coding_that_nobody_asked_for_is_taken_off(
    coding: bytes, sent: bytes, kept: bytes, cut: str | None
) -> None:
    """A packed answer is kept unpacked, never larger than allowed; an unreadable one as it came."""

    async def pack(peer: Peer) -> None:
        request = await peer.request()
        assert request is not None
        assert b"accept-encoding: identity" in request.lower()
        await peer.send(
            b"HTTP/1.1 200 OK\r\ncontent-encoding: %s\r\ncontent-length: %d\r\n\r\n"
            % (coding, len(sent))
            + sent
        )

    async def scenario() -> None:
        async with serving(pack) as server:
            request = Request("GET", server.url, (("Accept-Encoding", "gzip"),))
            call = Outgoing(request=request, allow=INSIDE, max_answer=20_000)
            outcome = await Live().carry(call, at_once())
        assert isinstance(outcome, Answered)
        assert outcome.response.body == kept
        assert outcome.response.header("tenure-cut") == cut
        assert (outcome.response.header("content-encoding") is None) is (kept != sent)

    run(scenario())


def test_packed_answer_takes_no_more_memory_than_its_limit() -> None:
    """An answer of a few kilobytes that unpacks to a hundred megabytes is never unpacked whole."""
    bomb = gzip.compress(bytes(100_000_000))
    tracemalloc.start()
    try:
        _, body, fits = decoded((("content-encoding", "gzip"),), bomb, 1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(body), fits) == (1000, False)
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "headers", [(("x-a", "1\r\nx-b: 2"),), (("x a", "1"),), (("x-a", "☃"),), (("ä", "1"),)]
)
def test_unwritable_request_costs_no_admission(headers: tuple[tuple[str, str], ...]) -> None:
    """A header that HTTP cannot carry is refused before the gate, and its value is not shown."""

    async def scenario() -> None:
        async def admit() -> Admission:
            raise AssertionError("asked for what cannot be sent")

        async with serving() as server:
            request = Request("POST", server.url, headers)
            with pytest.raises(CallForbidden, match="header") as caught:
                await Live().carry(Outgoing(request=request, allow=INSIDE), admit)
            assert "x-b" not in str(caught.value)
            assert server.peers == []

    run(scenario())


def test_calls_over_tls_reuse_their_connection(tmp_path: Path) -> None:
    """Over TLS a large request and a large answer pass whole, twice on one connection."""
    large = bytes(range(256)) * 4000

    async def echo(peer: Peer) -> None:
        while (request := await peer.request()) is not None:
            body = request.partition(b"\r\n\r\n")[2]
            await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    async def scenario() -> None:
        certificate = Certificate(tmp_path)
        async with serving(echo, tls=certificate.server()) as server:
            carrier = Live(tls=certificate.client())
            call = post(server)
            request = msgspec.structs.replace(call.request, body=large)
            for _ in range(2):
                outcome = await carrier.carry(
                    msgspec.structs.replace(call, request=request), at_once()
                )
                assert isinstance(outcome, Answered)
                assert outcome.response.body == large
            assert len(server.peers) == 1
            await carrier.aclose()
            await server.finished(0)

    run(scenario())
