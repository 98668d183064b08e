"""The keeper: one small process a folder, parent of its postmaster, gone when that is.

Hired by the first user (``python -m tenure.embedded.keeper``), whose end it outlives.  Owns the
server's life: it starts it, tells the user that it answers, starts it again where it was killed,
and stops it when the users' lock can be had alone, which no death of a user can prevent.  Before
it gives the users' lock back it gives the keeper's, so that a new user finds either a server that
stays or no keeper at all.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from tenure.base import json
from tenure.base.clock import now
from tenure.base.errors import DatabaseUnavailable, TenureError
from tenure.embedded.place import Place
from tenure.embedded.server import Server

_log = logging.getLogger("tenure.embedded")

_UNUSED, _DIED = "unused", "died"
_ENDS, _WITHIN = 5, 60.0  # a server that ends so often in so many seconds is given up


def main() -> None:
    """Keep the server of a folder: arguments are folder, programs, shared_buffers, lock."""
    directory, binaries, shared_buffers, lock = sys.argv[1:]
    os.chdir("/")
    os.umask(0o077)
    if os.fork():
        os._exit(0)  # the user reaps this one; the keeper is nobody's child
    place = Place(Path(directory))
    try:
        _keep(place, Server(place, Path(binaries), shared_buffers))
    finally:
        os.close(int(lock))  # before the users' lock, which goes with this process


def _keep(place: Place, server: Server) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    news: SimpleQueue[str] = SimpleQueue()
    _tell(news, _UNUSED, place.take_when_unused)
    try:
        if not _started(server):
            return
        _tell(news, _DIED, server.wait)
        ends: deque[float] = deque(maxlen=_ENDS)
        while news.get() == _DIED:
            ends.append(now())
            if len(ends) == _ENDS and ends[-1] - ends[0] < _WITHIN:
                _log.error("given up: the server ended %d times in %g s", _ENDS, _WITHIN)
                return
            _start_again(server, news)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is being obeyed already
        server.stop()


def _started(server: Server) -> bool:
    try:
        server.start()
    except TenureError as error:
        _report(error)
        return False
    _report(None)
    return True


def _start_again(server: Server, news: SimpleQueue[str]) -> None:
    try:
        server.start()
    except DatabaseUnavailable:
        _log.warning("the server could not be started again, for what it says above")
        news.put(_DIED)
    else:
        _tell(news, _DIED, server.wait)


def _tell(news: SimpleQueue[str], word: str, wait: Callable[[], object]) -> None:
    """Put the word among the news once the wait is over, from a thread that may end with us."""

    def tell() -> None:
        wait()
        news.put(word)

    threading.Thread(target=tell, daemon=True).start()


def _report(error: TenureError | None) -> None:
    """Tell the waiting user how the start went, and let go of the pipe that connects us to it."""
    told = {}
    if error is not None:
        told = {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
    # A user that was killed meanwhile hears nothing; its lock is gone, which is news enough.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.encode(told))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


if __name__ == "__main__":
    main()
