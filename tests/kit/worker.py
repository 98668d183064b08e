"""A real worker: the service and its processes, to be killed, frozen, thawed and stopped.

    with Worker(database_url, lease=3.0) as worker:
        worker.wait_ready()
        worker.kill()                     # kill -9, the service and all of its processes

What it says is printed when it ends, so that pytest shows it beside a failing test.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Self

from tests.house.tree import ROOT
from tests.kit.facts import stir, until, watched

if TYPE_CHECKING:
    from types import TracebackType

APP = "tests.kit.automations:app"
# Short enough for a test, long enough for a machine that has other things to do.
_SETTINGS = {
    "lease": 6.0,
    "heartbeat": 0.5,
    "margin": 1.0,
    "poll": 0.1,
    "drain": 10.0,
    "call_timeout": 5.0,
    "concurrency": 10,
}
_READY = re.compile(r"^(live|not-live|quarantine) process (\d+) is ready \((.+)\)$")
_ENDED = re.compile(r"^\w+ process (\d+) ended")
_STOPS_WITHIN = 40.0


class Worker:
    """One worker, running once entered or started."""

    def __init__(
        self,
        url: str,
        app: str = APP,
        *,
        only: str = "live",
        environ: Mapping[str, str] | None = None,
        directory: str = str(ROOT),
        settings: Mapping[str, float] | None = None,
        **more: float,
    ) -> None:
        """``settings`` override the kit's; ``environ`` is added to the worker's environment."""
        given = {**_SETTINGS, **(settings or {}), **more}
        variables = {f"TENURE_{name.upper()}": str(value) for name, value in given.items()}
        self._command = [sys.executable, "-m", "tests.kit.serve", app, *([only] if only else [])]
        self._environ = {
            **os.environ,
            **variables,
            "TENURE_DATABASE_URL": url,
            "PYTHONPATH": os.pathsep.join((directory, str(ROOT))),
            "PYTHONUNBUFFERED": "1",
            **(environ or {}),
        }
        self._directory = directory
        self._popen: subprocess.Popen[str] | None = None
        self._listener: threading.Thread | None = None
        self.lines: list[str] = []
        self.processes: dict[int, tuple[str, str]] = {}
        self._frozen: set[int] = set()

    def start(self) -> Self:
        """Start it; returns itself."""
        self._popen = subprocess.Popen(
            self._command,
            cwd=self._directory,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._popen.stdout is not None
        self._listener = threading.Thread(
            target=self._listen, args=(self._popen.stdout,), daemon=True
        )
        self._listener.start()
        watched.append(self._check)
        return self

    def _listen(self, output: IO[str]) -> None:
        for line in output:
            self.lines.append(line.rstrip("\n"))
            if ready := _READY.match(self.lines[-1]):
                self.processes[int(ready[2])] = (ready[1], ready[3])
            if ended := _ENDED.match(self.lines[-1]):
                self.processes.pop(int(ended[1]), None)
            stir()

    @property
    def popen(self) -> subprocess.Popen[str]:
        """The service's process."""
        assert self._popen is not None, "the worker was not started"
        return self._popen

    def pids(self, kind: str = "live") -> list[int]:
        """The processes of a kind that have said they are ready."""
        return [pid for pid, (known, _) in self.processes.items() if known == kind]

    def wait_ready(self, kind: str = "live") -> int:
        """Return the pid of the first process of a kind, once it is ready."""
        return until(lambda: self.pids(kind), f"a {kind} process is ready")[0]

    def worker_id(self, kind: str = "live") -> str:
        """The name under which the first process of a kind stands in rows."""
        return self.processes[self.wait_ready(kind)][1]

    def said(self, words: str) -> bool:
        """Whether a line of its output holds these words."""
        return any(words in line for line in list(self.lines))

    def _check(self) -> None:
        code = self.popen.poll()
        assert code is None, f"the worker ended by itself ({code})"

    def _expect_end(self) -> None:
        if self._check in watched:
            watched.remove(self._check)

    def kill(self) -> None:
        """Kill -9 for the service and every process of it, at once."""
        self._expect_end()
        self._signal_all(signal.SIGKILL)
        self.popen.wait(_STOPS_WITHIN)

    def kill_process(self, pid: int) -> None:
        """Kill -9 for one process; the service starts another."""
        os.kill(pid, signal.SIGKILL)

    def freeze(self, *pids: int) -> None:
        """SIGSTOP for its processes, or for the ones named; the service runs on."""
        for pid in pids or self.pids():
            os.kill(pid, signal.SIGSTOP)
            self._frozen.add(pid)

    def thaw(self) -> None:
        """SIGCONT for whatever was frozen."""
        for pid in self._frozen | set(self.pids()):
            os.kill(pid, signal.SIGCONT)
        self._frozen.clear()

    def terminate(self) -> None:
        """SIGTERM, and no wait."""
        self._expect_end()
        self.popen.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """SIGTERM; its exit code once it has ended."""
        self.terminate()
        return self.popen.wait(_STOPS_WITHIN)

    def _signal_all(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.popen.pid, number)
        except ProcessLookupError:
            stir()  # all of it has ended

    def __enter__(self) -> Self:
        """Start, if that was not done."""
        return self if self._popen is not None else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End whatever is left of it, and print what it said."""
        self._expect_end()
        self._signal_all(signal.SIGKILL)
        self.popen.wait(_STOPS_WITHIN)
        if self._listener is not None:
            self._listener.join(_STOPS_WITHIN)
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe is not None:
                pipe.close()
        print(f"--- worker {self.popen.pid}", *self.lines, sep="\n")  # noqa: T201 - for pytest
