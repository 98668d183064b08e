"""An emulator as a JSON object says it: what the command reads and what a detached emulator sends.

Every field has the meaning and the default of the ``Emulator`` argument of its name.
"""

from __future__ import annotations

import msgspec

from tenure.base import json
from tenure.testing.emulators.emulator import Emulator
from tenure.testing.emulators.faults import Plan
from tenure.testing.emulators.profile import profile_named
from tenure.testing.emulators.rules import KeyRule, Limit


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One emulator; ``profile`` is a name, ``keys`` a rule, true for the usual one, false for none.

    ``name`` is what the command's line calls it, the profile's name unless said.
    """

    profile: str = "generic"
    name: str = ""
    limits: tuple[Limit, ...] | None = None
    keys: KeyRule | bool | None = None
    latency: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    distance: float = 0.0
    skew: float = 0.0
    port: int = 0
    faults: tuple[Plan, ...] = ()

    @property
    def title(self) -> str:
        """The name by which a configuration of several tells them apart."""
        return self.name or self.profile

    def emulator(self) -> Emulator:
        """The emulator that this describes, not started; raises ``UnknownName`` for its profile."""
        return Emulator(
            profile_named(self.profile, limits=self.limits, keys=self.keys),
            latency=self.latency,
            jitter=self.jitter,
            seed=self.seed,
            faults=self.faults,
            distance=self.distance,
            skew=self.skew,
            port=self.port,
        )


def read_config(text: bytes) -> tuple[Config, ...]:
    """One configuration or a list of them from JSON; raises ``InvalidInput`` with the path."""
    value = json.decode(text)
    return json.convert(value if isinstance(value, list) else [value], tuple[Config, ...])
