"""The periodic duties and the ticks of schedules, by a thread and a connection of their own.

One for each process that is no quarantine.  Promises: a duty that takes long keeps no lease from
being renewed; an outage is waited out; whichever process comes first does a duty.
"""

from __future__ import annotations

import logging
import random
import threading
from uuid import UUID

from tenure.base.defaults import Settings
from tenure.base.errors import DatabaseUnavailable
from tenure.store import chores
from tenure.store.database import Busy, Database, Unknown
from tenure.worker import ticks

log = logging.getLogger("tenure.worker")

# Twice as often as the most frequent duty falls due.
_EVERY = 2.5


class Duties:
    """Looks for duties that are due until it is stopped."""

    def __init__(self, worker: UUID, database: Database, settings: Settings) -> None:
        """``worker`` is who does them, in rows."""
        self._worker = worker
        self._settings = settings
        self._database = database
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="tenure-duties", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Begin no further duty; returns when the one under way is done."""
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopped.is_set():
            wait = _EVERY * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, no secret
            try:
                wait = ticks.make(self._database, self._worker, wait)
                while self._one() and not self._stopped.is_set():
                    wait = ticks.make(self._database, self._worker, wait)
            except Exception as error:  # a process without duties would be noticed by nobody
                expected = isinstance(error, Busy | Unknown | DatabaseUnavailable)
                log.warning("a duty could not be done: %s", error, exc_info=not expected)
                self._database.close()
            self._stopped.wait(wait)
        self._database.close()

    def _one(self) -> str | None:
        return chores.do_one(self._database, self._worker, self._settings)
