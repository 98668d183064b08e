"""Ways around the gate, as authors find them: each tries to change something at a provider.

Run by handlers in real workers; what comes back is how far it got.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import urllib.request  # noqa: TID251 - a way around the gate is what this is
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx2
import psycopg


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 80


async def _socket(url: str) -> str:
    with socket.create_connection(_place(url), timeout=2.0) as sock:
        sock.sendall(b"POST /around HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        return sock.recv(100).decode()


async def _urllib(url: str) -> str:
    request = urllib.request.Request(f"{url}/around", data=b"{}")  # noqa: S310, TID251 - as above
    return str(urllib.request.urlopen(request, timeout=2.0).status)  # noqa: ASYNC210, S310, TID251 - as above


async def _client(url: str) -> str:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return str((await client.post(f"{url}/around")).status_code)


async def _streams(url: str) -> str:
    reader, writer = await asyncio.open_connection(*_place(url))  # noqa: TID251 - as above
    writer.write(b"POST /around HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
    return (await reader.readline()).decode()


async def _pooled_thread(url: str) -> str:
    return await asyncio.to_thread(lambda: str(httpx2.post(f"{url}/around").status_code))


async def _plain_thread(url: str) -> str:
    got: list[str] = []

    def post() -> None:
        got.append(str(httpx2.post(f"{url}/around").status_code))

    thread = threading.Thread(target=post)
    thread.start()
    await asyncio.to_thread(thread.join)
    return got[0]


async def _child(url: str) -> str:
    code = f"import httpx2; httpx2.post('{url}/around')"
    return str(subprocess.run([sys.executable, "-c", code], check=True).returncode)  # noqa: ASYNC221 - as above


async def _database(url: str) -> str:
    host, port = _place(url)
    psycopg.connect(host=host, port=port, user="postgres", connect_timeout=2)
    return "connected"


async def _swallowing(url: str) -> str:
    try:
        return await _socket(url)
    except Exception as error:  # noqa: BLE001 - what an author might write
        return type(error).__name__


WAYS: dict[str, Callable[[str], Awaitable[str]]] = {
    "socket": _socket,
    "urllib": _urllib,
    "client": _client,
    "streams": _streams,
    "pooled thread": _pooled_thread,
    "plain thread": _plain_thread,
    "child process": _child,
    "database driver": _database,
    "swallowing": _swallowing,
}
