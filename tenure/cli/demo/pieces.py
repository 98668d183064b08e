"""A real piece of the demo as a process of its own: the server, a worker.

Started and stopped by the scene.  Promises: what a piece says is kept in a file and can be waited
for; a piece and whatever it started end together, by good words first and by force after.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tenure.base import clock
from tenure.base.errors import TenureError

_STARTS_WITHIN = 90.0
_STOPS_WITHIN = 30.0
_TAIL = 12


class PieceFailed(TenureError):
    """A piece of the demo did not start, or ended by itself."""


class Piece:
    """One Tenure command, running."""

    def __init__(
        self, name: str, command: list[str], *, environ: Mapping[str, str], directory: Path
    ) -> None:
        """Start it; what it says goes to ``name.log`` in the directory."""
        self.name = name
        self._lines: list[str] = []
        self._heard = threading.Condition()
        self._ended = False
        self._log = (directory / f"{name}.log").open("w", encoding="utf-8")
        self._popen = subprocess.Popen(  # noqa: S603  our own interpreter and our own module
            [sys.executable, "-m", "tenure.cli.lifeline", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=dict(environ),
            text=True,
            errors="replace",
            start_new_session=True,  # a Ctrl-C at the terminal is the demo's, which stops all
        )
        assert self._popen.stdout is not None  # noqa: S101  asked for above
        listen = threading.Thread(target=self._listen, args=(self._popen.stdout,), daemon=True)
        listen.start()
        self._listener = listen

    def _listen(self, output: IO[str]) -> None:
        for line in output:
            with self._heard:
                self._lines.append(line.rstrip("\n"))
                self._log.write(line)
                self._log.flush()
                self._heard.notify_all()
        with self._heard:
            self._ended = True
            self._heard.notify_all()

    def wait_said(self, words: str, within: float = _STARTS_WITHIN) -> re.Match[str]:
        """The first line that these words are found in; raises ``PieceFailed``."""
        deadline = clock.now() + within
        pattern = re.compile(words)
        with self._heard:
            while (found := self._find(pattern)) is None:
                left = deadline - clock.now()
                if self._ended or left <= 0:
                    raise self.failed("ended by itself" if self._ended else "did not start")
                self._heard.wait(left)
        return found

    def _find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = (pattern.search(line) for line in self._lines)
        return next((match for match in found if match is not None), None)

    def said(self, words: str) -> list[re.Match[str]]:
        """Every line so far that these words are found in."""
        pattern = re.compile(words)
        with self._heard:
            return [match for line in self._lines if (match := pattern.search(line)) is not None]

    def check(self) -> None:
        """Raise ``PieceFailed`` where it has ended."""
        if self._popen.poll() is not None:
            raise self.failed("ended by itself")

    def failed(self, what: str) -> PieceFailed:
        """The error that tells its last words."""
        tail = "\n".join(f"    {line}" for line in self._lines[-_TAIL:]) or "    nothing"
        return PieceFailed(f"the demo's {self.name} {what}; it said:\n{tail}\n")

    def ask_to_stop(self) -> None:
        """SIGTERM, and no wait."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """End it and all that it started; by force what does not end by itself in time."""
        self.ask_to_stop()
        try:
            self._popen.wait(_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()
        finally:
            self._let_go()

    def kill(self) -> None:
        """End the whole group by force."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait(_STOPS_WITHIN)

    def _let_go(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # whatever a piece that crashed left behind
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._listener.join(_STOPS_WITHIN)
        for pipe in (self._popen.stdin, self._popen.stdout, self._log):
            if pipe is not None:
                pipe.close()
