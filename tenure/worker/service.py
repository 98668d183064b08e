"""The worker as its operator starts it: it starts processes, and starts them again.

Called by ``tenure worker``.  It holds no lease, judges no job and is needed by none: kill it, and
its children drain; kill a child, and its leases run out.  Promises: live jobs and others run in
processes apart; quarantine processes are started on demand, as many as it has processes and at
least four.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Literal

import msgspec

from tenure.base import clock
from tenure.base.defaults import Settings
from tenure.base.model import Kind
from tenure.store import migrate
from tenure.store.database import Database
from tenure.worker.child import Order, Told

log = logging.getLogger("tenure.worker")

Only = Literal["live", "not-live"]

_LEAST_QUARANTINES = 4
_RESTART_PAUSE = 1.0
_STOP_GRACE = 15.0


class Child:
    """One child process and the pipe it tells things on."""

    def __init__(self, order: Order) -> None:
        """Start it; its standard input stays open for as long as the service lives."""
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)  # noqa: FBT003 - the standard library takes it by place
        self.order = msgspec.structs.replace(order, tell=writing)
        self.tells = reading
        self.worker = ""
        self.explained = False
        self.started = clock.now()
        self._unread = b""
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tenure.worker.child"],
            stdin=subprocess.PIPE,
            pass_fds=(writing,),
        )
        os.close(writing)
        assert self.popen.stdin is not None  # noqa: S101  asked for two lines above
        with contextlib.suppress(BrokenPipeError):  # it died at once; its pipe's end says so
            self.popen.stdin.write(msgspec.json.encode(self.order) + b"\n")
            self.popen.stdin.flush()

    def read(self) -> list[Told] | None:
        """What it told since; None where its pipe has ended."""
        chunk = os.read(self.tells, 65536)
        if not chunk:
            return None
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        return [msgspec.json.decode(line, type=Told) for line in lines]

    def end(self) -> None:
        """Let go of a child that has exited."""
        os.close(self.tells)
        if self.popen.stdin is not None:
            self.popen.stdin.close()
        self.popen.wait()


class Service:
    """The processes of one worker."""

    def __init__(self, order: Order, only: Only | None, announce: Callable[[str], None]) -> None:
        """``order`` is what children have in common; ``announce`` is given lines for people."""
        self._order = order
        self._announce = announce
        self._kinds: list[tuple[Kind, bool]] = []
        if only != "not-live":
            self._kinds += [("live", True)] * order.settings.processes
        if only != "live":
            self._kinds.append(("not_live", False))
        self._children: dict[int, Child] = {}
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self._deadline = float("inf")
        self._again: list[tuple[float, Kind, bool]] = []
        self._ready = False
        self._warnings: set[str] = set()
        self._failures: set[str] = set()  # since a process was last ready
        self._code = 0

    def run(self) -> int:
        """Run until told to stop and all children have ended.

        The exit code: 0, or that of a first process which could not even begin, or 1 where
        processes that outlasted every grace had to be killed.
        """
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        for signal_ in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_, self._stop)
        self._selector.register(reading, selectors.EVENT_READ)
        for kind, live in self._kinds:
            self._start(kind, live=live)
        while self._children or (self._again and not self._stopping):
            self._turn(reading)
            self._kill_overdue()
        return self._code

    def _start(self, kind: Kind, *, live: bool) -> None:
        child = Child(msgspec.structs.replace(self._order, kind=kind, live=live))
        self._children[child.tells] = child
        self._selector.register(child.tells, selectors.EVENT_READ)

    def _turn(self, wakeup: int) -> None:
        for key, _ in self._selector.select(timeout=0.5):
            if key.fd == wakeup:
                os.read(wakeup, 4096)
            elif key.fd in self._children:
                self._hear(self._children[key.fd])
        now = clock.now()
        due = [again for again in self._again if again[0] <= now]
        self._again = [again for again in self._again if again[0] > now]
        for _, kind, live in due:
            if not self._stopping:
                self._start(kind, live=live)

    def _hear(self, child: Child) -> None:
        told = child.read()
        if told is None:
            self._ended(child)
            return
        for tale in told:
            if tale.said == "ready":
                child.worker = tale.worker
                self._ready = True
                self._failures.clear()
                kind = child.order.kind.replace("_", "-")
                self._announce(f"{kind} process {child.popen.pid} is ready ({tale.worker})")
            elif tale.said == "aside":
                self._quarantine(live=child.order.live)
            elif tale.said == "lacking":
                self._tell_once(f"warning: {tale.text}", self._warnings)
            elif tale.said == "failed":
                child.explained = True
                self._tell_once(tale.text, self._failures)

    def _tell_once(self, text: str, told: set[str]) -> None:
        """What several processes find alike is one thing to a person."""
        if text not in told:
            told.add(text)
            self._announce(text)

    def _quarantine(self, *, live: bool) -> None:
        """One more process of one slot, up to the limit: jobs run alone, not one after another.

        While one is still starting, what it will find may be all there is.
        """
        alone = [
            child
            for child in self._children.values()
            if child.order.kind == "quarantine" and child.order.live == live
        ]
        most = max(self._order.settings.processes, _LEAST_QUARANTINES)
        if not self._stopping and len(alone) < most and all(child.worker for child in alone):
            self._start("quarantine", live=live)

    def _ended(self, child: Child) -> None:
        self._selector.unregister(child.tells)
        del self._children[child.tells]
        child.end()
        code, order = child.popen.returncode, child.order
        stopped = self._stopping and code == -signal.SIGTERM  # before it could listen to it
        if code != 0 and not child.explained and not stopped:
            self._announce(f"{order.kind} process {child.popen.pid} ended ({code})")
        if code != 0 and not child.worker and not self._ready and not self._stopping:
            # Nothing of its kind ever began: what it said is for a person, not for a next try.
            self._code = code
            self._stop_all()
        elif order.kind != "quarantine" and not self._stopping:
            self._again.append((clock.now() + _RESTART_PAUSE, order.kind, order.live))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._stop_all()

    def _stop_all(self) -> None:
        self._stopping = True
        self._deadline = clock.now() + self._order.settings.drain + _STOP_GRACE
        for child in list(self._children.values()):
            child.popen.send_signal(signal.SIGTERM)

    def _kill_overdue(self) -> None:
        """Children that outlast every grace are killed; their leases run out."""
        if clock.now() < self._deadline:
            return
        self._deadline = float("inf")
        self._code = 1
        self._announce(f"{len(self._children)} processes did not end in time: killed")
        for child in self._children.values():
            child.popen.kill()


def run(
    app: str,
    settings: Settings,
    *,
    url: str,
    only: Only | None = None,
    announce: Callable[[str], None],
) -> int:
    """Run a worker for the application at ``module:name`` until it is told to stop.

    Raises ``SchemaMismatch`` and ``DatabaseUnavailable`` where it cannot begin.
    """
    pooled = settings.pooled
    database = Database(url, name="tenure worker", pooled=pooled)
    migrate.check(database)
    database.close()
    order = Order(
        app=app,
        directory=str(Path.cwd()),
        settings=settings,
        url=url,
        kind="live",
        live=True,
        tell=-1,
    )
    return Service(order, only, announce).run()
