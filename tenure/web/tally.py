"""What the door refused, counted in memory and written down about once a second.

Used by the door.  Promises: a flood of refusals costs one small statement a second, and grows
nothing but numbers; names come from declarations, never from what was sent; what could not be
written is kept for the next time.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from tenure.base.errors import DatabaseError
from tenure.store import sources
from tenure.web.connections import Connections

_EVERY = 1.0  # seconds


class Tally:
    """Refusals by source and reason that no row has yet."""

    def __init__(self, connections: Connections, *, every: float = _EVERY) -> None:
        """Nothing was counted yet."""
        self._connections = connections
        self._every = every
        self._counts: Counter[tuple[str, str]] = Counter()
        self._writing: asyncio.Task[None] | None = None

    def count(self, source: str, reason: str) -> None:
        """Count one refusal; it is written down within about a second."""
        self._counts[source, reason] += 1
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_later())

    async def flush(self) -> None:
        """Write down what was counted; kept where the database does not answer."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            await self._connections.run(
                lambda database: sources.reject(database, counts), repeatable=False
            )
        except DatabaseError:
            self._counts.update(counts)

    async def close(self) -> None:
        """Write down what is left and stop."""
        if self._writing is not None:
            self._writing.cancel()
        await self.flush()

    async def _write_later(self) -> None:
        while self._counts:
            await asyncio.sleep(self._every)
            await self.flush()
