r"""What an input may hold: only what every reader of it can take apart again.

Called where inputs come in: from code, from the API, from the command line; the schema's functions
ask the same of SQL.  Promises: NaN and infinities, which JSON cannot hold, NUL and halves of
surrogate pairs, which PostgreSQL's text cannot, and nesting that readers give up at are refused
with their path, before anything is sent; all else, integers of any length too, is kept exactly.
"""

from __future__ import annotations

import math
import re

from tenure.base import json
from tenure.base.errors import InvalidInput, Unserialisable

# Deeper than people nest, and within what every JSON reader takes.
DEPTH_LIMIT = 200

# What may be something else after all: each is looked at again as a value.
_SUSPICIOUS = re.compile(rb"null|\\u0000|\\u[dD][89a-fA-F]")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')
_HALF = re.compile("[\ud800-\udfff]")


def encode(value: object) -> bytes:
    """A value as JSON text; raises ``InvalidInput`` with the path of what an input cannot hold."""
    try:
        raw = json.encode(value)
    except Unserialisable as error:
        if isinstance(error.__cause__, RecursionError):
            raise _too_deep() from error
        raise
    _check_depth(raw)
    if _SUSPICIOUS.search(raw):
        _look(json.plain(value))
    return raw


def check(text: str) -> None:
    """As ``encode``, for what is JSON text already; raises ``InvalidInput`` where it is none."""
    raw = text.encode()
    _check_depth(raw)
    value = json.decode(raw)
    if _SUSPICIOUS.search(raw):
        _look(value)


def check_size(raw: bytes, limit: int) -> None:
    """Raise ``InvalidInput`` where an input is longer than the setting ``input_limit``."""
    if len(raw) > limit:
        raise InvalidInput(
            f"the input has {len(raw)} bytes, and {limit} are taken",
            hint="Store it elsewhere and pass its address, or raise input_limit.",
        )


def _check_depth(raw: bytes) -> None:
    if raw.count(b"[") + raw.count(b"{") <= DEPTH_LIMIT:
        return
    depth = 0
    for token in _TOKEN.finditer(raw):
        first = token[0][:1]
        depth += first in b"[{"
        depth -= first in b"]}"
        if depth > DEPTH_LIMIT:
            raise _too_deep()


def _too_deep() -> InvalidInput:
    return InvalidInput(
        f"the input is nested more than {DEPTH_LIMIT} deep: readers of JSON would give up",
        hint="Flatten it, or pass the address of a document.",
    )


def _look(value: object) -> None:
    """Raise for the first thing in a plain value that an input cannot hold."""
    left: list[tuple[object, str]] = [(value, "$")]
    while left:
        value, path = left.pop()
        if isinstance(value, str):
            _check_text(value, path)
        elif isinstance(value, float) and not math.isfinite(value):
            raise _unfit(f"{value}, which JSON has no word for", path)
        elif isinstance(value, dict):
            for name in value:
                _check_text(name, f"{path}.{json.encode(name).decode()}")
            left += reversed([(item, f"{path}.{name}") for name, item in value.items()])
        elif isinstance(value, list | tuple):
            left += reversed([(item, f"{path}[{n}]") for n, item in enumerate(value)])


def _check_text(text: str, path: str) -> None:
    if "\0" in text:
        raise _unfit(r"NUL (\u0000), which PostgreSQL's text cannot hold", path)
    if _HALF.search(text):
        raise _unfit("half of a surrogate pair, which is no character", path)


def _unfit(what: str, path: str) -> InvalidInput:
    return InvalidInput(
        f"the input holds {what} - at `{path}`",
        hint="Leave it out, or write it in a form of your own, such as base64.",
    )
