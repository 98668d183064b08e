"""What a provider saw and what it did: every arrival, every effect, in order.

Written by the service on its event loop, read by tests from their own threads and over HTTP.
``Record`` is the ledger as it stood at one moment and the same value in both places; ``Ledger`` is
the live one.  It promises that an arrival's end stands in it before its answer's first byte leaves,
so a test that has the answer finds the entry.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable

import msgspec

from tenure.base import clock
from tenure.testing.emulators.errors import NotSeen
from tenure.testing.emulators.message import Headers


class Arrival(msgspec.Struct, frozen=True):
    """One request whose head was complete ``at`` the emulator's clock, and what became of it.

    ``outcome`` is ``pending`` until it ends as ``answered`` (then ``status`` says how), ``dropped``
    (the emulator closed or spoiled the connection) or ``gone`` (the client left).  ``refused``: a
    limit or a throttle fault; ``replayed``: a stored answer; ``effect``: the effect's number.
    """

    n: int
    at: float
    method: str
    path: str
    query: str = ""
    headers: Headers = ()
    account: str = ""
    key: str | None = None
    status: int | None = None
    outcome: str = "pending"
    refused: bool = False
    replayed: bool = False
    limit: str | None = None
    fault: str | None = None
    effect: int | None = None
    ended: float | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header; credentials are kept as fingerprints only."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)


class Effect(msgspec.Struct, frozen=True):
    """One change that took place at the provider, by the request that arrived as ``arrival``.

    ``body`` is text cut at 64 KB; ``body_sha256`` is over all of it.
    """

    n: int
    at: float
    arrival: int
    method: str
    path: str
    key: str | None
    body_sha256: str
    body: str
    effect_id: str
    query: str = ""
    headers: Headers = ()

    def header(self, name: str) -> str | None:
        """The first value of a header; credentials are kept as fingerprints only."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)


By = Callable[[Effect], Hashable | None]


def _by_key(effect: Effect) -> Hashable | None:
    return effect.key


class Record(msgspec.Struct, frozen=True):
    """A ledger as it stood at one moment.

    ``version`` rises with every change; fixed windows are counted from ``origin``.
    """

    version: int = 0
    origin: float = 0.0
    connections: int = 0
    arrivals: tuple[Arrival, ...] = ()
    effects: tuple[Effect, ...] = ()

    def duplicates(self, by: By = _by_key) -> tuple[Effect, ...]:
        """The effects beyond the first of each identity, which is the key unless ``by`` says else.

        An effect whose identity is None cannot be told apart from others and is not counted.
        """
        seen: Counter[Hashable] = Counter()
        found: list[Effect] = []
        for effect in self.effects:
            identity = by(effect)
            if identity is None:
                continue
            seen[identity] += 1
            if seen[identity] > 1:
                found.append(effect)
        return tuple(found)

    def counts(self) -> dict[str, int]:
        """The ledger in a few numbers."""
        return {
            "connections": self.connections,
            "arrivals": len(self.arrivals),
            "effects": len(self.effects),
            "duplicates": len(self.duplicates()),
            "refused": sum(arrival.refused for arrival in self.arrivals),
            "replayed": sum(arrival.replayed for arrival in self.arrivals),
            "faults": sum(arrival.fault is not None for arrival in self.arrivals),
            "pending": sum(arrival.outcome == "pending" for arrival in self.arrivals),
        }


class Ledger:
    """The live ledger of one emulator; every change wakes all who wait for a fact."""

    def __init__(self, origin: float) -> None:
        """Start empty.  ``changed`` guards the ledger, the faults and the gates of an emulator."""
        self.changed = threading.Condition(threading.RLock())
        self._origin = origin
        self._version = 0
        self._connections = 0
        self._arrivals: list[Arrival] = []
        self._effects: list[Effect] = []
        self._record = Record(origin=origin)
        self._listeners: list[Callable[[], object]] = []

    def connected(self, by: int = 1) -> None:
        """Count a connection that a client opened; -1 takes back one that was no client's."""
        with self.changed:
            self._connections += by
            self.touch()

    def arrived(self, describe: Callable[[int], Arrival]) -> Arrival:
        """Enter an arrival, made by ``describe`` from its number."""
        with self.changed:
            arrival = describe(len(self._arrivals) + 1)
            self._arrivals.append(arrival)
            self.touch()
            return arrival

    def amended(self, arrival: Arrival) -> None:
        """Enter what became of an arrival."""
        with self.changed:
            self._arrivals[arrival.n - 1] = arrival
            self.touch()

    def took_effect(self, effect: Effect) -> None:
        """Enter an effect."""
        with self.changed:
            self._effects.append(effect)
            self.touch()

    def touch(self) -> None:
        """Wake all who wait; also for changes of faults and gates, which live beside the ledger."""
        with self.changed:
            self._version += 1
            self.changed.notify_all()
            for listener in self._listeners:
                listener()

    def sizes(self) -> tuple[int, int, int]:
        """How many changes, arrivals and effects there were."""
        with self.changed:
            return self._version, len(self._arrivals), len(self._effects)

    def record(self) -> Record:
        """The ledger as it stands now."""
        with self.changed:
            if self._record.version != self._version:
                self._record = Record(
                    version=self._version,
                    origin=self._origin,
                    connections=self._connections,
                    arrivals=tuple(self._arrivals),
                    effects=tuple(self._effects),
                )
            return self._record

    def listen(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call ``listener`` at every change, in the changing thread; returns what ends that."""
        with self.changed:
            self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def wait_for(self, fact: Callable[[Record], bool], timeout: float) -> Record:
        """Block until the fact holds and return the record that shows it.

        Raises ``NotSeen`` after ``timeout`` seconds.  The fact is looked at outside the lock, so a
        slow one holds nobody up; changes that come meanwhile are seen at the next look.
        """
        deadline = clock.now() + timeout
        while True:
            record = self.record()
            if fact(record):
                return record
            if not self._changed_since(record.version, deadline - clock.now()):
                raise not_seen(record, timeout)

    def _changed_since(self, version: int, within: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self._version != version, within)


def not_seen(record: Record, timeout: float) -> NotSeen:
    """The error of a wait that came to nothing, with what there was instead."""
    counts = ", ".join(f"{count} {name}" for name, count in record.counts().items() if count)
    return NotSeen(
        f"the fact did not come about in {timeout:g} s (the ledger has {counts or 'nothing'})",
        hint="Look at the emulator's arrivals and effects for what came instead.",
    )
