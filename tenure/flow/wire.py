"""One connection to a provider: opened before permission is asked, checked at its first byte.

Used by the carriers alone.  A ``Wire`` is a socket of our own, with TLS over memory buffers where
the place wants it, and not a library's transport, because three things must be exact:

- ``dial`` does the connection and the handshake, so nothing slow stands between gate and send;
- ``arm`` sets a check that runs in the thread that writes, directly before the system call that
  hands the kernel the first byte, with no await and no buffer in between;
- whether a byte of this request has left is known, not guessed: the flag rises before that system
  call and falls only where the call itself says that it took nothing.

``Pool`` keeps connections that are between two requests.  Nothing here retries.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import TYPE_CHECKING

import h11
import msgspec

from tenure.base.passage import passage

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tenure.flow.egress import Address, Place

_CHUNK = 64 * 1024
_HEAD_LIMIT = 100 * 1024
_IDLE_PER_PLACE = 16
_NEXT_ADDRESS_AFTER = 2.0  # seconds, as long as another address of the host remains to be tried


class Unsent(Exception):
    """No byte of the request has left; ``void`` where the admission was too old to be used."""

    def __init__(self, reason: str, *, void: bool = False) -> None:
        """Keep the reason in words."""
        super().__init__(reason)
        self.reason = reason
        self.void = void


def broken(error: OSError) -> str:
    """What became of a connection, as a person says it; the system's own words stand behind."""
    own = error.strerror or str(error) or type(error).__name__
    match error:
        case ssl.SSLCertVerificationError():
            return f"the certificate is not trusted ({error.verify_message.rstrip('.')})"
        case ssl.SSLError():
            return f"the two sides did not agree on TLS ({error.reason or own})"
        case socket.gaierror():
            return f"the name is not known ({own})"
        case ConnectionRefusedError():
            return "it was refused"
        case ConnectionResetError() | ConnectionAbortedError() | BrokenPipeError():
            return f"it was reset ({own})"
        case TimeoutError():
            return "nothing came in time"
        case _:
            return own if error.errno is None else f"it broke ({own})"


class Flight(msgspec.Struct):
    """What is known of one call while it is carried; it survives a cancelled ``carry``.

    ``first_byte`` is False only while it is certain that no byte of the request has left.
    ``left_at`` is the clock reading at the last check before the first byte.
    """

    admitted: bool = False
    first_byte: bool = False
    left_at: float = 0.0


class _Tls:
    """TLS over memory: what came in and what goes out are bytes, the socket stays with the wire."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.session = context.wrap_bio(self.incoming, self.outgoing, server_hostname=host)

    def seal(self, plain: bytes) -> bytes:
        """Encrypt all of it, a record at a time."""
        rest = memoryview(plain)
        while rest:
            rest = rest[self.session.write(rest) :]
        return self.outgoing.read()

    def feed(self, sealed: bytes) -> None:
        """Take in what the socket gave; nothing means that the other side is done."""
        if sealed:
            self.incoming.write(sealed)
        else:
            self.incoming.write_eof()


class Wire:
    """An open connection and its HTTP/1.1 state; serves one request at a time."""

    def __init__(self, sock: socket.socket, tls: _Tls | None, *, since: float) -> None:
        """Take over a connected, non-blocking socket; ``since`` is when it fell idle or opened."""
        self.h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT)
        self.since = since
        self.used = False
        self._sock = sock
        self._tls = tls
        self._armed: tuple[Callable[[], float], Flight] | None = None

    def arm(self, check: Callable[[], float], flight: Flight) -> None:
        """Let ``check`` stand before the next byte; it gives the time or raises ``Unsent``."""
        self._armed = (check, flight)

    async def write(self, plain: bytes) -> None:
        """Send all of it; the first write after ``arm`` passes the check or raises ``Unsent``."""
        loop = asyncio.get_running_loop()
        sealed = memoryview(self._tls.seal(plain) if self._tls else plain)
        if self._armed is not None:
            (check, flight), self._armed = self._armed, None
            sealed = sealed[self._first_write(sealed, check, flight) :]
        if sealed:
            await loop.sock_sendall(self._sock, sealed)

    def _first_write(self, sealed: memoryview, check: Callable[[], float], flight: Flight) -> int:
        """Check, then one system call; what that call refused has provably not left."""
        self.used = True
        flight.left_at = check()
        flight.first_byte = True
        try:
            return self._sock.send(sealed)
        except OSError as error:  # nothing was taken: send() fails or tells how much it took
            flight.first_byte = False
            raise Unsent(f"the connection took no byte: {broken(error)}") from error

    async def read(self) -> bytes:
        """The next bytes, or none where the other side is done; raises ``OSError`` where broken."""
        loop = asyncio.get_running_loop()
        if self._tls is None:
            return await loop.sock_recv(self._sock, _CHUNK)
        while True:
            try:
                return self._tls.session.read(_CHUNK)
            except ssl.SSLWantReadError:
                await self._pump(self._tls)
            except ssl.SSLZeroReturnError:
                return b""

    async def _pump(self, tls: _Tls) -> None:
        """Send what TLS itself has to say, then take in what the socket has."""
        loop = asyncio.get_running_loop()
        if tls.outgoing.pending:
            await loop.sock_sendall(self._sock, tls.outgoing.read())
        tls.feed(await loop.sock_recv(self._sock, _CHUNK))

    async def shake(self) -> None:
        """Do the TLS handshake where there is one; raises ``OSError`` where it fails."""
        if self._tls is None:
            return
        loop = asyncio.get_running_loop()
        while True:
            try:
                self._tls.session.do_handshake()
            except ssl.SSLWantReadError:
                await self._pump(self._tls)
            else:
                await loop.sock_sendall(self._sock, self._tls.outgoing.read())
                return

    def clean(self) -> bool:
        """Whether nothing unread stands on the connection and the other side has not closed it.

        Asks the socket itself and awaits nothing.  After False the wire can only be closed.
        """
        try:
            while self._sock.fileno() >= 0:
                received = self._sock.recv(_CHUNK)
                if not received or self._tls is None or not self._quiet(self._tls, received):
                    return False
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    @staticmethod
    def _quiet(tls: _Tls, received: bytes) -> bool:
        """Whether what came is TLS's own talk, as session tickets are."""
        tls.feed(received)
        try:
            tls.session.read(1)
        except ssl.SSLWantReadError:
            return True
        return False

    def rest(self, now: float) -> bool:
        """Make ready for the next request; False where the connection cannot take another."""
        spent = self.h11.our_state is h11.DONE and self.h11.their_state is h11.DONE
        if not spent or self.h11.trailing_data[0]:
            return False  # bytes behind the answer would be read as the answer to the next request
        self.h11.start_next_cycle()
        self.since = now
        return True

    def close(self) -> None:
        """Close at once; TLS says goodbye where the kernel takes it without waiting."""
        if self._tls is not None and self._sock.fileno() >= 0:
            with contextlib.suppress(OSError):  # a goodbye is owed to nobody who is gone
                with contextlib.suppress(ssl.SSLError):
                    self._tls.session.unwrap()
                self._sock.send(self._tls.outgoing.read())
        self._sock.close()


