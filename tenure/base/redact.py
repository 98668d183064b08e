"""What is printed or kept only to be read: credentials masked by the names they go under.

Journal, pages, command line and the stored copies of received headers use it.  Promises: the value
of anything named like a credential is gone, and so is every known secret value wherever it stands;
what else there is stays as it was.  A request that may have to be sent again is not masked but goes
through ``tenure.base.conceal``, which can put the values back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

from tenure.base import json
from tenure.base.conceal import NOTHING, Concealment
from tenure.base.errors import InvalidInput

MASK = "[redacted]"

_NAMES = re.compile(
    r"(proxy-)?authorization|(set-)?cookie|.*(secret|signature|credential|password|passwd).*"
    r"|(.*-)?(pwd|sig|passphrase|jwt)|.*token"
    r"|.*(api|auth|access|private|account|shared|signing|encryption|subscription|functions)-?key"
)
_QUERY_NAMES = frozenset({"key", "code"})
# Twice: with a semicolon as part of a value, then as what some servers take it for, a separator.
_PAIRS = (
    re.compile(r"([^=&?#;\s]+)=([^&#\s]+)"),
    re.compile(r"([^=&?#;\s]+)=([^&#;\s]+)"),
)
_FORM = re.compile(r"[^=&\s]+=[^&\s]*(&[^=&\s]+=[^&\s]*)*")
_USER = re.compile(r"(://[^:/?#@]*:)[^/?#]*(@)")
_DSN_PASSWORD = re.compile(r"(\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)", re.IGNORECASE)
_DSN_USER = re.compile(r"(://[^:/?#@]*:).*(@)", re.DOTALL)


def sensitive(name: str) -> bool:
    """Whether what goes under this name is a credential or gives one away."""
    return _NAMES.fullmatch(name.lower().replace("_", "-")) is not None


def headers(
    pairs: Iterable[tuple[str, str]], secrets: Concealment = NOTHING
) -> tuple[tuple[str, str], ...]:
    """The headers in their order, credentials masked."""
    return tuple(
        (name, MASK if sensitive(name) else secrets.hide_text(value)) for name, value in pairs
    )


def url(address: str, secrets: Concealment = NOTHING) -> str:
    """The address, with the password before its host and the credentials in its query masked."""
    parts = re.split(r"([?#])", address, maxsplit=1)
    head = _USER.sub(rf"\g<1>{MASK}\2", parts[0])
    return secrets.hide_text("".join([head, *parts[1:2], *map(_pairs, parts[2:])]))


def body(content: bytes, secrets: Concealment = NOTHING) -> str:
    """The body as text for people: JSON and forms masked by name, all else by known values."""
    text = content.decode("utf-8", "replace")
    if text.lstrip()[:1] in ("{", "["):
        try:
            plain = fields(json.decode(content))
        except InvalidInput:
            return secrets.hide_text(text)
        return secrets.hide_text(json.encode(plain).decode())
    return secrets.hide_text(_pairs(text) if _FORM.fullmatch(text) else text)


def fields(value: object) -> object:
    """Plain values with the content of every credential's field masked, at any depth."""
    if isinstance(value, dict):
        return {
            name: MASK if sensitive(str(name)) else fields(item) for name, item in value.items()
        }
    return [fields(item) for item in value] if isinstance(value, list) else value


def dsn(text: str) -> str:
    """A database address of either form, address or ``key=value``, with its passwords masked."""
    if "://" not in text:
        return _DSN_PASSWORD.sub(rf"\g<1>{MASK}", text)
    head, mark, query = _DSN_USER.sub(rf"\g<1>{MASK}\2", text).partition("?")
    return head + mark + _pairs(query)


def _pairs(text: str) -> str:
    """``name=value`` pairs of a query or form, masked by name."""
    for pattern in _PAIRS:
        text = pattern.sub(_pair, text)
    return text


def _pair(found: re.Match[str]) -> str:
    name = unquote_plus(found[1])
    masked = sensitive(name) or name.lower() in _QUERY_NAMES
    return f"{found[1]}={MASK}" if masked else found[0]
