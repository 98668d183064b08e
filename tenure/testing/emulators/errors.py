"""What can go wrong between a test and its emulator, one class per cause.

Raised by every module of this room; nothing else of Tenure depends on them.
"""

from __future__ import annotations

from tenure.base.errors import TenureError


class EmulatorError(TenureError):
    """An emulator could not do what a test asked of it."""


class NotSeen(EmulatorError):
    """A fact that a test waited for did not come about in time."""


class NotRunning(EmulatorError):
    """The emulator was asked for something that only a running one has."""
