"""An emulated provider in a process of its own, for tests that kill it, freeze it or outlive it.

Has the face of ``Emulator`` as far as HTTP can carry it: the ledger is fetched, facts are waited
for by long poll.  It promises that the process ends with the one that started it, however that
ends, and that a killed one is never waited for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from http.client import (  # noqa: TID251 - it asks a test's emulator, on this machine
    HTTPConnection,
    HTTPException,
)
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import msgspec
from msgspec.structs import replace

from tenure.base import clock, json
from tenure.testing.emulators.config import Config
from tenure.testing.emulators.control import CONTROL, Hold, Pulse, Release
from tenure.testing.emulators.errors import EmulatorError, NotRunning
from tenure.testing.emulators.faults import Kind, Plan
from tenure.testing.emulators.gates import When, never_arrived
from tenure.testing.emulators.ledger import Arrival, By, Effect, Record, not_seen
from tenure.testing.emulators.peaks import peak

if TYPE_CHECKING:
    from types import TracebackType

    from tenure.testing.emulators.rules import Limit

T = TypeVar("T")

_ANSWERS_WITHIN = 10.0
_POLL = 5.0
_STOPS_WITHIN = 10.0


class _Numbers(msgspec.Struct, frozen=True):
    numbers: tuple[int, ...] = ()
    number: int = 0


class DetachedGate:
    """A gate in another process; the same as ``Gate`` otherwise."""

    def __init__(self, emulator: DetachedEmulator, number: int, hold: Hold) -> None:
        """Name the gate by its number."""
        self._emulator, self._number, self._hold = emulator, number, hold

    def release(self, count: int | None = None) -> None:
        """Let ``count`` waiting requests go, oldest first; None opens the gate for good."""
        self._emulator.ask("POST", f"holds/{self._number}/release", Pulse, Release(count))

    def wait_arrived(self, count: int = 1, timeout: float = 10.0) -> None:
        """Block until ``count`` requests in all have reached the gate; raises ``NotSeen``."""
        pulse = self._emulator.wait_pulse(lambda it: it.holds[self._number] >= count, timeout)
        arrived = pulse.holds[self._number]
        if arrived < count:
            raise never_arrived(self._hold.path, arrived, count, timeout)


class DetachedFault:
    """A fault in another process."""

    def __init__(self, emulator: DetachedEmulator, number: int) -> None:
        """Name the fault by its number."""
        self._emulator, self._number = emulator, number

    @property
    def used(self) -> int:
        """How many requests met it so far."""
        return self._emulator.ask("GET", "wait?timeout=0", Pulse).faults[self._number]

    def release(self) -> None:
        """Let the requests that hang go on, and all later ones."""
        self._emulator.ask("POST", f"faults/{self._number}/release", Pulse)


class DetachedEmulator:
    """An emulator as the configuration says, in a process that is started with it."""

    def __init__(self, config: Config | None = None) -> None:
        """Take the configuration; restarted, the process listens on the same port again."""
        self.config = config or Config()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The base address of the provider; known once started."""
        return f"http://127.0.0.1:{self.config.port}"

    @property
    def pid(self) -> int:
        """The process id; raises ``NotRunning`` where there is no process."""
        return self._running().pid

    def start(self) -> Self:
        """Start the process and return once it listens; raises ``EmulatorError`` with its words."""
        if self._process is not None:
            raise EmulatorError(
                f"the emulator has a process already ({self.pid})", hint="Stop it first."
            )
        # Its complaints go to a file: a pipe that nobody reads would stop it when full.
        with tempfile.TemporaryFile() as complaints:
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "tenure.testing.emulators", "--config", "-", "--until-eof"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=os.environ | {"PYTHONPATH": _import_path()},
            )
            line = _first_line(process, json.encode(self.config))
            if not line:
                self._reap()
                complaints.seek(0)
                raise EmulatorError(
                    f"the emulator's process did not start ({complaints.read().decode().strip()})",
                    hint="Correct the configuration it was given.",
                )
        url = json.convert(json.decode(line), dict[str, object])["url"]
        self.config = replace(self.config, port=int(str(url).rpartition(":")[2]))
        return self

    def stop(self) -> None:
        """End the process in good order; a frozen one is thawed for that."""
        if self._process is not None:
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGTERM)
            self._reap()

    def kill(self) -> None:
        """End the process as ``kill -9`` does: its ledger, keys and objects are lost."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._reap()

    def freeze(self) -> None:
        """Stop the process where it is: connections stay, nothing is answered."""
        self._running()
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._running()
        self._signal(signal.SIGCONT)

    @property
    def ledger(self) -> Record:
        """All arrivals and effects up to now."""
        return self.ask("GET", "ledger", Record)

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """Every request whose head came in whole, in order."""
        return self.ledger.arrivals

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Every change that took place, in order."""
        return self.ledger.effects

    @property
    def connections(self) -> int:
        """How many connections clients have opened so far; those of this object do not count."""
        return self.ledger.connections

    def summary(self) -> dict[str, object]:
        """The ledger in numbers, with every limit and its peak."""
        return self.ask("GET", "summary", dict[str, object])

    def duplicates(self, by: By | None = None) -> tuple[Effect, ...]:
        """Effects beyond the first of each key, or of each identity that ``by`` finds."""
        return self.ledger.duplicates() if by is None else self.ledger.duplicates(by)

    def peak(self, limit: Limit) -> int:
        """The most units that arrived in one window of the limit, refused ones included."""
        return peak(limit, self.ledger)

    def fault(self, kind: Kind, path: str | None = None, **options: object) -> DetachedFault:
        """Plan a fault; the options are the fields of ``Plan``."""
        plan = {"kind": kind, "path": path, **options}
        numbers = self.ask("POST", "faults", _Numbers, json.convert(plan, Plan)).numbers
        return DetachedFault(self, numbers[0])

    def hold(
        self, path: str | None = None, *, method: str | None = None, when: When = "before"
    ) -> DetachedGate:
        """Hold the requests on a path, before or after their effect, until the gate is released."""
        hold = Hold(path, method, when)
        return DetachedGate(self, self.ask("POST", "holds", _Numbers, hold).number, hold)

    def set_limits(self, *limits: Limit) -> None:
        """Enforce other limits from now on, with empty windows."""
        self.ask("POST", "limits", Pulse, limits)

    def advance(self, seconds: float) -> None:
        """Move the emulator's clock ahead."""
        self.ask("POST", "clock", Pulse, {"advance": seconds})

    def wait_for(self, fact: Callable[[Record], bool], timeout: float = 10.0) -> Record:
        """Block until the fact holds of the ledger; ``NotSeen`` after ``timeout`` seconds."""
        deadline = clock.now() + timeout
        record = self.ledger
        while not fact(record):
            if (left := deadline - clock.now()) <= 0:
                raise not_seen(record, timeout)
            query = f"wait?after={record.version}&timeout={min(left, _POLL)}"
            self.ask("GET", query, Pulse)
            record = self.ledger
        return record

    def wait_pulse(self, fact: Callable[[Pulse], bool], timeout: float) -> Pulse:
        """Block until the fact holds of the pulse, or time is up; returns the last one seen."""
        deadline = clock.now() + timeout
        pulse = self.ask("GET", "wait?timeout=0", Pulse)
        while not fact(pulse) and (left := deadline - clock.now()) > 0:
            query = f"wait?after={pulse.version}&timeout={min(left, _POLL)}"
            pulse = self.ask("GET", query, Pulse)
        return pulse

    def ask(self, method: str, what: str, kind: type[T], body: object = None) -> T:
        """One control request; raises ``EmulatorError`` where it is refused or not answered."""
        conn = HTTPConnection("127.0.0.1", self.config.port, timeout=_ANSWERS_WITHIN)
        try:
            text = None if body is None else json.encode(body)
            conn.request(method, f"{CONTROL}/{what}", text)
            response = conn.getresponse()
            content = response.read()
        except (OSError, HTTPException) as error:
            raise EmulatorError(
                f"the emulator at {self.url} does not answer ({type(error).__name__}: {error})",
                hint="It is stopped, killed or frozen; start or thaw it.",
            ) from error
        finally:
            conn.close()
        if response.status != 200:
            raise EmulatorError(
                f"the emulator refused {method} {what} ({content.decode('utf-8', 'replace')})",
                hint="Correct what was asked of it.",
            )
        return json.convert(json.decode(content), kind)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise NotRunning(
                "the emulator has no process", hint="Start it, or use it as a context manager."
            )
        return self._process

    def _signal(self, number: signal.Signals) -> None:
        self._running().send_signal(number)

    def _reap(self) -> None:
        process, self._process = self._running(), None
        process.wait(_STOPS_WITHIN)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        """Start, if that was not done."""
        return self if self._process is not None else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()


def _first_line(process: subprocess.Popen[bytes], config: bytes) -> bytes:
    """Hand over the configuration; what the process says once it listens, empty where it ended."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("pipes were asked for")
    process.stdin.write(config + b"\n")
    process.stdin.flush()
    return process.stdout.readline()


def _import_path() -> str:
    """The child imports this very package, from wherever this process has it."""
    here = str(Path(__file__).parents[3])
    return os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
