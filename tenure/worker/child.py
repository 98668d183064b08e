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
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_, process.stop)
    _watch_service(lambda: loop.call_soon_threadsafe(process.stop))
    await process.run(lambda: _tell(order.tell, Told("ready", str(process.worker))))
    # All is written and handed back: threads of an author that do not end keep nothing waiting.
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def _watch_service(gone: Callable[[], object]) -> None:
    """Standard input ends when the service does, however it ends."""

    def watch() -> None:
        # Straight from the descriptor: a buffered reader's lock would outlive the interpreter.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        with contextlib.suppress(RuntimeError):  # the loop has ended before
            gone()

    threading.Thread(target=watch, name="tenure-service", daemon=True).start()


def _tell(descriptor: int, told: Told) -> None:
    with contextlib.suppress(BrokenPipeError):  # the service is gone; standard input says so too
        os.write(descriptor, msgspec.json.encode(told) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
