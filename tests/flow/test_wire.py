"""A wire knows whether a byte has left, and whether it can be trusted with the next request."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import h11
import pytest

from tenure.base import clock
from tenure.flow.egress import Address, Place
from tenure.flow.wire import Flight, Pool, Unsent, Wire, dial
from tests.flow.raw_server import OK, Certificate, Peer, Server, answer_all, serving

TRUST = ssl.create_default_context()


def run(scenario: Coroutine[object, object, None]) -> None:
    """Run a scenario in a loop of its own; one that hangs fails by itself."""

    async def bounded() -> None:
        async with asyncio.timeout(20):
            await scenario

    asyncio.run(bounded())


def at(port: int) -> Address:
    """An address on this machine."""
    return Address(socket.AF_INET, "127.0.0.1", port)


async def dialled(server: Server, trust: ssl.SSLContext = TRUST) -> Wire:
    """A wire to a server of a test."""
    scheme = server.url.partition(":")[0]
    place = Place(scheme, "localhost", server.port, "/")
    return await dial([at(server.port)], place, trust, clock.now)


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[Wire, socket.socket]]:
    """A wire and the bare socket at its other end."""
    near, far = socket.socketpair()
    near.settimeout(0)
    far.settimeout(0)
    wire = Wire(near, None, since=0.0)
    with far:
        yield wire, far
    wire.close()


def passes() -> float:
    """A check that finds nothing wrong."""
    return 7.0


def test_first_byte_leaves_before_the_loop_turns() -> None:
    """Between the check and the system call nothing else of the process's loop can run."""

    async def scenario() -> None:
        seen: list[bytes] = []
        async with pair() as (wire, far):
            loop = asyncio.get_running_loop()

            def check() -> float:
                loop.call_soon(lambda: seen.append(far.recv(100)))
                return 7.0

            flight = Flight()
            wire.arm(check, flight)
            await wire.write(b"hello")
            turned = asyncio.Event()
            loop.call_soon(turned.set)
            await turned.wait()
        assert seen == [b"hello"]
        assert (flight.first_byte, flight.left_at) == (True, 7.0)

    run(scenario())


def test_check_that_refuses_lets_nothing_out() -> None:
    """A refusal at the first byte leaves the other side without one, and the flight says so."""

    async def scenario() -> None:
        async with pair() as (wire, far):

            def check() -> float:
                raise Unsent("too old", void=True)

            flight = Flight()
            wire.arm(check, flight)
            with pytest.raises(Unsent) as caught:
                await wire.write(b"hello")
            assert caught.value.void
            assert not flight.first_byte
            with pytest.raises(BlockingIOError):
                far.recv(1)

    run(scenario())


def test_check_stands_before_the_first_write_alone() -> None:
    """What follows the first byte of a request is not asked about again."""

    async def scenario() -> None:
        checks = 0

        def check() -> float:
            nonlocal checks
            checks += 1
            return 0.0

        async with pair() as (wire, far):
            wire.arm(check, Flight())
            await wire.write(b"one ")
            await wire.write(b"two")
            assert far.recv(100) == b"one two"
        assert checks == 1

    run(scenario())


@pytest.mark.parametrize("fault", ["gone", "full"])
def test_system_call_that_takes_nothing_is_proof(fault: str) -> None:
    """Where the kernel refuses the first byte, the flight says that none has left."""

    async def scenario() -> None:
        async with pair() as (wire, far):
            if fault == "gone":
                far.close()
            else:
                with contextlib.suppress(BlockingIOError):
                    while wire._sock.send(b"x" * 65536):
                        pass
            flight = Flight()
            wire.arm(passes, flight)
            with pytest.raises(Unsent) as caught:
                await wire.write(b"hello")
            assert not caught.value.void
            assert not flight.first_byte

    run(scenario())


def test_large_write_arrives_whole() -> None:
    """What the kernel does not take at once follows, in order."""

    async def scenario() -> None:
        sent = bytes(range(256)) * 40_000
        async with pair() as (wire, far):
            wire.arm(passes, Flight())
            writing = asyncio.create_task(wire.write(sent))
            loop = asyncio.get_running_loop()
            received = b""
            while len(received) < len(sent):
                received += await loop.sock_recv(far, 1 << 20)
            await writing
        assert received == sent

    run(scenario())


