"""The answer of last resort to a call that is not sent: an echo that cannot be taken for real.

Used by the dry carrier, and by the stand-ins of shadow jobs where nothing better is known.  Pure:
the same request under the same key has the same answer, so a re-run sees what the first run saw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl

from tenure.base import json
from tenure.base.errors import InvalidInput
from tenure.base.http import Response

if TYPE_CHECKING:
    from tenure.base.http import Request

_FORM = "application/x-www-form-urlencoded"
_MARK = ("tenure-stand-in", "echo")


def placeholder(key: str, number: int | None = None) -> str:
    """An id that no provider gives: ``dry-``, eight digits of the key, a place in a list."""
    return f"dry-{key[:8]}" if number is None else f"dry-{key[:8]}-{number}"


def stand_in(request: Request, key: str) -> Response:
    """Answer 200 with the request's own fields and a placeholder ``id`` where it names none."""
    body = json.encode(_echo(_fields(request), key))
    return Response(200, (("content-type", "application/json"), _MARK), body)


def _fields(request: Request) -> object:
    """What the body says, read as the form or JSON it claims to be; None where it is neither."""
    named = {name.lower(): value for name, value in request.headers}
    if named.get("content-type", "").lower().startswith(_FORM):
        return dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
    try:
        return json.decode(request.body) if request.body else None
    except InvalidInput:
        return None


def _echo(fields: object, key: str) -> object:
    if isinstance(fields, list):
        return [_named(item, placeholder(key, place)) for place, item in enumerate(fields)]
    return _named(fields if isinstance(fields, dict) else {}, placeholder(key))


def _named(item: object, name: str) -> object:
    if not isinstance(item, dict):
        return item
    return {"id": name, **cast("dict[str, object]", item)}
