"""What the tests of carriers share: a gate that admits, a call, a credential, a stopwatch."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

import msgspec

from tenure.base import clock
from tenure.base.http import Request
from tenure.flow.carriers import (
    Admission,
    Admit,
    Outgoing,
)
from tests.flow.raw_server import Server

INSIDE = frozenset(("plain-http", "private-address"))


class Clock:
    """A stopwatch that a test moves by hand."""

    def __init__(self) -> None:
        self.reading = 1000.0

    def __call__(self) -> float:
        """The reading."""
        return self.reading


class Bearer:
    """A credential for tests."""

    def headers(self) -> Sequence[tuple[str, str]]:
        """One header."""
        return [("authorization", "Bearer real")]


class InQuery:
    """A credential that leaves in the query."""

    def headers(self) -> Sequence[tuple[str, str]]:
        """No header."""
        return []

    def query(self) -> Sequence[tuple[str, str]]:
        """One parameter, which needs encoding."""
        return [("api_key", "a b&c")]


def run(scenario: Coroutine[object, object, None]) -> None:
    """Run a scenario in a loop of its own; one that hangs fails by itself."""

    async def bounded() -> None:
        async with asyncio.timeout(20):
            await scenario

    asyncio.run(bounded())


def at_once(now: float | None = None, *, window: float = 2.0, deadline: float = 1e12) -> Admit:
    """A gate that admits."""

    async def admit() -> Admission:
        admitted = clock.now() if now is None else now
        return Admission(admitted, window, deadline, (("idempotency-key", "k1"),))

    return admit


def post(server: Server, path: str = "/deals", **changes: object) -> Outgoing:
    """An unsafe call to a server of a test."""
    request = Request("POST", server.url + path, (("content-type", "application/json"),), b"{}")
    call = Outgoing(request=request, allow=INSIDE, hosts=frozenset(("localhost",)), timeout=10.0)
    return msgspec.structs.replace(call, **changes)