async def dial(
    addresses: Sequence[Address], place: Place, tls: ssl.SSLContext, clock: Callable[[], float]
) -> Wire:
    """Connect to the first address that answers, TLS handshake included; raises ``OSError``.

    The name in the certificate is checked against the place, the connection goes to the address.
    """
    failures: list[str] = []
    for number, address in enumerate(addresses, start=1):
        try:
            async with asyncio.timeout(None if number == len(addresses) else _NEXT_ADDRESS_AFTER):
                return await _connect(address, place, tls, clock)
        except OSError as error:
            failures.append(f"{address.host}: {broken(error)}")
    raise OSError("; ".join(failures) or "no address to connect to")


async def _connect(
    address: Address, place: Place, tls: ssl.SSLContext, clock: Callable[[], float]
) -> Wire:
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with passage():
            loop = asyncio.get_running_loop()
            await loop.sock_connect(sock, (address.host, address.port))
        layer = _Tls(tls, place.host) if place.scheme == "https" else None
        wire = Wire(sock, layer, since=clock())
        await wire.shake()
    except BaseException:
        sock.close()
        raise
    wire.since = clock()
    return wire


class Pool:
    """Connections between two requests, youngest first; belongs to one event loop."""

    def __init__(self, clock: Callable[[], float], idle: float) -> None:
        """Start empty; ``idle`` is for how many seconds a connection is kept."""
        self._clock = clock
        self._limit = idle
        self._idle: dict[Hashable, list[Wire]] = {}
        self._closed = False
        self._sweeping: asyncio.TimerHandle | None = None

    def take(self, key: Hashable, within: float) -> Wire | None:
        """A clean connection idle for less than ``within`` seconds, or None; closes the unclean."""
        kept = self._idle.get(key, [])
        while kept and self._clock() - kept[-1].since < min(within, self._limit):
            wire = kept.pop()
            if wire.clean():
                return wire
            wire.close()
        return None

    def put(self, key: Hashable, wire: Wire) -> None:
        """Keep a connection for the next request to the same place; closes it once closed."""
        if self._closed:
            wire.close()
            return
        kept = self._idle.setdefault(key, [])
        kept.append(wire)
        kept.sort(key=lambda each: each.since)
        if len(kept) > _IDLE_PER_PLACE:
            kept.pop(0).close()
        if self._sweeping is None:
            self._sweep_later()

    def _sweep_later(self) -> None:
        self._sweeping = asyncio.get_running_loop().call_later(self._limit, self._sweep)

    def _sweep(self) -> None:
        """Close what has been idle for too long, so that a quiet worker holds no dead sockets."""
        self._sweeping = None
        oldest = self._clock() - self._limit
        for key, kept in list(self._idle.items()):
            self._idle[key] = [wire for wire in kept if wire.since > oldest]
            for wire in kept:
                if wire.since <= oldest:
                    wire.close()
            if not self._idle[key]:
                del self._idle[key]
        if self._idle:
            self._sweep_later()

    def close(self) -> None:
        """Close every connection that waits here, and each that comes later."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        for kept in self._idle.values():
            for wire in kept:
                wire.close()
        self._idle.clear()
