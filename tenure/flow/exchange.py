"""One HTTP/1.1 request and its whole answer over an open wire.

Used by the carriers alone.  The request leaves as one piece, head and body together.  An answer is
given only when all of it has come: everything else raises, and what that means for the call is the
carrier's to say, by the first byte.  Redirects are answers like others; they are not followed.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import h11
import msgspec

from tenure.base.errors import CallForbidden
from tenure.base.http import Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenure.base.http import Request
    from tenure.flow.egress import Place
    from tenure.flow.wire import Wire

Headers = tuple[tuple[str, str], ...]

# What speaks about this connection and not about the request; the carrier writes its own.
_OWN = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_DEFAULTS = (("accept", "*/*"), ("user-agent", "tenure"))
_CODING = "content-encoding"
_MIDDLE = "the provider closed the connection in the middle of its answer"
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def compose(request: Request, place: Place, added: Iterable[tuple[str, str]]) -> h11.Request:
    """The head of a request with what is added at send, which replaces headers of the same name.

    Raises ``CallForbidden`` where it cannot be written as HTTP, and never shows a header's value.
    """
    if request.method.upper() == "CONNECT":
        raise CallForbidden("the method is CONNECT: it opens a tunnel and is no call")
    added = tuple(added)
    taken = _OWN | {name.lower() for name, _ in added}
    own = tuple(pair for pair in request.headers if pair[0].lower() not in taken)
    named = taken | {name.lower() for name, _ in own}
    lines = [("host", place.authority), *own, *added, ("accept-encoding", "identity")]
    lines += [pair for pair in _DEFAULTS if pair[0] not in named]
    if request.body or request.method.upper() in _WITH_BODY:
        lines.append(("content-length", str(len(request.body))))
    try:
        headers = [_bytes(name, value) for name, value in lines]
        return h11.Request(method=request.method, target=place.target, headers=headers)
    except (h11.LocalProtocolError, UnicodeEncodeError) as error:
        raise CallForbidden(
            f"the request cannot be written as HTTP ({_wrong(request.method, lines)}): "
            "nothing was sent",
            hint="Names are ASCII words; values are one line of Latin-1 text without controls.",
        ) from error


def _bytes(name: str, value: str) -> tuple[bytes, bytes]:
    return name.encode("ascii"), value.encode("latin-1")


def _wrong(method: str, lines: list[tuple[str, str]]) -> str:
    """Which part is at fault, by name: the value may be a credential."""
    for name, value in lines:
        try:
            h11.Request(method="GET", target="/", headers=[(b"host", b"h"), _bytes(name, value)])
        except (h11.LocalProtocolError, UnicodeEncodeError):
            return f"header {name!r}"
    return f"method {method!r}"


class Answer(msgspec.Struct, frozen=True):
    """An answer, and whether all of it was read, so that the wire can be used again."""

    response: Response
    whole: bool


async def talk(wire: Wire, head: h11.Request, body: bytes, most: int) -> Answer:
    """Send a request and read its answer, cut behind ``most`` bytes of body.

    Raises ``Unsent`` where the wire refused the first byte, ``h11.RemoteProtocolError`` where
    what came is no whole answer, and ``OSError`` where the connection broke.
    """
    written = await _send(wire, head, body)
    try:
        start = await _head(wire)
    except h11.RemoteProtocolError as error:
        raise _no_head(wire, error) from error
    try:
        received, ended = await _body(wire, most)
    except h11.RemoteProtocolError as error:
        raise _no_end(wire, error) from error
    coded = [(name.decode("ascii"), value.decode("latin-1")) for name, value in start.headers]
    headers, plain, fits = decoded(tuple(coded), received, most)
    if not (ended and fits):
        headers += (("tenure-cut", str(most)),)
    response = Response(status=start.status_code, headers=headers, body=plain)
    return Answer(response, whole=written and ended)


async def _send(wire: Wire, head: h11.Request, body: bytes) -> bool:
    """Write all in one piece; False where the provider stopped listening: it may still answer."""
    parts = [wire.h11.send(head)]
    if body:
        parts.append(wire.h11.send(h11.Data(data=body)))
    parts.append(wire.h11.send(h11.EndOfMessage()))
    try:
        await wire.write(b"".join(part for part in parts if part))
    except OSError:
        if not wire.used:
            raise
        return False
    return True


def _no_head(wire: Wire, error: h11.RemoteProtocolError) -> h11.RemoteProtocolError:
    """The same error in a person's words, where not even the head of an answer came."""
    begun, closed = wire.h11.trailing_data
    if closed and not begun:
        said = "the provider closed the connection without an answer"
    elif closed and begun.startswith(b"HTTP/"):
        said = _MIDDLE
    else:
        detail = f"it begins {begun[:40].decode('latin-1')!r}" if closed else str(error)
        said = f"what the provider sent is no HTTP answer ({detail})"
    return h11.RemoteProtocolError(said)


def _no_end(wire: Wire, error: h11.RemoteProtocolError) -> h11.RemoteProtocolError:
    """The same error in a person's words, where the answer has begun."""
    closed = wire.h11.trailing_data[1]
    return h11.RemoteProtocolError(
        _MIDDLE if closed else f"what the provider sent is no whole HTTP answer ({error})"
    )


async def _event(wire: Wire) -> object:
    """The next event, once there are bytes enough for one; h11's PAUSED counts as an end."""
    while (event := wire.h11.next_event()) is h11.NEED_DATA:
        wire.h11.receive_data(await wire.read())
    return event


async def _head(wire: Wire) -> h11.Response:
    while True:
        event = await _event(wire)
        if isinstance(event, h11.Response):
            return event
        if not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("it switched to another protocol")


async def _body(wire: Wire, most: int) -> tuple[bytes, bool]:
    """The body and whether it ended; what goes beyond ``most`` bytes is left where it is."""
    received = bytearray()
    while True:
        event = await _event(wire)
        if not isinstance(event, h11.Data):
            return bytes(received), True
        received += event.data
        if len(received) > most:
            return bytes(received[:most]), False


def decoded(headers: Headers, body: bytes, most: int) -> tuple[Headers, bytes, bool]:
    """Take off a content coding that came although none was asked for.

    Gives headers, body and whether all fits into ``most`` bytes (a small answer can unpack to any
    size).  A coding that is unknown or broken stays on, with its header: the answer did come.
    """
    codings = [value.strip().lower() for name, value in headers if name.lower() == _CODING]
    bits = _WINDOW_BITS.get(codings[0]) if len(codings) == 1 else None
    if bits is None or not body:
        return headers, body, True
    plain = _inflated(body, bits, most)
    if plain is None and bits == _WINDOW_BITS["deflate"]:
        plain = _inflated(body, -bits, most)  # many servers mean the raw form
    if plain is None:
        return headers, body, True
    kept = tuple(pair for pair in headers if pair[0].lower() not in (_CODING, "content-length"))
    return kept, plain[:most], len(plain) <= most


def _inflated(body: bytes, bits: int, most: int) -> bytes | None:
    try:
        return zlib.decompressobj(bits).decompress(body, most + 1)
    except zlib.error:
        return None
