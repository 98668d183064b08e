"""The emulator's own address space, ``/_emulator``: what a test in another process reads and sets.

Answered beside the provider's paths, on the same port, and never counted, limited or recorded.

====================================  =============================================================
GET    /_emulator/ledger              every arrival and effect
GET    /_emulator/summary             counts, limits and their peaks, faults, holds
GET    /_emulator/wait                the same counts once ``after``, ``arrivals``, ``effects`` are
                                      reached, or ``timeout`` seconds are over
POST   /_emulator/faults              plan a fault or a list of them; DELETE clears all
POST   /_emulator/faults/N/release    let what hangs at a fault go on
POST   /_emulator/holds               ``path``, ``method``, ``when``
POST   /_emulator/holds/N/release     ``count``, or all for good
POST   /_emulator/limits              enforce this list of limits
POST   /_emulator/clock               ``advance`` by seconds
====================================  =============================================================
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qs

import msgspec

from tenure.base import json
from tenure.base.errors import ConfigurationError, InvalidInput
from tenure.testing.emulators import peaks
from tenure.testing.emulators.faults import Plan
from tenure.testing.emulators.gates import Gate, When
from tenure.testing.emulators.message import Answer, Head, json_answer
from tenure.testing.emulators.provider import Provider
from tenure.testing.emulators.rules import Limit

CONTROL = "/_emulator"

_LONGEST_WAIT = 60.0


class Hold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gate as asked for over HTTP."""

    path: str | None = None
    method: str | None = None
    when: When = "before"


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many to let go; None is all, for good."""

    count: int | None = None


class Advance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By how many seconds the clock moves."""

    advance: float


class Pulse(msgspec.Struct, frozen=True):
    """The ledger in numbers; ``holds`` and ``faults`` count what reached or met each, by number."""

    version: int
    counts: dict[str, int]
    holds: tuple[int, ...]
    faults: tuple[int, ...]


class Control:
    """Answers the control requests of one emulated provider."""

    def __init__(self, provider: Provider) -> None:
        """Stand beside the provider's own paths."""
        self._provider = provider

    async def answer(self, head: Head, body: bytes) -> Answer:
        """The answer to one control request; 400 says what is wrong with it, 404 what is not."""
        parts = head.path.removeprefix(CONTROL).strip("/").split("/")
        try:
            match (head.method, *parts):
                case ("GET", "wait"):
                    return json_answer(200, await self._wait(head.query))
                case ("GET", what):
                    return self._read(what)
                case ("DELETE", "faults"):
                    self._provider.faults.clear()
                    return json_answer(200, self._pulse())
                case ("POST", what):
                    return json_answer(200, self._set(what, body))
                case ("POST", what, number, "release"):
                    return self._release(what, int(number), body)
        except (InvalidInput, ConfigurationError, ValueError, LookupError) as error:
            return json_answer(400, {"error": str(error)})
        return _nothing(head.path)

    def _read(self, what: str) -> Answer:
        if what == "ledger":
            return json_answer(200, self._provider.ledger.record())
        if what == "summary":
            return json_answer(200, self._summary())
        return _nothing(what)

    def _set(self, what: str, body: bytes) -> object:
        provider, value = self._provider, json.decode(body)
        if what == "faults":
            plans = json.convert(value if isinstance(value, list) else [value], list[Plan])
            return {"numbers": [self._planned(plan) for plan in plans]}
        if what == "holds":
            hold = json.convert(value, Hold)
            provider.hold(hold.path, hold.method, hold.when)
            return {"number": len(provider.gates) - 1}
        if what == "limits":
            provider.set_limits(json.convert(value, tuple[Limit, ...]))
        elif what == "clock":
            provider.advance(json.convert(value, Advance).advance)
        else:
            raise LookupError(f"nothing to set is called {what}")
        return self._pulse()

    def _planned(self, plan: Plan) -> int:
        fault = self._provider.faults.plan(plan)
        return self._provider.faults.planned().index(fault)

    def _release(self, what: str, number: int, body: bytes) -> Answer:
        gates: dict[str, Callable[[], list[Gate]]] = {
            "holds": lambda: list(self._provider.gates),
            "faults": lambda: [fault.gate for fault in self._provider.faults.planned()],
        }
        if what not in gates:
            return _nothing(what)
        count = json.convert(json.decode(body), Release).count if body else None
        gates[what]()[number].release(count)
        return json_answer(200, self._pulse())

    def _pulse(self) -> Pulse:
        with self._provider.ledger.changed:
            record = self._provider.ledger.record()
            return Pulse(
                record.version,
                record.counts(),
                tuple(gate.arrived for gate in self._provider.gates),
                tuple(fault.used for fault in self._provider.faults.planned()),
            )

    def _summary(self) -> object:
        provider = self._provider
        record = provider.ledger.record()
        return {
            "profile": provider.profile.name,
            **msgspec.structs.asdict(self._pulse()),
            "limits": [
                {
                    "limit": limit,
                    "label": limit.label,
                    "peak": peaks.peak(limit, record),
                }
                for limit in provider.limiter.limits
            ],
        }

    async def _wait(self, query: str) -> Pulse:
        """Long poll: return when all that was asked for is there, or when time is up."""
        asked = {name: values[-1] for name, values in parse_qs(query).items()}
        timeout = min(_LONGEST_WAIT, float(asked.get("timeout", "10")))
        after = int(asked.get("after", "-1"))
        floors = (after + 1, int(asked.get("arrivals", "0")), int(asked.get("effects", "0")))
        loop, stirred = asyncio.get_running_loop(), asyncio.Event()
        cease = self._provider.ledger.listen(lambda: loop.call_soon_threadsafe(stirred.set))
        try:
            async with asyncio.timeout(timeout):
                while not self._reached(floors):
                    stirred.clear()
                    await stirred.wait()
        except TimeoutError:
            pass  # the pulse says how far things are, which is what was asked
        finally:
            cease()
        return self._pulse()

    def _reached(self, floors: tuple[int, int, int]) -> bool:
        sizes = self._provider.ledger.sizes()
        return all(size >= floor for size, floor in zip(sizes, floors, strict=True))


def _nothing(what: str) -> Answer:
    return json_answer(404, {"error": f"nothing here is called {what}"})
