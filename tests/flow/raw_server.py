"""A real server on this machine that does to each connection exactly what a test says.

Kept below any HTTP library, so that half answers, resets and silence can be served, and so that a
test can prove that not one byte of a request arrived.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import os
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Peer:
    """The server's end of one connection; ``received`` is every byte that came in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sock = writer.get_extra_info("socket")
        self.received = b""
        self.done = asyncio.Event()

    async def request(self) -> bytes | None:
        """The next whole request, or None where the other side is done."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = await self._reader.read(1)
            if not byte:
                return None
            head += byte
            self.received += byte
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = await self._reader.readexactly(length)
        self.received += body
        return head + body

    async def rest(self) -> bytes:
        """All that comes until the other side is done."""
        rest = await self._reader.read()
        self.received += rest
        return rest

    async def send(self, answer: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(answer)
        await self._writer.drain()

    def close(self) -> None:
        """End the connection in the polite way, without waiting for the other side's goodbye."""
        self._writer.close()

    def stop_sending(self) -> None:
        """End the server's half of the connection below TLS, as a killed server does."""
        with socket.socket(fileno=os.dup(self._sock.fileno())) as same:
            same.shutdown(socket.SHUT_WR)

    async def head(self) -> bytes:
        """The head of a request, its body left unread."""
        return await self._reader.readuntil(b"\r\n\r\n")

    def reset(self) -> None:
        """End the connection in the rude way."""
        if self._sock.fileno() < 0:
            return
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if not self._writer.transport.is_closing():  # Python 3.11.2 cannot abort what is closing
            self._writer.transport.abort()


Serve = Callable[[Peer], Awaitable[None]]


class Server:
    """Where it listens and whom it has met."""

    def __init__(self, port: int, scheme: str) -> None:
        self.port = port
        self.url = f"{scheme}://localhost:{port}"
        self.peers: list[Peer] = []
        self.met = asyncio.Condition()

    async def peer(self, number: int) -> Peer:
        """The connection of that number, once there is one."""
        async with self.met:
            await self.met.wait_for(lambda: len(self.peers) > number)
        return self.peers[number]

    async def finished(self, number: int = 0) -> Peer:
        """The connection of that number, once it has ended."""
        peer = await self.peer(number)
        await peer.done.wait()
        return peer


async def answer_all(peer: Peer) -> None:
    """Answer each request with ``ok`` as long as the connection lives."""
    while await peer.request() is not None:
        await peer.send(OK)


@asynccontextmanager
async def serving(
    serve: Serve = answer_all, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """Listen on a free port while the block runs."""

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        async with server.met:
            server.peers.append(peer)
            server.met.notify_all()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # clients leave at will
            await serve(peer)
        writer.close()
        if not tls:  # over TLS this would wait for the other side's goodbye
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        peer.done.set()

    listening = await asyncio.start_server(meet, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server = Server(port, "https" if tls else "http")
    try:
        yield server
    finally:
        listening.close()
        for peer in server.peers:
            peer.reset()


class Certificate:
    """A self-signed certificate for localhost in a folder, and contexts for both ends."""

    def __init__(self, folder: Path, name: str = "localhost") -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(start)
            .not_valid_after(start + datetime.timedelta(days=36500))
            .add_extension(
                x509.SubjectAlternativeName(
                    [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
                ),
                critical=False,
            )
            .sign(key, hashes.SHA256())
        )
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )

    def server(self) -> ssl.SSLContext:
        """For the server's end."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.path)
        return context

    def client(self) -> ssl.SSLContext:
        """For a client that trusts this certificate; as lenient as some builds of Python are."""
        context = ssl.create_default_context(cafile=str(self.path))
        context.options |= getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        return context
