"""Where a key stands in a request, and whose value wins there."""

from __future__ import annotations

import json
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

import pytest

from tenure.base.entries import KeyRule
from tenure.base.errors import CallForbidden
from tenure.base.http import Request
from tenure.flow import places

_JSON = (("content-type", "application/json"),)
_FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
_URL = "https://api.example.com/v1/things"


def _rule(where: Literal["header", "body", "query"], name: str) -> KeyRule:
    return KeyRule(
        where=where, name=name, form="uuid", max_length=36, window=60.0, honors=("POST /v1/*",)
    )


def _placed(rule: KeyRule, body: bytes, headers: tuple[tuple[str, str], ...] = _JSON) -> Request:
    return places.placed(Request("POST", _URL, headers, body), rule, "k-1")


def test_a_header_changes_nothing_of_the_request() -> None:
    """What a header carries is added when the request leaves."""
    request = Request("POST", _URL, _JSON, b"{}")
    assert places.placed(request, _rule("header", "Request-Id"), "k-1") is request
    assert places.placed(request, None, "k-1") is request
    assert places.header(_rule("header", "Request-Id")) == "Request-Id"
    assert places.header(None) == "Idempotency-Key"
    assert places.header(_rule("query", "requestid")) is None


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("key", b'{"a":1.10,"b":"\\u00e4"}', b'{"a":1.10,"b":"\\u00e4","key":"k-1"}'),
        ("key", b"{}", b'{"key":"k-1"}'),
        ("data.meta.key", b'{"data":{"x":[1, 2]}}', b'{"data":{"x":[1, 2],"meta":{"key":"k-1"}}}'),
        (
            "data.key",
            b'{"n":12345678901234567890}',
            b'{"n":12345678901234567890,"data":{"key":"k-1"}}',
        ),
    ],
)
def test_a_field_of_json_is_added_and_all_else_stays(
    name: str, body: bytes, expected: bytes
) -> None:
    """Numbers and texts stay as the author wrote them."""
    assert _placed(_rule("body", name), body).body == expected


def test_a_body_that_was_not_given_becomes_one() -> None:
    """A call without a body gets one that holds the key alone."""
    request = _placed(_rule("body", "key"), b"", ())
    assert json.loads(request.body) == {"key": "k-1"}
    assert request.headers == _JSON


def test_a_field_of_a_form_is_added() -> None:
    """A form gets a field behind its own, whatever bytes they are."""
    assert _placed(_rule("body", "key"), b"a=%C3%A4&b", _FORM).body == b"a=%C3%A4&b&key=k-1"
    assert _placed(_rule("body", "key"), b"", _FORM).body == b"key=k-1"


def test_a_parameter_is_added_to_the_query() -> None:
    """Behind what is there."""
    request = Request("POST", f"{_URL}?a=%2F&b=", _JSON, b"{}")
    url = places.placed(request, _rule("query", "requestid"), "k-1").url
    assert url == f"{_URL}?a=%2F&b=&requestid=k-1"
    assert ("requestid", "k-1") in parse_qsl(urlsplit(url).query)


@pytest.mark.parametrize(
    ("rule", "url", "headers", "body", "place"),
    [
        (None, _URL, (("idempotency-KEY", "mine"),), b"", "header 'Idempotency-Key'"),
        (_rule("header", "Request-Id"), _URL, (("request-id", "x"),), b"", "header 'Request-Id'"),
        (_rule("body", "key"), _URL, _JSON, b'{"key": null}', "body field 'key'"),
        (_rule("body", "a.key"), _URL, _JSON, b'{"a": {"key": 1}}', "body field 'a.key'"),
        (_rule("body", "key"), _URL, _FORM, b"key=", "form field 'key'"),
        (_rule("query", "id"), f"{_URL}?id=7", (), b"", "query parameter 'id'"),
    ],
)
def test_a_value_of_the_authors_own_is_refused(
    rule: KeyRule | None, url: str, headers: tuple[tuple[str, str], ...], body: bytes, place: str
) -> None:
    """The key wins, and an author who set something there is told before anything leaves."""
    with pytest.raises(CallForbidden, match=place) as caught:
        places.check(Request("POST", url, headers, body), rule)
    assert "the key wins" in caught.value.message
    assert "Leave it out" in caught.value.hint


@pytest.mark.parametrize("body", [b"[1]", b'"text"', b"\xff", b'{"a": 1', b'{"data": [1]}'])
def test_a_body_without_a_place_for_the_key_is_refused(body: bytes) -> None:
    """Nothing is sent without its key to a provider that looks for it in the body."""
    with pytest.raises(CallForbidden, match=r"body field 'data\.key'"):
        places.check(Request("POST", _URL, _JSON, body), _rule("body", "data.key"))
