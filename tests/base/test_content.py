"""An input holds only what every reader of it can take apart again."""

from __future__ import annotations

import dataclasses
import json as stdlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tenure.base import content, json
from tenure.base.content import DEPTH_LIMIT
from tenure.base.errors import InvalidInput


@dataclasses.dataclass
class Order:
    """As an author declares one."""

    amount: float
    note: str = ""


class Lead(BaseModel):
    """As an author with pydantic declares one."""

    amount: float


def nested(depth: int) -> object:
    """Lists within lists."""
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ({"a": [1, {"b": float("nan")}]}, "$.a[1].b", "nan"),
        (float("-inf"), "$", "-inf"),
        (Order(float("inf")), "$.amount", "inf"),
        (Lead(amount=float("nan")), "$.amount", "nan"),
        ({"a": "x\0y"}, "$.a", "NUL"),
        (Order(1.0, "\0"), "$.note", "NUL"),
        ({"a": {"\0": 1}}, '$.a."\\u0000"', "NUL"),
        (["ok", "\ud83d"], "$[1]", "surrogate"),
        ({"\udc00": 1}, '$."\\udc00"', "surrogate"),
        ([None, {"x": None, "y": [float("nan")]}], "$[1].y[0]", "nan"),
    ],
)
def test_what_cannot_be_kept_is_named_with_its_path(value: object, path: str, says: str) -> None:
    """Values of any kind, keys too."""
    with pytest.raises(InvalidInput) as caught:
        content.encode(value)
    assert f"at `{path}`" in caught.value.message
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (r'{"a": ["\u0000"]}', "at `$.a[0]`"),
        (r'{"a": "\uD83D"}', "at `$.a`"),
        ('{"a": NaN}', "not JSON"),
        ('{"a": 1', "not JSON"),
        ("[" * 100_000, "nested more than"),
        ("[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1), "nested more than"),
    ],
)
def test_text_is_asked_the_same(text: str, says: str) -> None:
    """What comes as JSON text is looked at as it stands."""
    with pytest.raises(InvalidInput) as caught:
        content.check(text)
    assert says in caught.value.message


@pytest.mark.parametrize("make", [nested, lambda depth: {"a": nested(depth - 1)}])
def test_depth_has_a_bound_that_is_exact(make: Callable[[int], object]) -> None:
    """One level less is taken, one more is not, and a bomb is refused like it."""
    assert content.encode(make(DEPTH_LIMIT))
    for depth in (DEPTH_LIMIT + 1, 100_000):
        with pytest.raises(InvalidInput, match=f"more than {DEPTH_LIMIT} deep"):
            content.encode(make(depth))


def test_width_is_not_depth() -> None:
    """Many small things side by side, and brackets in text, are no nesting."""
    wide = [{"a": '[[[{{{\\"['}] * 1_000
    assert stdlib.loads(content.encode(wide)) == wide
    content.check(stdlib.dumps(wide))


def test_integers_are_kept_exactly() -> None:
    """However long."""
    value = {"n": 10**29 + 1, "m": -(2**64)}
    assert json.decode(content.encode(value)) == value


def test_what_only_looks_odd_is_taken() -> None:
    """A null that was one, escapes that are text, whole pairs."""
    for value in (None, [None], "\\u0000", "null", "😀", ["\\ud800"]):
        assert json.decode(content.encode(value)) == value
        content.check(stdlib.dumps(value))


fine = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), inner
        )
    ),
    max_leaves=20,
)


@given(fine)
def test_whatever_is_fine_passes_unchanged(value: object) -> None:
    """What comes back is what went in."""
    raw = content.encode(value)
    content.check(raw.decode())
    assert json.decode(raw) == value
