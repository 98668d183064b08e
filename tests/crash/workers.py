"""Worker processes for the harness: forked in a moment, killed without a word.

Called by runs.  Promises that a killed one is dead when ``kill`` returns.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Self

import msgspec

from tenure.base.defaults import Settings
from tenure.base.model import Kind
from tests.crash.zygote import Order, Told
from tests.house.tree import ROOT
from tests.kit.facts import stir, until

if TYPE_CHECKING:
    from types import TracebackType

_DIES_WITHIN = 20.0


class Victim:
    """One worker process."""

    def __init__(self, pid: int) -> None:
        """Take hold of it, unless it is dead already."""
        self.pid = pid
        self._opened = -1
        with suppress(ProcessLookupError):
            self._opened = os.pidfd_open(pid)

    def dead(self, within: float = 0.0) -> bool:
        """Whether it is dead by now, or within so many seconds."""
        return self._opened < 0 or bool(select.select([self._opened], [], [], within)[0])

    def kill(self) -> None:
        """Kill -9; return when it is dead."""
        if not self.dead():
            signal.pidfd_send_signal(self._opened, signal.SIGKILL)
        assert self.dead(_DIES_WITHIN), f"process {self.pid} does not die"
        if self._opened >= 0:
            os.close(self._opened)


class Nursery:
    """Forks worker processes from one that has everything imported."""

    def __init__(self) -> None:
        """Nothing is forked yet."""
        self._told: dict[int, Told] = {}
        self._number = 0

    def start(
        self, url: str, kinds: Sequence[Kind], settings: Settings, environ: Mapping[str, str]
    ) -> list[Victim]:
        """A worker process of each kind, once all are ready; ``environ`` is the providers'."""
        numbers = [self._order(url, kind, settings, environ) for kind in kinds]
        until(lambda: all(number in self._told for number in numbers), "all are forked")
        victims = [Victim(self._told[number].pid) for number in numbers]
        pairs = list(zip(numbers, victims, strict=True))
        until(
            lambda: all(self._told[number].worker or victim.dead() for number, victim in pairs),
            "all are ready",
        )
        return victims

    def _order(self, url: str, kind: Kind, settings: Settings, environ: Mapping[str, str]) -> int:
        self._number += 1
        number = self._number
        order = Order(number, url, kind, settings, dict(environ))
        assert self._popen.stdin is not None
        self._popen.stdin.write(msgspec.json.encode(order) + b"\n")
        self._popen.stdin.flush()
        return number

    def _listen(self, output: IO[bytes]) -> None:
        for line in output:
            told = msgspec.json.decode(line, type=Told)
            if told.worker or told.number not in self._told:
                self._told[told.number] = told
            stir()

    def __enter__(self) -> Self:
        """Start the process that forks."""
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._popen.stdout is not None
        threading.Thread(target=self._listen, args=(self._popen.stdout,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, and with it whatever it forked."""
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        self._popen.wait(_DIES_WITHIN)
