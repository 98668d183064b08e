"""The life of a request at an emulated provider, from its head to the last byte of its answer.

Run by an emulator on its event loop, one ``serve`` per connection.  The order is a provider's own:

    arrive → throttled? → dropped? → key: replay, misuse, first → hang, hold → effect → delay
           → hold → key settled → answer, or dropped, hung, halved, spoiled

It promises that a request which did not arrive whole has no effect, and that one which did is
entered as ended before the first byte of its answer leaves.
"""

from __future__ import annotations

import asyncio
from email.utils import formatdate

from tenure.testing.emulators.control import CONTROL, Control
from tenure.testing.emulators.gates import When
from tenure.testing.emulators.keys import Entry
from tenure.testing.emulators.message import Answer, json_answer
from tenure.testing.emulators.provider import Provider, Visit
from tenure.testing.emulators.rules import covers
from tenure.testing.emulators.wire import Gone, Line, Malformed, WatchedReader

_SPOILED = b"\x16\x03\x01\x00\xa5 this is not HTTP\r\n\r\n"


class Dropped(Exception):
    """The exchange ends without an answer, on purpose."""


class Service:
    """The connections of one provider."""

    def __init__(self, provider: Provider) -> None:
        """Stand in front of the provider."""
        self._provider = provider
        self._control = Control(provider)
        self._lines: set[Line] = set()

    async def serve(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
        """Answer a connection's requests, one after the other, until it ends."""
        self._provider.ledger.connected()
        line = Line(reader, writer)
        self._lines.add(line)
        try:
            while await self._exchange(line):
                pass
        except (Gone, ConnectionError):
            pass  # the client left: nobody is there to be told, and the ledger has it already
        finally:
            self._lines.discard(line)
            line.close()

    def close_idle(self) -> None:
        """End the connections without a request under way."""
        for line in tuple(self._lines):
            if line.idle:
                line.close()

    async def _exchange(self, line: Line) -> bool:
        """One request and its answer; whether another may follow."""
        try:
            head = await line.head(self._provider.now)
        except Malformed as error:
            return await line.answer(self._stamped(_malformed(error)))
        if head is None:
            return False
        if covers(CONTROL, head.path):
            self._uncount(line)
            return await line.answer(await self._control.answer(head, await line.body()))
        visit = self._provider.arrive(head)
        try:
            return await self._visit(line, visit)
        except Dropped:
            return False
        except asyncio.CancelledError:
            self._provider.end(visit, outcome="dropped")  # the emulator stops: it is not the client
            raise
        finally:
            self._provider.end(visit, outcome="gone")

    def _uncount(self, line: Line) -> None:
        """Take a connection that a test controls the emulator by for none of a client's."""
        if not line.controls:
            line.controls = True
            self._provider.ledger.connected(-1)

    async def _visit(self, line: Line, visit: Visit) -> bool:
        try:
            body = await line.body()
        except Malformed as error:
            return await self._tell(line, visit, _malformed(error))
        return await self._deliver(line, visit, await self._decide(line, visit, body))

    async def _decide(self, line: Line, visit: Visit, body: bytes) -> Answer:
        """The answer to a whole request; raises ``Dropped`` where there will be none."""
        if throttle := self._provider.throttled(visit):
            return await self._delayed(visit, throttle)
        if drop := visit.meets("drop_before"):
            self._drop(line, visit, reset=drop.reset)
            raise Dropped
        opening = self._provider.opened(visit, body)
        if opening.verdict not in ("unkeyed", "first"):
            return await self._delayed(visit, self._provider.repeated(visit, opening))
        return await self._first(line, visit, body, opening.entry)

    async def _first(self, line: Line, visit: Visit, body: bytes, entry: Entry | None) -> Answer:
        """Have the work done, and the answer kept under the key however the exchange ends."""
        try:
            await self._hung(line, visit, "hang")
            await self._held(visit, "before")
            answer = await self._delayed(visit, self._provider.worked(visit, body))
            await self._held(visit, "after")
            return answer
        finally:
            if entry is not None:
                self._provider.keys.settle(entry, visit.stored)

    async def _hung(self, line: Line, visit: Visit, kind: str) -> None:
        """Stand at a hanging fault until it is released; ``Gone`` if the client leaves first."""
        if visit.fault is None or not visit.meets(kind):
            return
        self._provider.ledger.amended(visit.arrival)
        if not await visit.fault.gate.passed(line.gone):
            raise Gone("the client left while the provider hung")

    async def _held(self, visit: Visit, when: When) -> None:
        """Stand at every gate of this kind that concerns the request."""
        for gate in tuple(self._provider.gates):
            if gate.when == when and gate.concerns(visit.head):
                self._provider.ledger.amended(visit.arrival)
                await gate.passed()

    async def _delayed(self, visit: Visit, answer: Answer) -> Answer:
        """The answer, after the provider's usual delay and a slow fault's own."""
        slow = visit.meets("slow")
        delay = visit.delay + (slow.delay if slow else 0.0)
        if delay > 0:
            await asyncio.sleep(delay)
        return answer

    async def _deliver(self, line: Line, visit: Visit, answer: Answer) -> bool:
        """Give the answer, or do to it what the fault says."""
        if drop := visit.meets("drop_after"):
            self._drop(line, visit, reset=drop.reset)
            return False
        if visit.meets("garbage", "half_answer"):
            self._provider.end(visit, outcome="dropped")
            if visit.meets("garbage"):
                await line.garbage(_SPOILED)
            else:
                await line.half_answer(self._stamped(answer))
            return False
        await self._hung(line, visit, "hang_after")
        return await self._tell(line, visit, answer)

    def _drop(self, line: Line, visit: Visit, *, reset: bool) -> None:
        self._provider.end(visit, outcome="dropped")
        line.close(reset=reset)

    async def _tell(self, line: Line, visit: Visit, answer: Answer) -> bool:
        provider = self._provider
        standing = provider.profile.dialect.standing(visit.admission.standings, provider.wall())
        provider.end(visit, outcome="answered", status=answer.status)
        return await line.answer(self._stamped(answer.with_headers(standing)))

    def _stamped(self, answer: Answer) -> Answer:
        date = formatdate(self._provider.wall(), usegmt=True)
        return answer.with_headers((("date", date),))


def _malformed(error: Malformed) -> Answer:
    return json_answer(error.status, {"error": error.message})
