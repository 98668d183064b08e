"""PostgreSQL's protocol, as far as a proxy must read it to know which statement passes.

Used by the proxy alone.  A client's messages come in rounds, each ended by Sync or a simple Query;
a round that executes something is a pass of the statement it executes.
"""

from __future__ import annotations

import asyncio
import struct

_SSL, _GSS = 80877103, 80877104
_ENDS_ROUND = frozenset(b"SQXHpdcf")


class Round:
    """Client messages up to the next Sync, and the text of what they execute, if anything."""

    def __init__(self, raw: bytes, text: str | None, parameters: bytes, *, answered: bool) -> None:
        """``text`` is None for a round that executes nothing; ``answered``: ready is said after."""
        self.answered = answered
        self.raw = raw
        self.text = text
        self.parameters = parameters


class Client:
    """The client's side of one connection: its rounds, with prepared statements by name."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read from a connection that has said nothing yet."""
        self._reader, self._writer = reader, writer
        self._prepared: dict[bytes, str] = {}

    async def startup(self) -> bytes:
        """The startup message; requests for encryption before it are declined."""
        while True:
            head = await self._reader.readexactly(8)
            length, code = struct.unpack("!II", head)
            body = await self._reader.readexactly(length - 8)
            if code not in (_SSL, _GSS):
                return head + body
            self._writer.write(b"N")

    async def round(self) -> Round:
        """The next round; raises ``IncompleteReadError`` where the client is gone."""
        raw = bytearray()
        bound: str | None = None
        given = b""
        text: str | None = None
        parameters = b""
        while True:
            kind, body, message = await message_of(self._reader)
            raw += message
            if kind == ord("P"):
                name, query, *_ = body.split(b"\0", 2)
                self._prepared[name] = query.decode("utf-8", "replace")
            elif kind == ord("B"):
                _, name, given = body.split(b"\0", 2)
                bound = self._prepared.get(name)
            elif kind == ord("E"):
                # Begin, settings and commit may travel around the one that is meant.
                if text is None or not text.startswith("--"):
                    text, parameters = bound, given
            elif kind == ord("Q"):
                text = body.rstrip(b"\0").decode("utf-8", "replace")
            if kind in _ENDS_ROUND:
                return Round(bytes(raw), text, parameters, answered=kind in b"SQ")


async def message_of(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    """One message: its kind, its body, all of its bytes."""
    head = await reader.readexactly(5)
    body = await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)
    return head[0], body, head + body
