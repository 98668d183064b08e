"""Operation patterns: which requests a budget, a key rule or a safety declaration speaks about.

Owned here so that a budget and the catalogue read one notation.  Called by ``budget``, ``entries``,
``catalogue`` and ``answers``.  Three forms are promised, and nothing else is a pattern:

``METHOD /path/{name}``   that method, exactly that path, one value for each name
``METHOD /path/*``        that method, that path and everything below it
``/path/{name}``          any method, that path and everything below it

``*`` as the method is any method.  Paths are compared segment by segment after percent-decoding,
without query, doubled slashes, trailing slash or dot segments: no spelling of a path escapes the
budget, or gains the safety, that the plain spelling has.
"""

from __future__ import annotations

import functools
import re
from urllib.parse import unquote, urlsplit

import msgspec

from tenure.base.errors import ConfigurationError

_NOTATION = re.compile(r"(?:(?P<method>[A-Z]+|\*) )?(?P<path>/\S*)")
_VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_VERSION = re.compile(r"(?:^|(?<=\.))v\d+(?:\.\d+)?(?=\.|$)")
_LONG = 32


class Pattern(msgspec.Struct, frozen=True):
    """One parsed pattern; ``weight`` counts its literal characters, so the heavier is narrower."""

    text: str
    method: str | None
    expression: re.Pattern[str]
    names: tuple[str, ...]
    weight: int

    def matches(self, method: str, path: str) -> bool:
        """Whether a request with this method and path is spoken about."""
        return self._found(method, path) is not None

    def variable(self, name: str, method: str, path: str) -> str | None:
        """What stands at ``{name}`` in a matching path; None where the request does not match."""
        found = self._found(method, path)
        return found[name] if found else None

    def _found(self, method: str, path: str) -> re.Match[str] | None:
        if self.method is not None and self.method != method.upper():
            return None
        return self.expression.fullmatch(plain(path))


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Pattern:
    """The pattern written as ``text``; raises ``ConfigurationError`` where it is none."""
    found = _NOTATION.fullmatch(text)
    if found is None:
        raise _malformed(text, "it is not 'METHOD /path' or '/path'")
    method, path = found["method"], found["path"]
    below = method is None or path.endswith("/*")
    literal = path.removesuffix("/*").rstrip("/")
    names = tuple(_VARIABLE.findall(literal))
    bare = _VARIABLE.sub("", literal)
    if set(bare) & set("*{}?#"):
        raise _malformed(text, "'*' stands only at the end, names are {lower_case}")
    if plain(literal) != (literal or "/"):
        raise _malformed(text, f"as paths are compared it would be {plain(literal)!r}")
    if len(set(names)) < len(names):
        raise _malformed(text, "a name stands in it twice")
    expression = _expression(literal) + (r"(?:/.*)?" if below else "")
    return Pattern(
        text=text,
        method=None if method == "*" else method,
        expression=re.compile(expression or "/", re.DOTALL),
        names=names,
        weight=len(bare),
    )


def _expression(literal: str) -> str:
    pieces = _VARIABLE.split(literal)
    return "".join(
        f"(?P<{piece}>[^/]+)" if index % 2 else re.escape(piece)
        for index, piece in enumerate(pieces)
    )


def _malformed(text: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"an operation pattern cannot be read ({text!r}): {why}",
        hint="Write 'POST /v1/charges/{id}', 'POST /v1/*' or '/v1/search'.",
    )


def narrowest(texts: tuple[str, ...], method: str, path: str) -> int:
    """The weight of the narrowest of these patterns that matches, -1 where none does."""
    found = (parse(text) for text in texts)
    return max((one.weight for one in found if one.matches(method, path)), default=-1)


def plain(path: str) -> str:
    """A path as patterns compare it: decoded, no query, no empty or dot segments, no last slash."""
    segments: list[str] = []
    for raw in re.split(r"[?#]", path, maxsplit=1)[0].split("/"):
        segment = unquote(raw).replace("/", "%2F")
        if segment == ".." and segments:
            segments.pop()
        elif segment not in ("", ".", ".."):
            segments.append(segment)
    return "/" + "/".join(segments)


def path_of(url: str) -> str:
    """The path of a URL, plain; ``/`` where the URL cannot be read."""
    try:
        return plain(urlsplit(url).path)
    except ValueError:
        return "/"


def operation(method: str, path: str) -> str:
    """The operation behind a request whose template nobody declared: ids become ``{}``.

    What holds a digit (versions apart), an ``@`` or more than 32 characters is taken for an id.
    Too coarse is harmless here: operations that fall together share one budget and wait longer.
    """
    named = ("{}" if _is_id(segment) else segment for segment in plain(path).split("/"))
    return f"{method.upper()} {'/'.join(named)}"


def _is_id(segment: str) -> bool:
    words = _VERSION.sub("", segment)
    return len(segment) > _LONG or "@" in words or any(letter.isdigit() for letter in words)
