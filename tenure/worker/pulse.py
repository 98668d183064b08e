"""Whether the event loop turns, and which job keeps it from turning.

Asked by the heartbeat, in its own thread, at each beat.  Promises: a loop that has not turned for a
beat is told with the job, the time and the line that blocks it, again whenever that time has
doubled, and a last time when it turns again.
"""

from __future__ import annotations

import asyncio
import functools
import linecache
import logging
import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import tenure
from tenure.base import clock, json
from tenure.flow.run import Run
from tenure.store.records import Entry
from tenure.worker.runner import Runner

log = logging.getLogger("tenure.worker")

_STACK = 30


class Pulse:
    """The pulse of one process's event loop."""

    def __init__(self, runner: Runner, least: float) -> None:
        """Made in the loop; a standstill shorter than ``least`` seconds is none."""
        self._runner = runner
        self._least = least
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._asked = clock.now()
        self._turned = True
        self._told = 0.0

    def feel(self) -> Entry | None:
        """The line for the story of the job that blocks the loop; asked in another thread."""
        if self._turned:
            self._turned = False
            self._asked = clock.now()
            self._loop.call_soon_threadsafe(self._turn)
            return None
        stood = clock.now() - self._asked
        if stood < max(self._least, 2 * self._told):
            return None
        self._told = stood
        return self._blocked(stood)

    def _turn(self) -> None:
        if self._told:
            log.warning("the event loop turns again after %.1f s", clock.now() - self._asked)
            self._told = 0.0
        self._turned = True

    def _blocked(self, stood: float) -> Entry | None:
        run = self._running()
        stack = _stack(sys._current_frames().get(self._thread))  # noqa: SLF001 - the way it is documented
        if run is not self._running() or self._turned:
            return None  # it went on meanwhile: what was seen may be of two jobs
        if run is None:
            names = sorted({run.job.automation for run in list(self._runner.runs.values())})
            log.warning(
                "the event loop has not turned for %.1f s, at %s: one of %s blocks it",
                *(stood, _where(stack), ", ".join(names) or "no automation"),
            )
            return None
        job = run.job
        where = run.hide(_where(stack))
        log.warning(
            "job %s (%s) has blocked the event loop for %.1f s, and with it all others here, at %s",
            *(job.id, job.automation, stood, where),
        )
        said = f"it has blocked the event loop of its process for {stood:.1f} s, at {where}"
        lines = [run.hide(_line(frame)) for frame in stack[:_STACK]]
        detail = json.encode({"seconds": round(stood, 3), "where": where, "stack": lines})
        return Entry(job.id, job.fence, "blocked", said, detail.decode())

    def _running(self) -> Run | None:
        """The run whose task the loop is in the middle of."""
        task = asyncio.current_task(self._loop)
        if task is None:
            return None
        for id, run in list(self._runner.runs.items()):
            if self._runner.tasks.get(id) is task or task in run.tasks:
                return run
        return None


def _stack(frame: FrameType | None) -> list[tuple[str, int, str]]:
    """File, line and function of each frame, the innermost first."""
    found = []
    while frame is not None:
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found


def _where(stack: list[tuple[str, int, str]]) -> str:
    """The innermost line of the author's own; the innermost of all where none is."""
    own = next((frame for frame in stack if not _is_foreign(frame[0])), None)
    return _line(own or stack[0]) if stack else "a place that cannot be seen"


def _line(frame: tuple[str, int, str]) -> str:
    file, line, name = frame
    text = linecache.getline(file, line).strip()
    return f"{file}:{line} in {name}" + (f" ({text})" if text else "")


def _is_foreign(file: str) -> bool:
    """Whether a file is of Python, of an installed library, or ours."""
    return file.startswith("<") or any(file.startswith(place) for place in _places())


@functools.cache
def _places() -> tuple[str, ...]:
    return tuple(f"{place}/" for place in _folders())


def _folders() -> Iterator[str]:
    paths = sysconfig.get_paths()
    yield from (paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield str(Path(tenure.__file__).parent)
