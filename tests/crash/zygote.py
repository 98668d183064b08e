"""A process that has everything imported and forks workers: ``python -m tests.crash.zygote``.

Started by the harness, once for all runs.  It reads an order a line; each is forked into a worker
process of its own, the very process that the worker's service starts, and told by two lines: its
pid when it is there, its name in rows when it is ready.  Workers end with the harness.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import msgspec

from tenure.base.defaults import Settings
from tenure.base.model import Kind
from tenure.worker.process import Process
from tests.kit import around, meeting

# What the automations import is here before anybody is forked; they themselves are not.
PRELOADED = (around, meeting)


class Order(msgspec.Struct, frozen=True):
    """One worker process: against which database, of which kind, under which settings.

    ``environ`` is added to its environment before the automations are imported.
    """

    number: int
    url: str
    kind: Kind
    settings: Settings
    environ: dict[str, str]


class Told(msgspec.Struct, frozen=True):
    """What became of an order: forked, or, with a name in rows, ready."""

    number: int
    pid: int
    worker: str = ""


def main() -> None:
    """Fork until standard input ends, then end whatever was forked."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead need no farewell
    os.setpgid(0, 0)
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        pid = os.fork()
        if pid == 0:
            _work(order)
        _tell(Told(order.number, pid))
    os.killpg(0, signal.SIGKILL)


def _work(order: Order) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.update(order.environ)
    from tests.kit.automations import app  # says where its providers are when it is imported

    app.use(order.settings)
    process = Process(app, url=order.url, kind=order.kind, live=True, aside=lambda: None)
    ready = Told(order.number, os.getpid(), str(process.worker))
    try:
        asyncio.run(process.run(lambda: _tell(ready)))
    finally:
        os._exit(0)


def _tell(told: Told) -> None:
    os.write(1, msgspec.json.encode(told) + b"\n")


if __name__ == "__main__":
    main()
