"""What time it is for the door: the database's, read now and then and kept going in between.

Asked for every delivery.  Promises: the reading is at most half a minute old; an outage does not
stop the clock, so that a stranger is refused whether the database answers or not; nobody is turned
away for his time alone by a reading older than a second.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

from tenure.base import clock
from tenure.base.errors import DatabaseError
from tenure.store import events
from tenure.web.connections import Connections

_LASTS = 30.0  # seconds; two clocks part by microseconds in that time
_EXACT = 1.0
_AFTER_OUTAGE = 5.0


class Instant:
    """The database's clock as this server has last read it."""

    def __init__(self, connections: Connections) -> None:
        """Nothing was read yet."""
        self._connections = connections
        self._reading = asyncio.Lock()
        self._ahead: float | None = None  # of the stopwatch
        self._read_at = 0.0

    async def now(self, *, exact: bool = False) -> float:
        """Seconds since 1970; ``exact``: by a reading that was made just now.

        Raises ``DatabaseError`` where the clock was never read and cannot be.
        """
        lasts = _EXACT if exact else _LASTS
        known = self._ahead is not None and not exact
        # One reads; meanwhile the others go by what is known.
        if not self._fresh(lasts) and not (known and self._reading.locked()):
            async with self._reading:
                if not self._fresh(lasts):
                    await self._read()
        return clock.now() + (self._ahead or 0.0)

    def _fresh(self, lasts: float) -> bool:
        return self._ahead is not None and clock.now() - self._read_at <= lasts

    def learn(self, at: datetime) -> None:
        """Take a reading that came with something else."""
        self._read_at = clock.now()
        self._ahead = at.timestamp() - self._read_at

    async def _read(self) -> None:
        try:
            self.learn(await self._connections.run(events.clock, repeatable=True))
        except DatabaseError:
            if self._ahead is None:
                raise
            self._read_at = clock.now() - _LASTS + _AFTER_OUTAGE
