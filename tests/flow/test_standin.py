"""A call that is not sent is answered by an echo that nobody can take for real."""

from __future__ import annotations

import msgspec
import pytest

from tenure.base.errors import CallForbidden
from tenure.base.http import Request
from tenure.flow.carriers import (
    Admission,
    Answered,
    Dry,
    Outgoing,
    stand_in,
)
from tests.flow.carrying import at_once, post, run
from tests.flow.raw_server import answer_all, serving


def test_dry_carrier_opens_nothing_and_asks_nobody() -> None:
    """A dry call is answered by an echo with a placeholder id, without gate or socket."""

    async def scenario() -> None:
        async def admit() -> Admission:
            raise AssertionError("a dry call asked for admission")

        async with serving(answer_all) as server:
            call = post(server, key="0123456789abcdef")
            request = msgspec.structs.replace(call.request, body=b'{"name": "Ada"}')
            outcome = await Dry().carry(msgspec.structs.replace(call, request=request), admit)
            assert server.peers == []
        assert isinstance(outcome, Answered)
        assert outcome.response.status == 200
        assert outcome.response.header("tenure-stand-in") == "echo"
        assert outcome.response.json() == {"id": "dry-01234567", "name": "Ada"}

    run(scenario())


def test_dry_carrier_refuses_what_a_live_one_would() -> None:
    """A URL that could never be called fails in the dry run already."""

    async def scenario() -> None:
        with pytest.raises(CallForbidden):
            await Dry().carry(Outgoing(request=Request("GET", "ftp://example.com/")), at_once())

    run(scenario())


@pytest.mark.parametrize(
    ("headers", "body", "answer"),
    [
        ((), b"", {"id": "dry-01234567"}),
        ((), b'{"id": 7, "a": 1}', {"id": 7, "a": 1}),
        ((), b'[{"a": 1}, 2]', [{"id": "dry-01234567-0", "a": 1}, 2]),
        ((), b"\xff not json", {"id": "dry-01234567"}),
        ((), b'"text"', {"id": "dry-01234567"}),
        (
            (("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),),
            b"amount=5&empty=",
            {"id": "dry-01234567", "amount": "5", "empty": ""},
        ),
    ],
)
def test_stand_in_echoes_what_was_asked(
    headers: tuple[tuple[str, str], ...], body: bytes, answer: object
) -> None:
    """The stand-in holds the request's own fields, and an id that no provider gives."""
    request = Request("POST", "https://x.example/", headers, body)
    response = stand_in(request, "0123456789")
    assert response.json() == answer
    assert response == stand_in(request, "0123456789")
