"""Text and JSON that PostgreSQL will take, whatever they were before.

Everything a handler or a provider may have written passes through here on its way into a row, so
that no message, however odd, can keep its job from being settled.  Promises: the result is storable
and within the limit; what had to be cut says so and how long it was; what was storable and short
enough is unchanged, so doing it twice changes nothing.
"""

from __future__ import annotations

import msgspec

from tenure.base import json
from tenure.base.errors import InvalidInput

_BEGINNING = 200


def storable(text: str, limit: int) -> str:
    r"""The text in at most ``limit`` bytes of UTF-8, with nothing a ``text`` column refuses.

    NUL becomes U+2400, its picture; a lone surrogate becomes its escape, such as ``\ud800``.
    """
    encoded = text.replace("\0", "\u2400").encode("utf-8", "backslashreplace")
    if len(encoded) <= limit:
        return encoded.decode()
    mark = f"… [cut: {len(encoded)} bytes]".encode()
    if len(mark) > limit:
        mark = b""
    kept = encoded[: max(0, limit - len(mark))].decode("utf-8", "ignore")
    return kept + mark.decode()


def storable_json(raw: bytes, limit: int) -> bytes:
    """JSON for a ``json`` column in at most ``limit`` bytes: ``raw`` itself wherever possible.

    What is too long, or is no JSON after all, is replaced by an object under ``tenure:cut`` or
    ``tenure:not_json`` that tells its length and shows how it begins; where even that is too long,
    by ``null``.  ``limit`` is at least 4.
    """
    if len(raw) > limit:
        return _replacement("tenure:cut", raw, limit)
    return raw if _is_json(raw) else _replacement("tenure:not_json", raw, limit)


def _replacement(cause: str, raw: bytes, limit: int) -> bytes:
    beginning = raw[: 4 * _BEGINNING].decode("utf-8", "replace")[:_BEGINNING]
    shown = {"bytes": len(raw), "begins": storable(beginning, 4 * _BEGINNING)}
    for content in (shown, {"bytes": len(raw)}):
        replacement = json.encode({cause: content})
        if len(replacement) <= limit:
            return replacement
    return b"null"


def _is_json(raw: bytes) -> bool:
    """Whether PostgreSQL would take it: UTF-8 throughout, and JSON by the letter.

    The quick reading builds no values; it refuses escaped lone surrogates, which a ``json`` column
    takes, so what it refuses is read again.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return False
    return _reads_quickly(text) or _reads(text)


def _reads_quickly(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _reads(text: str) -> bool:
    try:
        json.decode(text)
    except InvalidInput:
        return False
    return True
