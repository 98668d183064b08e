"""A body has a bound in bytes and in time, and all bodies together have one too."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest
from starlette.requests import Request
from starlette.types import Message

from tenure.web.bodies import Bodies
from tenure.web.refusals import Refusal


def sent(pieces: Sequence[bytes], *, ends: bool = True, length: str | None = None) -> Request:
    """A request whose body comes in pieces, and may not end."""
    left = list(pieces)

    async def receive() -> Message:
        if not left and not ends:
            await asyncio.Event().wait()
        body = left.pop(0) if left else b""
        return {"type": "http.request", "body": body, "more_body": bool(left) or not ends}

    headers = [(b"content-length", length.encode())] if length else []
    return Request({"type": "http", "headers": headers}, receive)


@contextlib.asynccontextmanager
async def refused(status: int) -> AsyncIterator[None]:
    """The block is refused with this status."""
    with pytest.raises(Refusal) as caught:
        yield
    assert caught.value.status == status


def test_a_body_is_what_was_sent() -> None:
    """Pieces are put together as they came, up to the very limit."""

    async def read() -> bytes:
        async with Bodies().of(sent([b"ab", b"", b"c"], length="3"), 3) as body:
            return body

    assert asyncio.run(read()) == b"abc"


@pytest.mark.parametrize("length", ["4", "9" * 5_000, None])
def test_a_body_beyond_the_limit_is_refused(length: str | None) -> None:
    """By its announced length, however large that is, or by its bytes."""

    async def read() -> None:
        async with refused(413), Bodies().of(sent([b"abcd"], length=length), 3):
            pass

    asyncio.run(read())


def test_a_body_that_does_not_end_is_not_waited_for() -> None:
    """A sender who stops in the middle is refused when the time is over."""

    async def read() -> None:
        async with refused(408), Bodies(patience=0.05).of(sent([b"a"], ends=False), 3):
            pass

    asyncio.run(read())


def test_too_many_bodies_at_once_are_put_off() -> None:
    """What would not fit beside those being held may come again, and fits when they have gone."""

    async def read() -> None:
        bodies = Bodies(together=10)
        async with (
            bodies.of(sent([b"abcde"]), 5),
            bodies.of(sent([b"abcde"]), 5),
            refused(503),
            bodies.of(sent([b"a"]), 5),
        ):
            pass
        async with bodies.of(sent([b"abcde"]), 5) as body:
            assert body == b"abcde"

    asyncio.run(read())
