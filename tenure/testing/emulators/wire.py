"""One client's connection: requests read, answers written, and every way of ending it badly.

Used by the service, one line per connection.  HTTP/1.1 is read and written by h11 over plain
asyncio streams, because a fault must be able to close, reset or spoil the connection underneath.
A head is stamped in the moment in which the parser has it whole.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

import h11

from tenure.testing.emulators.errors import EmulatorError
from tenure.testing.emulators.message import Answer, Head

_CHUNK = 65_536
_HEAD_AT_MOST = 65_536
_BODY_AT_MOST = 32 * 1024 * 1024
_NO_BODY = frozenset({204, 304})


class Gone(EmulatorError):
    """The client left before its request was complete."""


class Malformed(EmulatorError):
    """What came is no HTTP/1.1 request; ``status`` is the answer to it."""

    def __init__(self, message: str, status: int) -> None:
        """Keep the status beside the message."""
        super().__init__(message, hint="Send one well-formed HTTP/1.1 request at a time.")
        self.status = status


class WatchedReader(asyncio.StreamReader):
    """A stream that says at once, without being read, that the other side has left."""

    def __init__(self) -> None:
        """Watch the stream of one connection."""
        super().__init__(limit=_CHUNK, loop=asyncio.get_running_loop())
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        """Note the end of what the client sends."""
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: BaseException) -> None:
        """Note a connection that broke."""
        super().set_exception(exc)  # type: ignore[arg-type]  # the stubs know Exception only
        self.gone.set()


class Line:
    """A connection from its first byte to its end."""

    def __init__(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
        """Take the connection as asyncio hands it over."""
        self.idle = True
        self.controls = False
        self._reader = reader
        self._writer = writer
        self._method = b""
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_AT_MOST)

    @property
    def gone(self) -> asyncio.Event:
        """Set once the client has left."""
        return self._reader.gone

    async def head(self, now: Callable[[], float]) -> Head | None:
        """The next request's head; None when the client is done with the connection.

        Raises ``Malformed``, and ``Gone`` where the client leaves in the middle of it.
        """
        self.idle = True
        self._method = b""
        event = await self._event()
        at = now()
        self.idle = False
        if not isinstance(event, h11.Request):
            return None
        path, _, query = event.target.decode("ascii", "replace").partition("?")
        headers = tuple(
            (name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers
        )
        return Head(event.method.decode("ascii").upper(), path, query, headers, at)

    async def body(self) -> bytes:
        """The whole body of the request; raises ``Gone`` or ``Malformed`` where there is none."""
        parts: list[bytes] = []
        size = 0
        # The parser ends a body that is cut short with an error, so what ends this is its end.
        while isinstance(event := await self._event(), h11.Data):
            parts.append(bytes(event.data))
            size += len(event.data)
            if size > _BODY_AT_MOST:
                raise Malformed(f"a body of more than {_BODY_AT_MOST} bytes", 413)
        return b"".join(parts)

    async def answer(self, answer: Answer) -> bool:
        """Write the answer in one piece; whether another request may follow on this connection."""
        self._writer.write(self._bytes(answer))
        await self._writer.drain()
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def half_answer(self, answer: Answer) -> None:
        """Write the head and half of the body, then end the connection."""
        whole = self._bytes(Answer(answer.status, answer.headers, answer.body or b"{}" * 32))
        head, _, body = whole.partition(b"\r\n\r\n")
        await self.garbage(head + b"\r\n\r\n" + body[: len(body) // 2])

    async def garbage(self, spoiled: bytes) -> None:
        """Write the bytes as they are, then end the connection."""
        self._writer.write(spoiled)
        await self._writer.drain()
        self.close()

    def close(self, *, reset: bool = False) -> None:
        """End the connection: with FIN, or with RST, which throws away what is on its way."""
        if not reset:
            self._writer.close()
            return
        sock = self._writer.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def _bytes(self, answer: Answer) -> bytes:
        headers = list(answer.headers)
        if answer.status not in _NO_BODY:
            headers.append(("content-length", str(len(answer.body))))
        response = h11.Response(status_code=answer.status, headers=headers)
        written = self._http.send(response) or b""
        if answer.body and answer.status not in _NO_BODY and self._method != b"HEAD":
            written += self._http.send(h11.Data(data=answer.body)) or b""
        return written + (self._http.send(h11.EndOfMessage()) or b"")

    async def _event(self) -> object:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                if self._reader.at_eof():
                    raise Gone("the client left in the middle of a request") from error
                raise Malformed(str(error), error.error_status_hint) from error
            if isinstance(event, h11.Request):
                self._method = event.method
            if event is not h11.NEED_DATA:
                return event
            await self._more()

    async def _more(self) -> None:
        if self._http.they_are_waiting_for_100_continue:
            going_on = h11.InformationalResponse(status_code=100, headers=[])
            self._writer.write(self._http.send(going_on) or b"")
        self._http.receive_data(await self._reader.read(_CHUNK))
