"""What the providers saw: their limits and how near anybody came, their effects and whose they are.

Read when the demo is over.  Promises: limits are the providers' own, peaks are counted over every
request that arrived, refused ones included; an effect is known by whom it is about, not by its key,
so that two of one event are seen under whatever keys they came.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from tenure.testing.emulators import DetachedEmulator, Limit, Record
from tenure.testing.emulators.peaks import peak

# The business identity that every call of the demo's automations holds in its body.
_ABOUT = re.compile(r"\b(?:evt_[A-Za-z0-9]{24}|lead_[A-Za-z0-9]{12})\b")


class Seen(msgspec.Struct, frozen=True):
    """One provider; ``limit``, ``per`` and ``peak`` are those of the limit that came closest."""

    name: str
    limit: int
    peak: int
    per: float
    budget: str
    requests: int
    throttled: int
    repeated: int
    effects: int

    @property
    def share(self) -> float:
        """How much of the limit was used when most was."""
        return self.peak / self.limit

    @property
    def words(self) -> str:
        """The limit as people say it."""
        return f"{self.limit} per {self.per:g} s"


class Ledgers(msgspec.Struct, frozen=True):
    """All providers, and every effect by what it is: ``hubspot/deals evt_…``."""

    seen: tuple[Seen, ...]
    effects: Counter[str]

    @property
    def duplicates(self) -> dict[str, int]:
        """Effects that took place more than once, with how often."""
        return {name: count for name, count in self.effects.items() if count > 1}


def read(emulators: Mapping[str, DetachedEmulator]) -> Ledgers:
    """What all providers have on record by now."""
    seen, effects = [], Counter[str]()
    for name, emulator in emulators.items():
        record = emulator.ledger
        seen.append(_seen(name, emulator.config.limits or (), record))
        effects.update(_identities(name, record))
    return Ledgers(tuple(seen), effects)


def _seen(name: str, limits: tuple[Limit, ...], record: Record) -> Seen:
    peaks = [(peak(limit, record), limit) for limit in limits]
    highest, nearest = max(peaks, key=lambda pair: pair[0] / pair[1].units)
    return Seen(
        name=name,
        limit=nearest.units,
        peak=highest,
        per=nearest.per or 0.0,
        budget=nearest.label,
        requests=len(record.arrivals),
        throttled=sum(arrival.refused for arrival in record.arrivals),
        repeated=sum(arrival.replayed for arrival in record.arrivals),
        effects=len(record.effects),
    )


def _identities(name: str, record: Record) -> list[str]:
    """Each effect as its provider, its collection and whom it is about."""
    found = []
    for effect in record.effects:
        parts = effect.path.strip("/").split("/")
        collection = parts[1] if name == "stripe" else parts[-1]
        about = _ABOUT.search(effect.body)
        found.append(f"{name}/{collection} {about[0] if about else effect.body_sha256}")
    return found
