"""What the door turned away, as lines in the log that a flood cannot make many.

Used by the door.  Promises: a line names source, reason and the address it came from, and nothing
else of what was sent; a source and reason have a line a second at most, which says how many were
left out; there are no more of them than there are declared sources and reasons.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

_EVERY = 1.0  # seconds

_log = logging.getLogger("tenure.web")


class _Left(msgspec.Struct):
    """What has not been told since the last line."""

    over: asyncio.TimerHandle
    count: int = 0
    address: str = ""


class TurnedAway:
    """Deliveries that were refused, told as they come or counted until the next line."""

    def __init__(self, *, every: float = _EVERY) -> None:
        """Nothing was refused yet."""
        self._every = every
        self._left: dict[tuple[str, str], _Left] = {}

    def tell(self, source: str, reason: str, address: str) -> None:
        """Tell of one refusal, now or with the next line of its source and reason."""
        left = self._left.get((source, reason))
        if left is not None:
            left.count += 1
            left.address = address
            return
        _log.warning("refused a delivery to %s from %s: %s", source, address, reason)
        self._wait(source, reason)

    def close(self) -> None:
        """Tell what is left and stop."""
        for (source, reason), left in self._left.items():
            left.over.cancel()
            _rest(source, reason, left)
        self._left.clear()

    def _wait(self, source: str, reason: str) -> None:
        loop = asyncio.get_running_loop()
        over = loop.call_later(self._every, self._over, source, reason)
        self._left[source, reason] = _Left(over)

    def _over(self, source: str, reason: str) -> None:
        left = self._left.pop((source, reason))
        if left.count:
            _rest(source, reason, left)
            self._wait(source, reason)


def _rest(source: str, reason: str, left: _Left) -> None:
    if left.count:
        _log.warning(
            "refused %d more deliveries to %s, the last from %s: %s",
            left.count,
            source,
            left.address,
            reason,
        )
