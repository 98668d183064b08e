"""A connection serves the next call only while it can be trusted with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenure.base.errors import CallForbidden, LeaseLost
from tenure.flow.carriers import (
    Admission,
    Answered,
    Live,
    NotSent,
    Unknown,
)
from tests.flow.carrying import Clock, at_once, post, run
from tests.flow.raw_server import OK, Certificate, Peer, serving


def test_refused_admission_leaves_the_connection_for_the_next() -> None:
    """What the gate raises comes through unchanged, and the unused connection serves the next."""

    async def scenario() -> None:
        async with serving() as server:
            carrier = Live()
            loss = LeaseLost("the claim is over")

            async def refuse() -> Admission:
                raise loss

            with pytest.raises(LeaseLost) as caught:
                await carrier.carry(post(server), refuse)
            assert caught.value is loss
            assert isinstance(await carrier.carry(post(server), at_once()), Answered)
            assert len(server.peers) == 1

    run(scenario())


def test_refused_admission_leaves_a_tls_connection_for_the_next(tmp_path: Path) -> None:
    """Session tickets that wait unread on a new connection do not spoil it."""

    async def scenario() -> None:
        certificate = Certificate(tmp_path)
        async with serving(tls=certificate.server()) as server:
            carrier = Live(tls=certificate.client())

            async def refuse() -> Admission:
                await server.peer(0)  # its tickets are sent once it has been met
                raise LeaseLost("the claim is over")

            with pytest.raises(LeaseLost):
                await carrier.carry(post(server), refuse)
            assert isinstance(await carrier.carry(post(server), at_once()), Answered)
            assert len(server.peers) == 1

    run(scenario())


def test_idle_connection_that_was_closed_is_replaced_before_the_gate() -> None:
    """A connection that the provider closed between two calls is noticed before the gate."""

    async def once(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK)

    async def scenario() -> None:
        async with serving(once) as server:
            carrier = Live()
            asked = 0

            async def admit() -> Admission:
                nonlocal asked
                asked += 1
                return await at_once()()

            assert isinstance(await carrier.carry(post(server), admit), Answered)
            await server.finished(0)
            assert isinstance(await carrier.carry(post(server), admit), Answered)
            assert (asked, len(server.peers)) == (2, 2)

    run(scenario())


def test_connection_closed_while_the_gate_is_asked_is_proved_unsent() -> None:
    """A close that comes between choosing the connection and the first byte is no unknown."""

    async def leave(peer: Peer) -> None:
        peer.close()

    async def scenario() -> None:
        async with serving(leave) as server:

            async def admit() -> Admission:
                await server.finished(0)
                return await at_once()()

            outcome = await Live().carry(post(server), admit)
        assert isinstance(outcome, NotSent)
        assert not outcome.void

    run(scenario())


@pytest.mark.parametrize(
    ("idle", "fresh", "connections"),
    [
        (0.9, True, 1),
        (1.0, True, 2),
        (1.0, False, 1),
        (29.9, False, 1),
        (30.0, False, 2),
    ],
)
def test_idle_time_decides_which_connection_is_trusted(
    idle: float, connections: int, *, fresh: bool
) -> None:
    """What cannot be repeated uses no connection idle for 1 s; nothing uses one idle for 30 s."""

    async def scenario() -> None:
        now = Clock()
        async with serving() as server:
            carrier = Live(now=now)
            call = post(server, fresh=fresh)
            assert isinstance(await carrier.carry(call, at_once(now())), Answered)
            now.reading += idle
            assert isinstance(await carrier.carry(call, at_once(now())), Answered)
            assert len(server.peers) == connections

    run(scenario())


def test_wait_at_the_gate_counts_as_idle() -> None:
    """A connection that fell idle for a second while the gate was asked is not trusted either."""

    async def scenario() -> None:
        now = Clock()
        async with serving() as server:
            carrier = Live(now=now)
            call = post(server, fresh=True)
            await carrier.carry(call, at_once(now()))

            async def slow() -> Admission:
                now.reading += 1.5
                return await at_once(now())()

            outcome = await carrier.carry(call, slow)
            assert isinstance(outcome, NotSent)
            assert not outcome.void
            assert isinstance(await carrier.carry(call, at_once(now())), Answered)
            first = (await server.finished(0)).received
        assert first.count(b"POST") == 1

    run(scenario())


def test_exceptions_of_one_provider_open_no_connection_for_another() -> None:
    """A connection opened under an exception is not lent to a call that does not have it."""

    async def scenario() -> None:
        async with serving() as server:
            carrier = Live()
            await carrier.carry(post(server), at_once())
            with pytest.raises(CallForbidden, match="private address"):
                await carrier.carry(post(server, allow=frozenset(("plain-http",))), at_once())

    run(scenario())


def test_close_after_writing_on_a_reused_connection_is_unknown() -> None:
    """A provider that closes as the request arrives may have read it: never sent again here."""

    async def second_is_lost(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK)
        await peer.request()

    async def scenario() -> None:
        async with serving(second_is_lost) as server:
            carrier = Live()
            assert isinstance(await carrier.carry(post(server), at_once()), Answered)
            assert isinstance(await carrier.carry(post(server), at_once()), Unknown)
            assert len(server.peers) == 1

    run(scenario())


def test_many_calls_at_once_share_no_connection() -> None:
    """Calls in flight at the same time each have a connection, and each its own answer."""

    async def echo(peer: Peer) -> None:
        while (request := await peer.request()) is not None:
            path = request.split(b" ")[1]
            await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(path) + path)

    async def scenario() -> None:
        async with serving(echo) as server:
            carrier = Live()

            async def one(number: int) -> None:
                for again in range(3):
                    path = f"/{number}/{again}"
                    outcome = await carrier.carry(post(server, path), at_once())
                    assert isinstance(outcome, Answered)
                    assert outcome.response.text() == path

            async with asyncio.TaskGroup() as group:
                for number in range(20):
                    group.create_task(one(number))
            assert len(server.peers) <= 20

    run(scenario())
