"""The heartbeat: a thread and connection of its own, so a blocked event loop keeps its leases.

Promises: every lease past a third of its length is renewed; what the database answers (a lost
lease, a cancel, a hold) reaches the run at once; a job that blocks the loop is told in its story.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from tenure.base import clock
from tenure.base.errors import DatabaseUnavailable
from tenure.base.model import Job
from tenure.store import claims, leases, records, workers
from tenure.store.database import Busy, Database, Unknown
from tenure.store.leases import Renewal
from tenure.store.records import Entry
from tenure.worker.dispatch import Duty

log = logging.getLogger("tenure.worker")

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class Heartbeat:
    """Beats for one process."""

    def __init__(
        self,
        duty: Duty,
        database: Database,
        every: Callable[[float], float],
        *,
        held: Callable[[], Mapping[UUID, Job]],
        heard: Callable[[Sequence[Renewal]], None],
        blocked: Callable[[], Entry | None],
        aside: Callable[[], None],
    ) -> None:
        """``every``: seconds between beats for a lease; ``heard`` takes how each claim stands;
        ``blocked`` gives the line for the story of the job that blocks the event loop.
        """
        self._duty = duty
        self._database = database
        self._every = every
        self._pause = min(every(lease) for lease in (duty.lease, *duty.leases.values()))
        self._beaten: dict[UUID, float] = {}
        self._held = held
        self._heard = heard
        self._blocked = blocked
        self._aside = aside
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="tenure-heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Beat a last time, to say that this process has stopped."""
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopped.is_set():
            try:
                self._beat()
                pause = _FIRST_PAUSE
            except Exception as error:  # noqa: BLE001 - whatever it is, leases must be renewed
                self._complain(error)
                self._database.close()
                self._stopped.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            self._stopped.wait(self._pause)
        self._farewell()

    def _complain(self, error: Exception) -> None:
        expected = isinstance(error, Busy | Unknown | DatabaseUnavailable)
        log.warning("the heartbeat waits for the database: %s", error, exc_info=not expected)

    def _beat(self) -> None:
        blocked = self._blocked()
        due = self._due()
        if due:
            self._heard(
                leases.renew(
                    self._database,
                    worker=self._duty.worker,
                    lease=self._duty.lease,
                    claims={job.id: job.fence for job in due},
                    leases={job.id: job.lease for job in due},
                )
            )
            now = clock.now()
            self._beaten |= {job.id: now for job in due}
        workers.touch(self._database, self._duty.worker)
        if blocked is not None:
            records.journal(self._database, self._duty.worker, [blocked])
        if self._duty.quarantine:
            return
        if claims.dispatch(
            self._database,
            automations=self._duty.automations,
            live=self._duty.live,
            quarantine=True,
            after=0,
            limit=1,
        ):
            self._aside()

    def _due(self) -> list[Job]:
        """The claims whose turn it is: each is asked about as often as its own lease needs."""
        held, late = self._held(), clock.now() + self._pause / 2
        self._beaten = {id: at for id, at in self._beaten.items() if id in held}
        return [
            job
            for job in held.values()
            if late - self._beaten.get(job.id, float("-inf")) >= self._every(job.lease)
        ]

    def _farewell(self) -> None:
        try:
            workers.touch(self._database, self._duty.worker, stopped=True)
        except (Busy, Unknown, DatabaseUnavailable) as error:
            log.info("the database did not hear that this worker stopped: %s", error)
        self._database.close()
