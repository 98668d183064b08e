"""A call as an author asks for it, and as it will be recorded and sent.

Called by ``Http`` and the call's course.  Promises: what is built is plain bytes, so the record and
the wire show the same; what cannot be a request is refused before anything is asked of anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import msgspec

from tenure.base import catalogue, json, patterns
from tenure.base.entries import KeyRule
from tenure.base.errors import CallForbidden, UnnamedEffect
from tenure.base.http import Request
from tenure.base.model import Policy
from tenure.flow import places
from tenure.flow.provider import Probe, Provider

Params = Mapping[str, object] | Sequence[tuple[str, object]]
Headers = Mapping[str, str] | Sequence[tuple[str, str]]

# What an URL may hold unescaped: its own delimiters and what is escaped already.
_KEEP = "/:?#[]@!$&'()*+,;=%~-._"


_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Call(msgspec.Struct, frozen=True):
    """One call: where it goes, what leaves, and how its repeats are treated."""

    provider: Provider
    request: Request
    operation: str
    path: str
    safe: bool
    policy: Policy
    rule: KeyRule | None
    probe: Probe | None
    timeout: float
    accept: frozenset[int]


class Body(msgspec.Struct, frozen=True):
    """What an author gives as a body: at most one of the three."""

    json: object = msgspec.UNSET
    data: Params | None = None
    content: bytes | str | None = None

    def encode(self) -> tuple[bytes, str | None]:
        """The bytes and their content type; raises ``Unserialisable`` or ``CallForbidden``."""
        given = [self.json is not msgspec.UNSET, self.data is not None, self.content is not None]
        if sum(given) > 1:
            raise CallForbidden(
                "a call was given more than one body: nothing was sent",
                hint="Give one of json=, data= and content=.",
            )
        if self.json is not msgspec.UNSET:
            return json.encode(self.json), "application/json"
        if self.data is not None:
            return _form(self.data).encode(), "application/x-www-form-urlencoded"
        content = self.content or b""
        return (content.encode() if isinstance(content, str) else content), None


def build(
    provider: Provider,
    method: str,
    target: str,
    *,
    body: Body,
    params: Params | None = None,
    headers: Headers | None = None,
    safe: bool | None = None,
    operation: str | None = None,
    step: str | None = None,
    timeout: float = 30.0,
    accept: Sequence[int] = (),
) -> Call:
    """The call to a provider; raises ``CallForbidden`` or ``UnnamedEffect`` before all else."""
    url = _url(provider.url(target), params)
    path = patterns.path_of(url)
    octets, content_type = body.encode()
    named = list(headers.items() if isinstance(headers, Mapping) else headers or ())
    if content_type and not any(name.lower() == "content-type" for name, _ in named):
        named.insert(0, ("content-type", content_type))
    known = catalogue.declared_safe(provider.entry, method, path)
    is_safe = known if known is not None else method in _SAFE if safe is None else safe
    if not is_safe and step is None:
        raise UnnamedEffect(
            f"{method} {path} changes something and has no step: every effect has a name",
            hint="Give step='what-it-does', or safe=True where it changes nothing.",
        )
    rule = catalogue.honors(provider.entry, method, path)
    request = Request(method, url, tuple(named), octets)
    if not is_safe:
        places.check(request, rule)
    probe = None if is_safe else provider.probe_of(method, path)
    return Call(
        provider=provider,
        request=request,
        operation=f"{method} {operation}" if operation else patterns.operation(method, path),
        path=path,
        safe=is_safe,
        policy="safe" if is_safe else "probe" if probe else "resend" if rule else "hold",
        rule=rule,
        probe=probe,
        timeout=timeout,
        accept=frozenset(accept),
    )


def _url(url: str, params: Params | None) -> str:
    parts = urlsplit(url)
    query = parts.query
    if params:
        query = "&".join(part for part in (query, _form(params)) if part)
    return urlunsplit(
        (parts.scheme, parts.netloc, quote(parts.path, safe=_KEEP), quote(query, safe=_KEEP), "")
    )


def _form(params: Params) -> str:
    pairs = params.items() if isinstance(params, Mapping) else params
    named = [(name, _text(value)) for name, value in pairs if value is not None]
    return urlencode(named, doseq=True)


def _text(value: object) -> object:
    """Booleans as JSON writes them, which is what form-taking providers expect."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return [_text(item) for item in value]
    return value
