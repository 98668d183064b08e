"""Operation patterns: one notation, and no spelling of a path that slips past it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base import patterns
from tenure.base.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "method", "path", "expected"),
    [
        ("POST /v1/charges", "POST", "/v1/charges", True),
        ("POST /v1/charges", "post", "/v1/charges/", True),
        ("POST /v1/charges", "GET", "/v1/charges", False),
        ("POST /v1/charges", "POST", "/v1/charges/ch_1", False),
        ("POST /v1/charges/{id}", "POST", "/v1/charges/ch_1", True),
        ("POST /v1/charges/{id}", "POST", "/v1/charges", False),
        ("POST /v1/charges/{id}", "POST", "/v1/charges/ch_1/refund", False),
        ("POST /v1/*", "POST", "/v1/charges/ch_1/refund", True),
        ("POST /v1/*", "POST", "/v1", True),
        ("POST /v1/*", "POST", "/v10/charges", False),
        ("POST /*", "POST", "/", True),
        ("POST /", "POST", "/", True),
        ("POST /", "POST", "/v1", False),
        ("* /v1/charges", "PATCH", "/v1/charges", True),
        ("* /v1/charges", "PATCH", "/v1/charges/ch_1", False),
        ("/v1/search", "GET", "/v1/search", True),
        ("/v1/search", "DELETE", "/v1/search/deep/er", True),
        ("/v1/search", "GET", "/v1/searches", False),
        ("/", "GET", "/anything", True),
        ("/api/{noun}.list", "GET", "/api/users.list", True),
        ("/api/{noun}.list", "GET", "/api/users.listen", False),
        ("/a.b", "GET", "/axb", False),
    ],
)
def test_what_a_pattern_speaks_about(text: str, method: str, path: str, *, expected: bool) -> None:
    """A pattern matches its method and path, whole segments only, below only where it says so."""
    assert patterns.parse(text).matches(method, path) is expected


@pytest.mark.parametrize(
    "spelling",
    [
        "/v1/charges?expand=1",
        "/v1/charges#top",
        "/v1//charges/",
        "/v1/./charges",
        "/v1/refunds/../charges",
        "/v1/refunds/%2e%2e/charges",
        "/v1/%63harges",
        "/../v1/charges",
    ],
)
def test_no_spelling_escapes(spelling: str) -> None:
    """However a path is spelt, the pattern of its plain spelling speaks about it."""
    assert patterns.parse("POST /v1/charges").matches("POST", spelling)


def test_an_encoded_slash_stays_within_its_segment() -> None:
    """A slash that is part of an id makes no further segment."""
    assert patterns.parse("GET /files/{name}").variable("name", "GET", "/files/a%2Fb") == "a%2Fb"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1",
        "POST",
        "post /v1",
        "POST  /v1",
        "POST /v1 ",
        "POST /v1/*/x",
        "/v1/{",
        "/v1/{A}",
        "/v1/{id}/{id}",
        "/v1?x=1",
        "/v1//x",
        "/v1/../x",
        "/v1/%63",
        "/v1/x*",
    ],
)
def test_what_is_no_pattern(text: str) -> None:
    """A pattern that could never match as written is refused, with what it should look like."""
    with pytest.raises(ConfigurationError) as caught:
        patterns.parse(text)
    assert repr(text) in caught.value.message
    assert "POST /v1/charges" in caught.value.hint


def test_the_narrowest_pattern_counts() -> None:
    """Among patterns that match, the one with most literal text has the greatest weight."""
    found = patterns.narrowest(("/v1", "GET /v1/{resource}/search", "/v2"), "GET", "/v1/x/search")
    assert found == len("/v1//search")
    assert patterns.narrowest(("/v2",), "GET", "/v1") == -1


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("get", "/v1/charges/ch_3MmlLrLkdIwHu7ix/", "GET /v1/charges/{}"),
        ("POST", "/v1/charges", "POST /v1/charges"),
        ("POST", "/crm/v3/objects/contacts/512", "POST /crm/v3/objects/contacts/{}"),
        ("GET", "/users/ann@example.com", "GET /users/{}"),
        ("POST", "/api/oauth.v2.access", "POST /api/oauth.v2.access"),
        ("GET", "/x/" + "a" * 33, "GET /x/{}"),
        ("GET", "", "GET /"),
    ],
)
def test_the_operation_behind_a_path(method: str, path: str, expected: str) -> None:
    """Ids fall out of a path, versions and words stay."""
    assert patterns.operation(method, path) == expected


@given(st.text(), st.text())
def test_any_path_and_url_can_be_read(path: str, method: str) -> None:
    """No path and no URL raises, and a plain path is its own plain spelling or shorter."""
    once = patterns.plain(path)
    assert once.startswith("/")
    assert not once.endswith("/") or once == "/"
    assert "/../" not in f"{once}/"
    assert patterns.path_of(path).startswith("/")
    assert patterns.operation(method, path).startswith(method.upper())
    patterns.parse("POST /v1/{a}/*").matches(method, path)


def test_a_url_that_is_none() -> None:
    """A URL that cannot be read has the path of the root."""
    assert patterns.path_of("https://[::1/v1") == "/"
    assert patterns.path_of("https://api.example.com/v1/a?b=/c") == "/v1/a"
