"""An input is held against its type's schema: what cannot fit is refused, what might fit is not."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from dataclasses import dataclass
from typing import Literal

import msgspec
import pydantic
import pytest

from tenure.base import schema
from tenure.base.errors import InvalidInput
from tenure.flow import inputs


class Colour(enum.Enum):
    """One of a few."""

    RED = "red"


@dataclass
class Line:
    """A part of an order."""

    amount: float
    note: str | None = None


@dataclass
class Order:
    """An order as a dataclass has it."""

    id: uuid.UUID
    lines: list[Line]
    at: datetime.datetime | None = None
    colour: Colour = Colour.RED
    kind: Literal["big", "small"] = "big"
    more: dict[str, int] | None = None


class Tree(msgspec.Struct, forbid_unknown_fields=True):
    """A type that holds itself."""

    name: str
    below: list[Tree] = []
    place: tuple[int, str] | None = None


class Model(pydantic.BaseModel):
    """A type that turns much into what it needs."""

    count: int
    amount: decimal.Decimal = decimal.Decimal(0)
    ready: bool = False
    at: datetime.datetime | None = None
    wait: datetime.timedelta | None = None
    lines: list[Line] = []


_ID = "019ad8f2-6c1e-7d3a-9b52-5c1f0e7a4b10"


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (Order, f'{{"id": "{_ID}", "lines": []}}'),
        (Order, f'{{"id": "{_ID}", "lines": [{{"amount": 1, "note": null}}], "other": 1}}'),
        (
            Order,
            f'{{"id": "{_ID}", "lines": [], "at": "2026-12-24T09:00:00Z", "more": {{"a": 1}}}}',
        ),
        (Tree, '{"name": "a", "below": [{"name": "b", "place": [1, "x"]}]}'),
        (Model, '{"count": "12", "amount": "1.50", "ready": "yes"}'),
        (Model, '{"count": 12.0, "amount": 1.5, "ready": 1, "at": 1800000000, "wait": 5}'),
        (Model, '{"count": true, "at": "2026-12-24", "lines": [{"amount": "1"}], "x": []}'),
        (list[int], "[1, 2]"),
        (dict[str, list[str]], '{"a": ["b"]}'),
        (int | str | None, "null"),
        (str, '"\\u0000\\ud83d\\ude00"'),
    ],
)
def test_what_the_type_takes_is_let_through(type_: object, text: str) -> None:
    """No input that its automation would take is refused for its schema."""
    inputs.decode(text.encode(), type_)
    described = inputs.schema(type_)
    assert described is not None
    schema.check(described, text)


@pytest.mark.parametrize(
    ("type_", "text", "path"),
    [
        (Order, "null", "$"),
        (Order, "[]", "$"),
        (Order, f'{{"id": "{_ID}"}}', "$"),
        (Order, f'{{"id": "{_ID}", "lines": [{{"amount": "a lot"}}]}}', "$.lines[0].amount"),
        (Order, f'{{"id": "{_ID}", "lines": [{{"amount": 1, "note": 2}}]}}', "$.lines[0].note"),
        (Order, f'{{"id": "{_ID}", "lines": [], "colour": "blue"}}', "$.colour"),
        (Order, f'{{"id": "{_ID}", "lines": [], "more": {{"a": []}}}}', "$.more.a"),
        (Tree, '{"name": "a", "below": [{"name": 5}]}', "$.below[0].name"),
        (Tree, '{"name": "a", "nmae": "b"}', "$"),
        (Tree, '{"name": "a", "place": ["x", "y"]}', "$.place[0]"),
        (Model, '{"count": "a dozen"}', "$.count"),
        (Model, '{"count": 1, "lines": [{}]}', "$.lines[0]"),
        (list[int], '{"a": 1}', "$"),
        (int | None, "[]", "$"),
    ],
)
def test_what_cannot_fit_is_told_with_its_path(type_: object, text: str, path: str) -> None:
    """What the type refuses for its shape is refused by its schema, at the same path."""
    with pytest.raises(InvalidInput):
        inputs.decode(text.encode(), type_)
    described = inputs.schema(type_)
    assert described is not None
    with pytest.raises(InvalidInput) as wrong:
        schema.check(described, text)
    assert f"at `{path}`, value " in wrong.value.message
    assert wrong.value.hint


@pytest.mark.parametrize(
    "described", ["true", "[]", "{}", '{"$ref": "#"}', '{"$ref": "#/x"}', '{"type": "odd"}']
)
def test_a_schema_that_says_nothing_refuses_nothing(described: str) -> None:
    """A schema that cannot be followed leaves it to the job."""
    schema.check(described, '{"a": [1]}')
