"""What a carrier says of a call is what happened: answered, provably not sent, or unknown."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tenure.base import clock
from tenure.base.http import Request
from tenure.flow import carriers
from tenure.flow.carriers import (
    Admission,
    Answered,
    Flight,
    Live,
    NotSent,
    Outgoing,
)
from tests.flow.carrying import Bearer, InQuery, at_once, post, run
from tests.flow.raw_server import OK, Certificate, Peer, serving

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("hosts", "leaves"),
    [
        (["localhost"], True),
        (["LOCALHOST"], True),
        (["*.example.com"], False),
        (["api.example.com"], False),
        (["localhost:1"], False),
        ([], False),
    ],
)
def test_credentials_go_to_the_providers_hosts_only(hosts: list[str], *, leaves: bool) -> None:
    """A credential is attached for the provider's hosts and left away for every other."""

    async def scenario() -> None:
        async with serving() as server:
            call = post(server, auth=Bearer(), hosts=frozenset(hosts))
            assert isinstance(await Live().carry(call, at_once()), Answered)
            received = (await server.peer(0)).received
        assert (b"Bearer real" in received) is leaves
        assert b"idempotency-key" in received

    run(scenario())


def test_credential_can_leave_in_the_query() -> None:
    """A query credential is appended to the recorded URL, percent-encoded, at send only."""

    async def scenario() -> None:
        async with serving() as server:
            call = post(server, "/deals?x=1", auth=InQuery())
            await Live().carry(call, at_once())
            received = (await server.peer(0)).received
        assert received.startswith(b"POST /deals?x=1&api_key=a+b%26c HTTP/1.1")
        assert "api_key" not in call.request.url

    run(scenario())


def test_old_admission_sends_no_byte() -> None:
    """An admission whose send window has passed is void, and the provider receives nothing."""

    async def scenario() -> None:
        flight = Flight()
        async with serving() as server:
            stale = at_once(clock.now() - 2.5, window=2.0)
            outcome = await Live().carry(post(server), stale, flight)
            peer = await server.finished()
        assert isinstance(outcome, NotSent)
        assert outcome.void
        assert peer.received == b""
        assert (flight.admitted, flight.first_byte) == (True, False)

    run(scenario())


def test_no_call_after_the_workers_deadline() -> None:
    """A worker that could not renew its leases in time sends nothing, admitted or not."""

    async def scenario() -> None:
        async with serving() as server:
            late = at_once(deadline=clock.now() - 0.001)
            outcome = await Live().carry(post(server), late)
            peer = await server.finished()
        assert isinstance(outcome, NotSent)
        assert outcome.void
        assert peer.received == b""

    run(scenario())


def test_connection_stands_before_the_gate_is_asked(tmp_path: Path) -> None:
    """Lookup, connection and handshake are done when admission is asked for."""

    async def scenario() -> None:
        certificate = Certificate(tmp_path)
        async with serving(tls=certificate.server()) as server:

            async def admit() -> Admission:
                await server.peer(0)  # met only after its handshake
                return await at_once()()

            outcome = await Live(tls=certificate.client()).carry(post(server), admit)
            assert isinstance(outcome, Answered)

    run(scenario())


def test_refused_connection_is_not_sent() -> None:
    """Where nobody listens nothing was sent, and no admission was asked for."""

    async def scenario() -> None:
        async with serving() as server:
            call = post(server)

        async def admit() -> Admission:
            raise AssertionError("asked without a connection")

        flight = Flight()
        outcome = await Live().carry(call, admit, flight)
        assert isinstance(outcome, NotSent)
        place = f"localhost:{server.port}"
        assert outcome.reason.startswith(f"no connection to {place} (")
        assert "127.0.0.1: it was refused" in outcome.reason
        assert not outcome.void
        assert not flight.admitted

    run(scenario())


def test_unknown_name_is_not_sent() -> None:
    """A name that leads nowhere is a call that was not sent."""

    async def scenario() -> None:
        request = Request("GET", "https://nowhere.invalid/")
        outcome = await Live(connect_within=5).carry(Outgoing(request=request), at_once())
        assert isinstance(outcome, NotSent)
        assert "(the name is not known (" in outcome.reason

    run(scenario())


