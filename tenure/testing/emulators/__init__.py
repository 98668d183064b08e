"""Emulated providers: real HTTP servers with real limits, keys, throttles, faults and a ledger.

    with Emulator(stripe(Limit(5, per=1.0))) as emulator:
        emulator.fault("drop_after", path="/v1/charges")
        ...                                   # point a provider's base address at emulator.url
        assert len(emulator.effects) == 1 and not emulator.duplicates()

``Emulator`` runs inside the test's process, ``DetachedEmulator`` in one that can be killed and
frozen, ``Distance`` makes either seem far away.
"""

from tenure.testing.emulators.config import Config
from tenure.testing.emulators.detached import DetachedEmulator
from tenure.testing.emulators.emulator import Emulator
from tenure.testing.emulators.errors import EmulatorError, NotRunning, NotSeen
from tenure.testing.emulators.faults import Fault, Plan
from tenure.testing.emulators.gates import Gate
from tenure.testing.emulators.ledger import Arrival, Effect, Record
from tenure.testing.emulators.message import fingerprint
from tenure.testing.emulators.profile import (
    Profile,
    generic,
    github,
    hubspot,
    profile_named,
    resend,
    slack,
    stripe,
)
from tenure.testing.emulators.relay import Distance
from tenure.testing.emulators.rules import KeyRule, Limit

__all__ = [
    "Arrival",
    "Config",
    "DetachedEmulator",
    "Distance",
    "Effect",
    "Emulator",
    "EmulatorError",
    "Fault",
    "Gate",
    "KeyRule",
    "Limit",
    "NotRunning",
    "NotSeen",
    "Plan",
    "Profile",
    "Record",
    "fingerprint",
    "generic",
    "github",
    "hubspot",
    "profile_named",
    "resend",
    "slack",
    "stripe",
]
