"""Whatever text or JSON a job comes by, its row can be written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.text import storable, storable_json

# Surrogates and NUL among all other characters, and often.
hostile = st.text(st.characters() | st.sampled_from("\0\ud800\udfff\\\u2400é😀"), max_size=60)
limits = st.integers(0, 80)


@given(text=hostile, limit=limits)
def test_any_text_becomes_storable(text: str, limit: int) -> None:
    """The result is UTF-8 without NUL, within the limit, and stays as it is the second time."""
    result = storable(text, limit)
    assert len(result.encode()) <= limit
    assert "\0" not in result
    assert storable(result, limit) == result


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_plain_text_is_left_alone(text: str) -> None:
    """Text that PostgreSQL takes and that fits is not touched."""
    assert storable(text, len(text.encode())) == text


@pytest.mark.parametrize(
    ("text", "limit", "result"),
    [
        ("a\0b", 10, "a\u2400b"),
        ("a\ud800b", 10, "a\\ud800b"),
        ("é" * 50, 50, "é" * 15 + "… [cut: 100 bytes]"),
        ("x" * 5_242_880, 30, "xxxxxx… [cut: 5242880 bytes]"),
        ("😀" * 10, 3, ""),
        ("xxxxx", 3, "xxx"),
    ],
)
def test_what_was_changed_can_be_seen(text: str, limit: int, result: str) -> None:
    """NUL has its picture, a surrogate its escape, a cut its mark with the length it had."""
    assert storable(text, limit) == result


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | hostile,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile, inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(value=plain, limit=st.integers(4, 2_000))
def test_json_that_fits_is_left_alone(value: object, limit: int) -> None:
    """JSON within the limit is stored byte for byte, escaped NULs and surrogates included."""
    raw = json.dumps(value).encode()
    result = storable_json(raw, limit)
    assert (result == raw) if len(raw) <= limit else (result != raw)


@given(raw=st.binary(max_size=60) | hostile.map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_become_json(raw: bytes) -> None:
    """Whatever the bytes are, the result is JSON in UTF-8, within the limit, and stays so."""
    for limit in (4, 30, 45, 1_000):
        result = storable_json(raw, limit)
        assert len(result) <= limit
        assert b"\0" not in result
        json.loads(result.decode())
        assert storable_json(result, limit) == result


@pytest.mark.parametrize(
    ("raw", "result"),
    [
        (b'"' + b"x" * 999 + b'"', {"tenure:cut": {"bytes": 1001, "begins": '"' + "x" * 199}}),
        (b"hello", {"tenure:not_json": {"bytes": 5, "begins": "hello"}}),
        (b"", {"tenure:not_json": {"bytes": 0, "begins": ""}}),
        (b"[NaN]", {"tenure:not_json": {"bytes": 5, "begins": "[NaN]"}}),
        (b'"\xff"', {"tenure:not_json": {"bytes": 3, "begins": '"\ufffd"'}}),
        (b"\xef\xbb\xbf{}", {"tenure:not_json": {"bytes": 5, "begins": "\ufeff{}"}}),
        (b'"a\0b"', {"tenure:not_json": {"bytes": 5, "begins": '"a\u2400b"'}}),
        ('{"a":1}'.encode("utf-16-le"), None),
        (b"[" * 900 + b"]" * 900, None),
    ],
)
def test_what_was_replaced_can_be_seen(raw: bytes, result: object) -> None:
    """The replacement says why it is there, how long the original was, and how it began."""
    found = json.loads(storable_json(raw, 1_000))
    if result is not None:
        assert found == result
    elif raw.startswith(b"["):
        assert storable_json(raw, 2_000) == raw
    else:
        assert list(found) == ["tenure:not_json"]


def test_a_bottomless_value_is_replaced() -> None:
    """JSON nested deeper than anything can read is no reason to fail."""
    raw = b"[" * 100_000 + b"]" * 100_000
    assert list(json.loads(storable_json(raw, len(raw)))) == ["tenure:not_json"]


def test_a_small_limit_takes_what_it_can() -> None:
    """Where the beginning does not fit, the length is kept; where that does not, null."""
    raw = b'"' + b"x" * 998 + b'"'
    assert storable_json(raw, 40) == b'{"tenure:cut":{"bytes":1000}}'
    assert storable_json(raw, 10) == b"null"