def test_handshake_that_fails_is_not_sent(tmp_path: Path) -> None:
    """A certificate that is not trusted, or names another host, ends before any request."""

    async def scenario() -> None:
        trusted, other = Certificate(tmp_path), Certificate(tmp_path, "elsewhere.example")
        for shown, trust in ((trusted, None), (other, other.client())):
            async with serving(tls=shown.server()) as server:
                outcome = await Live(tls=trust).carry(post(server), at_once())
            assert isinstance(outcome, NotSent)
            assert "the certificate is not trusted (" in outcome.reason

    run(scenario())


def test_plain_server_behind_https_is_not_sent() -> None:
    """A server that speaks no TLS, or nothing at all, fails the handshake: not sent."""

    async def speak_smtp(peer: Peer) -> None:
        await peer.send(b"220 ready\r\n")
        await peer.rest()

    async def say_nothing(peer: Peer) -> None:
        await peer.rest()

    async def scenario() -> None:
        for serve in (speak_smtp, say_nothing):
            async with serving(serve) as server:
                call = post(server)
                request = msgspec.structs.replace(
                    call.request, url=call.request.url.replace("http:", "https:")
                )
                call = msgspec.structs.replace(call, request=request)
                outcome = await Live(connect_within=0.2).carry(call, at_once())
            assert isinstance(outcome, NotSent)

    run(scenario())


def test_cancelled_call_tells_whether_a_byte_left() -> None:
    """A call cancelled in flight closes its connection, and its flight knows what has left."""

    async def scenario() -> None:
        arrived = asyncio.Event()

        async def hold(peer: Peer) -> None:
            await peer.request()
            arrived.set()
            await peer.rest()

        async with serving(hold) as server:
            sent, unsent = Flight(), Flight()
            task = asyncio.create_task(Live().carry(post(server), at_once(), sent))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.finished(0)

            asked, never = asyncio.Event(), asyncio.Event()

            async def admit() -> Admission:
                asked.set()
                await never.wait()
                raise AssertionError

            task = asyncio.create_task(Live().carry(post(server), admit, unsent))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert sent.first_byte
        assert not unsent.first_byte

    run(scenario())


FROZEN = """
import asyncio, os, signal, sys
from uuid import uuid4
from tenure.base import clock
from tenure.base.http import Request
from tenure.flow.carriers import Admission, Flight, Live, Outgoing

async def admit():
    admission = Admission(clock.now(), float(sys.argv[2]), clock.now() + 60)
    print(admission.admitted, flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    return admission

async def main():
    request = Request("POST", f"http://127.0.0.1:{sys.argv[1]}/deals", (), b"{}")
    allow = frozenset(("plain-http", "private-address"))
    flight = Flight()
    outcome = await Live().carry(Outgoing(request=request, allow=allow), admit, flight)
    print(type(outcome).__name__, getattr(outcome, "void", None), flight.first_byte, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("window", [0.05, 60.0])
def test_frozen_worker_thaws_and_sends_nothing(window: float) -> None:
    """A worker stopped between admission and first byte drops the request when it is thawed.

    With a window that has not passed the same worker sends, so the silence is the check's doing.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        port = listening.getsockname()[1]
        child = subprocess.Popen(
            [sys.executable, "-c", FROZEN, str(port), str(window)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert child.stdout is not None
        with child, listening.accept()[0] as peer:
            peer.settimeout(20)
            admitted = float(child.stdout.readline())
            assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
            while window < 1 and clock.now() <= admitted + window:
                pass  # the fact waited for is the clock's
            child.send_signal(signal.SIGCONT)
            received = peer.recv(65536)
            if received:
                peer.sendall(OK)
            said = child.stdout.readline().split()
    if window < 1:
        assert received == b""
        assert said == ["NotSent", "True", "False"]
    else:
        assert received.startswith(b"POST /deals")
        assert said == ["Answered", "None", "True"]


def test_public_names_are_there() -> None:
    """Each name that the module signs for exists."""
    assert all(hasattr(carriers, name) for name in carriers.__all__)
