"""Worker processes on record, for people; no lease is judged by these rows.

Called by the worker when it starts, at each heartbeat, when it has nothing to do, and when it
stops.  Promises: an idle worker that listens is woken by whoever commits work for it; nothing
relies on that, and behind a transaction pooler nobody listens.
"""

from __future__ import annotations

import selectors
from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from tenure.base import clock
from tenure.base.model import Kind
from tenure.store.database import Database


def arrive(
    database: Database, *, id: UUID, host: str, pid: int, kind: Kind, automations: Mapping[str, str]
) -> None:
    """Put this process on record, with the automations it knows and the version of each."""
    database.run(
        "workers/arrive",
        {
            "id": id,
            "host": host,
            "pid": pid,
            "kind": kind,
            "automations": list(automations),
            "versions": list(automations.values()),
        },
    )


def touch(database: Database, id: UUID, *, stopped: bool = False) -> None:
    """Say that this process lives, or has stopped; nothing where its record is gone."""
    database.run("workers/touch", {"id": id, "stopped": stopped})


class Bell(Protocol):
    """Something of the caller's own that may end a wait."""

    def fileno(self) -> int:
        """What becomes readable then."""


def listening(url: str, *, name: str, pooled: bool | None) -> Database:
    """A connection that hears when a worker is called; it hears nothing behind a pooler."""
    return Database(url, name=name, pooled=pooled, begin="workers/listen")


def rest(database: Database, id: UUID, *, idle: bool) -> None:
    """Say that this process has nothing to do and may be woken, or that it has again."""
    database.run("workers/rest", {"id": id, "idle": idle})


def wait(database: Database, id: UUID, bell: Bell, seconds: float) -> None:
    """Return when this process is called, when the bell rings, or after so many seconds."""
    deadline = clock.now() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(database.connect(), selectors.EVENT_READ)
        selector.register(bell, selectors.EVENT_READ)
        while not any(called.payload == str(id) for called in database.notifications(0.0)):
            left = deadline - clock.now()
            if left <= 0 or any(key.fileobj is bell for key, _ in selector.select(left)):
                return
