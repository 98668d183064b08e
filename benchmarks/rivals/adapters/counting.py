"""The half that every adapter shares: its command line, and jobs counted beside the database.

An adapter is a small program that knows one queue.  It runs in an environment of that queue's own,
so it imports nothing of this project.  Handled jobs are counted in a memory-mapped file: nobody
asks the database how far a run has come while it is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

# How many, and when the first: seconds since the machine started, the same for every process.
ROW = struct.Struct("<Qd")


class Counter:
    """Counts calls in a file that others may read."""

    def __init__(self, path: Path) -> None:
        """Begin at nothing."""
        path.write_bytes(bytes(ROW.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), ROW.size)
        self._count = 0
        self._first = 0.0

    def __call__(self) -> None:
        """One more."""
        self._count += 1
        self._first = self._first or time.clock_gettime(time.CLOCK_BOOTTIME)
        self._map[:] = ROW.pack(self._count, self._first)


class Adapter:
    """What a measurement asks of a queue."""

    def __init__(self, url: str, options: dict[str, str]) -> None:
        """``url`` names a database of the measurement's own."""
        self.url = url
        self.options = options

    async def setup(self) -> None:
        """Make the queue's tables."""
        raise NotImplementedError

    async def enqueue(self, numbers: Sequence[int]) -> None:
        """Make a job of each number, by the queue's own call for many."""
        raise NotImplementedError

    async def work(
        self, handled: Callable[[], None], concurrency: int, stop: asyncio.Event
    ) -> None:
        """Be one worker process: call ``handled`` in each job's handler, until told to stop."""
        raise NotImplementedError


async def _run(adapter: type[Adapter]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["setup", "enqueue", "work"])
    parser.add_argument("--url", required=True)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--count", type=Path, help="the file to count in")
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--option", action="append", default=[])
    given = parser.parse_args()
    own = adapter(given.url, dict(option.split("=", 1) for option in given.option))
    if given.command == "setup":
        await own.setup()
    elif given.command == "enqueue":
        for start in range(0, given.jobs, 1000):
            await own.enqueue(range(start, min(start + 1000, given.jobs)))
    else:
        stop = asyncio.Event()
        for signal_ in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(signal_, stop.set)
        await own.work(Counter(given.count), given.concurrency, stop)
    sys.stdout.flush()
    os._exit(0)  # some queues leave threads that end much later


def main(adapter: type[Adapter]) -> None:
    """Run an adapter's command line."""
    asyncio.run(_run(adapter))
