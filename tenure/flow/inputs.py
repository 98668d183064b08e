"""The author's types at the border of a job: pydantic, msgspec, dataclasses, plain values.

Called by automations.  Promises: an input that does not fit raises ``InvalidInput`` with the path
and the value; whichever kind of type is used, its JSON schema is known.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from typing import Protocol, cast, runtime_checkable
from urllib.parse import parse_qsl

import msgspec

from tenure.base import json
from tenure.base.errors import InvalidInput

# Where msgspec says that something does not fit: $.lines[0].amount
_PATH = re.compile(r"at `\$([^`]*)`")
_PLACE = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_FORM = "application/x-www-form-urlencoded"


@runtime_checkable
class _Model(Protocol):
    """A pydantic model class, known by shape so that pydantic is needed only where it is used."""

    def model_validate_json(self, text: bytes) -> object: ...

    def model_validate(self, value: object) -> object: ...

    def model_json_schema(self) -> dict[str, object]: ...


def declared(fn: Callable[..., object]) -> object:
    """The type of a handler's second parameter; ``object`` where it takes none or says nothing."""
    parameters = list(inspect.signature(fn).parameters.values())
    if len(parameters) < 2:
        return object
    hints = typing.get_type_hints(fn)
    return hints.get(parameters[1].name, object)


def returned(fn: Callable[..., object]) -> object:
    """The type a function says it returns; ``object`` where it says nothing."""
    try:
        return typing.get_type_hints(fn).get("return", object)
    except (TypeError, NameError, AttributeError):
        return object


def decode(raw: bytes, type_: object, content_type: str | None = None) -> object:
    """JSON or form bytes as the declared type; raises ``InvalidInput`` with path and value."""
    if (content_type or "").lower().startswith(_FORM):
        fields = parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True)
        return convert(dict(fields), type_)
    if isinstance(type_, type) and isinstance(type_, _Model):
        return _validated(lambda: cast("_Model", type_).model_validate_json(raw))
    return convert(json.decode(raw), type_)


def convert(value: object, type_: object) -> object:
    """Plain values as the declared type; raises ``InvalidInput`` with path and value."""
    if type_ in (object, typing.Any, inspect.Parameter.empty):
        return value
    if isinstance(type_, type) and isinstance(type_, _Model):
        return _validated(lambda: cast("_Model", type_).model_validate(value))
    try:
        return msgspec.convert(value, cast("type[object]", type_))
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InvalidInput(
            f"the value does not fit ({error}{_shown(value, str(error))})",
            hint="Compare the value at that path with the declared type.",
        ) from error


def _shown(value: object, error: str) -> str:
    """The value at the path that an error of msgspec names; nothing where it names none."""
    path = _PATH.search(error)
    if path is None:
        return f", value {value!r:.80}"
    for name, place in _PLACE.findall(path.group(1)):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and place and int(place) < len(value):
            value = value[int(place)]
        else:
            return ""
    return f", value {value!r:.80}"


def schema(type_: object) -> str | None:
    """The type's JSON schema as text; None where everything fits."""
    if type_ in (object, typing.Any, None, type(None)):
        return None
    if isinstance(type_, type) and isinstance(type_, _Model):
        return json.encode(cast("_Model", type_).model_json_schema()).decode()
    try:
        return json.encode(msgspec.json.schema(type_)).decode()
    except (TypeError, RuntimeError):
        return None


def _validated(validate: Callable[[], object]) -> object:
    try:
        return validate()
    except ValueError as error:
        raise InvalidInput(
            f"the input does not fit ({_places(error)})",
            hint="Compare the value at that path with the declared type.",
        ) from error


def _places(error: ValueError) -> str:
    """Path, cause and value of the first error pydantic lists; its text where it lists none."""
    listing = getattr(error, "errors", None)
    if not callable(listing):
        return str(error)
    found = listing(include_url=False)
    if not found:
        return str(error)
    path = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in found[0]["loc"])
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{found[0]['msg']} - at `${path}`, value {str(found[0]['input'])[:80]!r}{more}"
