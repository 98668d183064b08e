"""JSON in and out, exactly: big integers stay integers, hostile text stays storable.

Everything that is stored or remembered passes through here.  ``encode`` never fails on text:
lone surrogates leave as escapes, which a ``json`` column takes; NaN and infinities become null,
as JSON has no word for them.  What has no JSON form at all raises ``Unserialisable`` with its path.
"""

from __future__ import annotations

import json as stdlib
import math
from typing import Protocol, TypeVar, cast, runtime_checkable

import msgspec

from tenure.base.errors import InvalidInput, Unserialisable

T = TypeVar("T")


@runtime_checkable
class _Dumps(Protocol):
    """What pydantic models offer, known by shape so that this floor needs no pydantic."""

    def model_dump(self, *, mode: str) -> object: ...


def _foreign(value: object) -> object:
    if isinstance(value, _Dumps):
        return value.model_dump(mode="json")
    raise TypeError(type(value).__name__)


def plain(value: object) -> object:
    """The value as dicts, lists, texts and numbers, the odd ones too, as ``encode`` reads it."""
    return cast("object", msgspec.to_builtins(value, enc_hook=_foreign, str_keys=True))


def encode(value: object) -> bytes:
    """The value as JSON text; raises ``Unserialisable`` naming the type JSON has no form for."""
    try:
        return msgspec.json.encode(value, enc_hook=_foreign)
    except UnicodeEncodeError:
        return _escaped(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unserialisable(
            f"a value of type {type(value).__name__} cannot be written as JSON ({error})",
            hint="Return plain values, dataclasses, msgspec structs or pydantic models.",
        ) from error


def _escaped(value: object) -> bytes:
    """The slow way for text with lone surrogates, which only escapes can carry."""
    finite = _finite(plain(value))
    return stdlib.dumps(finite, ensure_ascii=True, separators=(",", ":")).encode()


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def decode(text: bytes | str) -> object:
    """JSON text as plain values; raises ``InvalidInput`` where it is not JSON."""
    try:
        return cast("object", msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _lenient(text)


def _lenient(text: bytes | str) -> object:
    """Lone surrogates are valid JSON that msgspec refuses; the standard library keeps them."""
    try:
        return cast("object", stdlib.loads(text, parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the text is not JSON ({error})", hint="Send one JSON value, encoded as UTF-8."
        ) from error


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


def convert(value: object, type_: type[T]) -> T:
    """Plain values as a dataclass, struct or builtin; raises ``InvalidInput`` with the path."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"the value does not fit {getattr(type_, '__name__', type_)} ({error})",
            hint="Compare the value at that path with the declared type.",
        ) from error
