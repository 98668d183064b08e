"""A bell that one thread waits for and any thread may ring; it can be waited for beside sockets.

Used by the claim loop, which waits for room, for calls of the database and for the end, all at
once.  Promises: a ring between two waits is heard by the second; ringing never waits.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import weakref


class Bell:
    """Rung until it is cleared."""

    def __init__(self) -> None:
        """A pipe of its own, closed when nobody knows the bell any more."""
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)
        weakref.finalize(self, _close, self._reading, self._writing)

    def fileno(self) -> int:
        """What becomes readable when it is rung."""
        return self._reading

    def ring(self) -> None:
        """Wake whoever waits, or whoever waits next."""
        with contextlib.suppress(BlockingIOError):  # it is ringing already
            os.write(self._writing, b"\0")

    def clear(self) -> None:
        """Forget what was rung so far."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reading, 4096):
                pass

    def wait(self, seconds: float) -> None:
        """Return when it is rung, or after so many seconds."""
        with selectors.DefaultSelector() as selector:
            selector.register(self, selectors.EVENT_READ)
            selector.select(seconds)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
