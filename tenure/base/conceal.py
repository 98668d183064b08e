"""Secret values taken out of bytes that will be stored, and put back before those are sent again.

The gate's records and the journal go through here.  Promises: no value that it knows is left, as it
is or as the web writes it (percent-encoded, in a form, in JSON, within base64); ``reveal`` gives
back exactly the bytes that ``hide`` was given; text that only looks like a mark reveals nothing;
what people read is masked, which keeps marks as they are.

A mark is ``{secret:NAME}``, or ``{secret:NAME|form}`` for a value that was written in that form;
``{secret:}`` stands for the text ``{secret:`` itself.
"""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

from tenure.base.errors import ConfigurationError, MissingSecret

_LEAST = 4
_LEAST_BASE64 = 8
_OPENING = b"{secret:"
_MARK = re.compile(rb"\{secret:([^{}]*)\}")


class Concealment:
    """What is known to be secret, by name; made once for as long as the values hold."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Values of fewer than four bytes are no secrets, and are let through.

        Raises ``ConfigurationError`` for a name with a brace or bar, which would blur the marks.
        """
        self._written: dict[bytes, bytes] = {b"": _OPENING}
        for name, value in secrets.items():
            if not name or re.search(r"[{}|]", name):
                raise ConfigurationError(
                    f"a secret's name that no mark can hold ({name!r}): it has braces or bars",
                    hint="Rename the environment variable or the file.",
                )
            for form, written in _forms(value):
                self._written[f"{name}|{form}".rstrip("|").encode()] = written
        self._marks = {text: name for name, text in reversed(self._written.items())}
        # Longest first: where one form begins like another, the whole of it is taken.
        texts = sorted(self._marks, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, texts)))
        values = [text for text in texts if text != _OPENING]
        self._values = re.compile(b"|".join(map(re.escape, values))) if values else None

    def hide(self, content: bytes) -> bytes:
        """The bytes with a mark in place of every secret value."""
        return self._pattern.sub(lambda found: b"{secret:%b}" % self._marks[found[0]], content)

    def reveal(self, content: bytes) -> bytes:
        """The bytes that ``hide`` was given; raises ``MissingSecret`` for a mark it cannot fill."""
        return _MARK.sub(lambda found: self._value(found[1]), content)

    def hide_text(self, text: str) -> str:
        """The text with a mark in place of every secret value."""
        hidden = self.hide(text.encode("utf-8", "surrogatepass"))
        return hidden.decode("utf-8", "surrogatepass")

    def mask_text(self, text: str) -> str:
        """The text with a mark in place of every secret value, for people: no way leads back.

        Marks that stand in it already stay as they are, so masking twice changes nothing.
        """
        if self._values is None:
            return text
        plain = text.encode("utf-8", "surrogatepass")
        masked = self._values.sub(lambda found: b"{secret:%b}" % self._marks[found[0]], plain)
        return masked.decode("utf-8", "surrogatepass")

    def _value(self, name: bytes) -> bytes:
        if name not in self._written:
            shown = name.decode("utf-8", "replace").partition("|")[0]
            raise MissingSecret(
                f"a recorded request needs a secret that is not declared ({shown}): "
                "it cannot be sent as it was",
                hint="Declare the secret again under the name it had.",
            )
        return self._written[name]


NOTHING = Concealment({})


def _forms(value: str) -> Iterator[tuple[str, bytes]]:
    """Every way in which the value may be written, each a function of the value alone."""
    plain = value.encode("utf-8", "surrogatepass")
    if len(plain) < _LEAST:
        return
    yield "", plain
    percent = quote(plain, safe="")
    yield "percent", percent.encode()
    yield "percent-lower", re.sub("%..", lambda found: found[0].lower(), percent).encode()
    yield "path", quote(plain).encode()
    yield "form", quote_plus(plain).encode()
    yield "json", json.dumps(value)[1:-1].encode()
    yield "json-utf8", json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    for offset in range(3):
        core = _base64_core(plain, offset)
        if len(core) >= _LEAST_BASE64:
            yield f"base64-{offset}", core
            yield f"base64url-{offset}", core.translate(bytes.maketrans(b"+/", b"-_"))


def _base64_core(plain: bytes, offset: int) -> bytes:
    """The characters that stand for the value alone, behind ``offset`` other bytes of its triple.

    One character at either end is shared with the neighbours, and stays.
    """
    encoded = base64.b64encode(bytes(offset) + plain)
    return encoded[-(-offset * 8 // 6) : (offset + len(plain)) * 8 // 6]


def of(secrets: Mapping[str, str]) -> Concealment:
    """The concealment of these values, made once for as long as they are the same."""
    return _made(tuple(sorted(secrets.items())))


@functools.lru_cache(maxsize=256)
def _made(secrets: tuple[tuple[str, str], ...]) -> Concealment:
    return Concealment(dict(secrets))
