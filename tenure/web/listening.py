"""The socket and the HTTP server on it: uvicorn, with bounds where it has none.

Used by ``tenure.web.server.serve``.  Promises: a port that is taken is told in one line before
anything else is begun; a request's head is bounded in bytes and in time; SIGTERM lets requests
under way come to their end, and ``run`` returns.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tenure.base.errors import ConfigurationError

HEAD_LIMIT = 65_536  # bytes of a request line and headers
HEAD_PATIENCE = 30.0  # seconds until they are complete
_BACKLOG = 2_048


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one.  Raises ``ConfigurationError``."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With the protocol named, the event loop sends answers without waiting to fill a packet.
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        # The class of the error has a number of its own for names that lead nowhere.
        reason = str(error) if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise ConfigurationError(
            f"the server cannot listen on {host}:{port} ({reason})",
            hint="Stop what listens there, or set TENURE_HOST and TENURE_PORT; 0: a free port.",
        ) from error
    return listening


def address_of(listening: socket.socket) -> str:
    """The address that a client uses, with the port that was really taken."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """One server for one application, told when it is ready."""

    def __init__(self, app: ASGIApp, *, drain: float, ready: Callable[[], None]) -> None:
        """``drain``: seconds for requests under way when it is told to stop."""
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="error",  # strangers' garbage is no news
                access_log=False,
                proxy_headers=False,  # who sent it is told by its signature or token alone
                server_header=False,
                timeout_graceful_shutdown=max(1, round(drain)),
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets=sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of handlers
        """Stop, so that ``run`` returns; a second Ctrl-C does not wait for requests under way."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


class BoundedProtocol(HttpToolsProtocol):
    """A connection whose requests must state themselves within bounds.

    uvicorn waits for ever for a head that never ends, and keeps all of it.
    """

    _head = 0  # bytes of the head that is being read; -1: none is
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the class above
        """Begin to wait for a first request."""
        super().connection_made(transport)
        self._wait()

    def _heard(self, data: bytes) -> None:
        """Read on, unless the head is too long by now."""
        super().data_received(data)
        if self._head >= 0:
            self._head += len(data)
            if self._head > HEAD_LIMIT and not self.transport.is_closing():
                self.send_400_response("The request's head is too long.")

    data_received = _heard  # the name that asyncio calls it by

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head = 0
        self._wait()

    def on_headers_complete(self) -> None:
        """Its head is complete, and may still be too long: the parser reads in large pieces."""
        self._head = -1
        self._stop_waiting()
        if sum(len(name) + len(value) for name, value in self.headers) > HEAD_LIMIT:
            raise ValueError("the head is too long")
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_PATIENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