def test_plain_wire_is_clean_while_nothing_stands_on_it() -> None:
    """Unread bytes, a close and a closed wire are each told without waiting."""

    async def scenario() -> None:
        async with pair() as (wire, far):
            assert wire.clean()
            far.send(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
            assert not wire.clean()
        async with pair() as (wire, far):
            far.close()
            assert not wire.clean()
        assert not wire.clean()

    run(scenario())


@pytest.mark.parametrize("last", ["words", "goodbye"])
def test_tls_wire_is_clean_until_something_comes(tmp_path: Path, last: str) -> None:
    """TLS's own talk spoils nothing; an answer that nobody asked for does, and so does an end."""

    async def scenario() -> None:
        certificate = Certificate(tmp_path)
        go = asyncio.Event()

        async def serve(peer: Peer) -> None:
            await go.wait()
            if last == "words":
                await peer.send(b"unasked")
            else:
                peer.close()

        async with serving(serve, tls=certificate.server()) as server:
            wire = await dialled(server, certificate.client())
            peer = await server.peer(0)  # its session tickets are on the way
            assert wire.clean()
            go.set()
            await peer.done.wait()
            assert not wire.clean()
            wire.close()

    run(scenario())


def test_dial_tries_the_next_address() -> None:
    """A host with several addresses is reached at the first that answers."""

    async def scenario() -> None:
        async with serving() as dead:
            pass
        async with serving() as server:
            place = Place("http", "localhost", server.port, "/")
            wire = await dial([at(dead.port), at(server.port)], place, TRUST, clock.now)
            wire.close()
            with pytest.raises(OSError, match=r"127\.0\.0\.1.*; 127\.0\.0\.1"):
                await dial([at(dead.port), at(dead.port)], place, TRUST, clock.now)

    run(scenario())


def test_wire_rests_after_a_whole_exchange_only() -> None:
    """A wire in the middle of an exchange, or with bytes behind the answer, takes no other."""

    async def exchange(answer: bytes) -> bool:
        async with pair() as (wire, far):
            parts = [h11.Request(method="GET", target="/", headers=[("host", "h")])]
            await wire.write(b"".join(wire.h11.send(part) or b"" for part in parts))
            await wire.write(wire.h11.send(h11.EndOfMessage()) or b"")
            far.send(answer)
            wire.h11.receive_data(await wire.read())
            while wire.h11.next_event() not in (h11.NEED_DATA, h11.PAUSED):
                pass
            return wire.rest(9.0) and wire.since == 9.0

    async def scenario() -> None:
        assert await exchange(OK)
        assert not await exchange(OK[:-1])
        assert not await exchange(OK + b"H")
        assert not await exchange(OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))

    run(scenario())


class Clock:
    """A stopwatch that a test moves by hand."""

    def __init__(self) -> None:
        self.reading = 0.0

    def __call__(self) -> float:
        """The reading."""
        return self.reading


def test_pool_gives_the_youngest_and_keeps_few() -> None:
    """The connection used last is used next, and no place holds more than its share."""

    async def scenario() -> None:
        now = Clock()
        pool = Pool(now, idle=30.0)
        async with serving() as server:
            wires = [await dialled(server) for _ in range(18)]
            for age, wire in enumerate(reversed(wires)):
                wire.since = -float(age)
                pool.put("place", wire)
            assert pool.take("other place", 60.0) is None
            taken = []
            while (found := pool.take("place", 60.0)) is not None:
                taken.append(found)
            ages = [-wire.since for wire in taken]
            assert ages == sorted(ages)
            assert len(taken) == 16
            for wire in taken:
                wire.close()
            for number in range(18):
                await server.finished(number)
        pool.close()

    run(scenario())


def test_trust_asked_for_closes_nothing_that_others_may_use() -> None:
    """A call that needs a fresh connection leaves the older ones to calls that do not."""

    async def scenario() -> None:
        now = Clock()
        pool = Pool(now, idle=30.0)
        async with serving() as server:
            wire = await dialled(server)
            wire.since = 0.0
            pool.put("place", wire)
            now.reading = 5.0
            assert pool.take("place", 1.0) is None
            assert pool.take("place", 60.0) is wire
            wire.close()
        pool.close()

    run(scenario())


def test_quiet_pool_closes_its_connections() -> None:
    """Connections idle for longer than the limit are closed though no call comes any more."""

    async def scenario() -> None:
        pool = Pool(clock.now, idle=0.05)
        async with serving(answer_all) as server:
            wire = await dialled(server)
            pool.put("place", wire)
            await server.finished(0)
        pool.close()

    run(scenario())
