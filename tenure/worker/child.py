"""What runs in a worker's child process: ``python -m tenure.worker.child``.

Started by the service alone, which passes an order on standard input and keeps that pipe open: when
it closes, the service is gone and the child drains.  Promises: in a process for jobs that are not
live, the guard stands before the author's module is imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from tenure import loading
from tenure.app import Tenure
from tenure.base.defaults import Settings
from tenure.base.errors import BrokenApp, ConfigurationError, TenureError
from tenure.base.model import Kind
from tenure.flow import guard
from tenure.worker.process import Process

log = logging.getLogger("tenure.worker")

# The exit code for what only a person can set right (EX_CONFIG of sysexits.h).
_CONFIGURATION = 78
# How much longer than its grace a process is waited for whose event loop may not turn.
_LATE_SECONDS = 1.0


class Order(msgspec.Struct, frozen=True):
    """What the service wants of a child; ``tell`` is the descriptor it listens on."""

    app: str
    directory: str
    settings: Settings
    url: str
    kind: Kind
    live: bool
    tell: int


class Told(msgspec.Struct, frozen=True):
    """What a child tells the service.

    ``ready``: it works, under the name ``worker``; ``aside``: a quarantine process has work;
    ``lacking``: something that jobs will miss, in ``text``; ``failed``: why it ends.
    """

    said: Literal["ready", "aside", "lacking", "failed"]
    worker: str = ""
    text: str = ""


def main() -> int:
    """Run one child to its end."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    logging.basicConfig(
        level=os.environ.get("TENURE_LOG", "WARNING").upper(),
        format=f"%(asctime)s {order.kind} %(process)d %(levelname)s %(message)s",
    )
    if not order.live:
        guard.install("refuse", log.warning)
    try:
        app = loading.load(order.app, directory=Path(order.directory))
        app.use(order.settings)
        for text in app.lacking():
            _tell(order.tell, Told("lacking", text=text))
        asyncio.run(_run(order, obeyed(order, app)))
    except TenureError as error:
        # Its siblings fail alike: the service tells it once for all of them.
        trace = f"{error.trace}\n" if isinstance(error, BrokenApp) else ""
        text = f"{trace}error: {error.message}\n{error.hint}".rstrip()
        _tell(order.tell, Told("failed", text=text))
        return _CONFIGURATION if isinstance(error, ConfigurationError) else 1
    return 0


def obeyed(order: Order, app: Tenure) -> Process:
    """The process that an order asks for."""

    def aside() -> None:
        _tell(order.tell, Told("aside", str(process.worker)))

    process = Process(app, url=order.url, kind=order.kind, live=order.live, aside=aside)
    return process


async def _run(order: Order, process: Process) -> None:
    loop = asyncio.get_running_loop()
    if not order.live:
        guard.check_loop(loop)
    stopped = threading.Event()
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        # Not the loop's own way: a handler may keep the loop from turning.
        signal.signal(signal_, lambda *_: stopped.set())
    _watch_service(stopped.set)
    _watch_grace(stopped, process, order.settings.drain + _LATE_SECONDS)
    await process.run(lambda: _tell(order.tell, Told("ready", str(process.worker))))
    # All is written and handed back: threads of an author that do not end keep nothing waiting.
    _leave()


def _leave() -> None:
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def _watch_grace(stopped: threading.Event, process: Process, grace: float) -> None:
    """Stop the process when asked to, and end it where its loop does not come to that."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        stopped.wait()
        process.halt()
        with contextlib.suppress(RuntimeError):  # the loop has ended before
            loop.call_soon_threadsafe(process.stop)
        if not process.drained.wait(grace):
            process.abandon()
            _leave()

    threading.Thread(target=watch, name="tenure-grace", daemon=True).start()


def _watch_service(gone: Callable[[], object]) -> None:
    """Standard input ends when the service does, however it ends."""

    def watch() -> None:
        # Straight from the descriptor: a buffered reader's lock would outlive the interpreter.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        gone()

    threading.Thread(target=watch, name="tenure-service", daemon=True).start()


def _tell(descriptor: int, told: Told) -> None:
    with contextlib.suppress(BrokenPipeError):  # the service is gone; standard input says so too
        os.write(descriptor, msgspec.json.encode(told) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
