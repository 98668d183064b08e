"""How long a job that failed waits before it is tried again.

Automations declare it; the worker asks when it hands a failed job back.  Promises: a pure rule,
with the chance drawn by the caller; the ceiling never falls and never passes the cap, however often
the job has failed.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from tenure.base.errors import ConfigurationError


class Backoff(msgspec.Struct, frozen=True):
    """Delays of ``base`` seconds, ``factor`` times longer after each failure, up to ``cap``.

    ``full`` jitter draws each delay evenly between nothing and its ceiling, so that jobs which
    failed together do not come back together; ``none`` waits for the whole ceiling.
    """

    base: float = 5.0
    factor: float = 2.0
    cap: float = 3600.0
    jitter: Literal["full", "none"] = "full"

    def __post_init__(self) -> None:
        """Refuse a rule that would shrink, or has no end."""
        if not (0 < self.base <= self.cap < math.inf and 1 <= self.factor < math.inf):
            raise ConfigurationError(
                f"a backoff that cannot work ({self.base} s × {self.factor:g}, cap {self.cap} s): "
                "it must begin above 0, never shrink and end at its cap",
                hint="Choose 0 < base <= cap and factor >= 1.",
            )
        if self.jitter not in ("full", "none"):
            raise ConfigurationError(
                f"unknown jitter ({self.jitter!r}): a backoff has full jitter or none",
                hint='Choose jitter="full" or jitter="none".',
            )

    def ceiling(self, failures: int) -> float:
        """The longest delay in seconds after so many failures, counted from 1."""
        steps = max(0, failures - 1)
        # Compared as logarithms: the power itself overflows after some thousand failures.
        if steps * math.log(self.factor) >= math.log(self.cap / self.base):
            return self.cap
        return min(self.cap, self.base * self.factor**steps)

    def delay(self, failures: int, uniform: float) -> float:
        """Seconds to wait after so many failures; ``uniform`` is drawn from 0 to 1."""
        ceiling = self.ceiling(failures)
        return ceiling * uniform if self.jitter == "full" else ceiling
