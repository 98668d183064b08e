"""Where a key stands in a request: a header, a field of the body, a parameter of the query.

Called when a call is built and when its course begins.  Promises: the place is the provider's, the
value is the step's key and nobody else's; all other bytes of the request stay as they were.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from tenure.base.entries import KeyRule
from tenure.base.errors import CallForbidden
from tenure.base.http import Request

KEY_HEADER = "Idempotency-Key"
_FORM = "application/x-www-form-urlencoded"


def header(rule: KeyRule | None) -> str | None:
    """The header that carries the key; None where it stands elsewhere."""
    if rule is None:
        return KEY_HEADER
    return rule.name if rule.where == "header" else None


def check(request: Request, rule: KeyRule | None) -> None:
    """Raise ``CallForbidden`` where the key has no place, or the author has put a value there."""
    name = header(rule)
    if name is not None and any(own.lower() == name.lower() for own, _ in request.headers):
        raise _taken(f"header {name!r}")
    placed(request, rule, "key")


def placed(request: Request, rule: KeyRule | None, key: str) -> Request:
    """The request with the key in its body or query; unchanged where a header carries it."""
    if rule is None or rule.where == "header":
        return request
    if rule.where == "query":
        return msgspec.structs.replace(request, url=_in_query(request.url, rule.name, key))
    kind = next((text for own, text in request.headers if own.lower() == "content-type"), None)
    if kind is not None and kind.lower().startswith(_FORM):
        return msgspec.structs.replace(request, body=_in_form(request.body, rule.name, key))
    headers = request.headers
    if kind is None and not request.body:
        headers = (("content-type", "application/json"), *headers)
    body = _in_json(request.body or b"{}", rule.name, rule.name.split("."), key)
    return msgspec.structs.replace(request, headers=headers, body=body)


def _in_query(url: str, name: str, key: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query=_added(parts.query, name, key, "query parameter")))


def _in_form(body: bytes, name: str, key: str) -> bytes:
    # Latin-1 gives every byte back as it was.
    return _added(body.decode("latin-1"), name, key, "form field").encode("latin-1")


def _added(pairs: str, name: str, key: str, place: str) -> str:
    if any(own == name for own, _ in parse_qsl(pairs, keep_blank_values=True)):
        raise _taken(f"{place} {name!r}")
    return "&".join(part for part in (pairs, urlencode({name: key})) if part)


def _in_json(body: bytes, name: str, path: list[str], key: str) -> bytes:
    """The JSON object with the key at the path; what else is in it stays byte for byte."""
    first, *rest = path
    try:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CallForbidden(
            f"the key's place is the body field {name!r}, and the body has none "
            f"({error}): nothing was sent",
            hint="Give json= with an object, or declare another place with app.provider(keys=...).",
        ) from error
    if rest:
        inner = bytes(fields[first]) if first in fields else b"{}"
        fields[first] = msgspec.Raw(_in_json(inner, name, rest, key))
    elif first in fields:
        raise _taken(f"body field {name!r}")
    else:
        fields[first] = msgspec.Raw(msgspec.json.encode(key))
    return msgspec.json.encode(fields)


def _taken(place: str) -> CallForbidden:
    return CallForbidden(
        f"the call sets the {place} itself, where the step's key stands: the key wins, and nothing "
        "was sent",
        hint="Leave it out: Tenure sends the step's key there, the same on every repeat.",
    )
