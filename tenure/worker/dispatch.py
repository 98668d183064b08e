"""The claim loop: as many jobs as there is room for, lanes in turn.

A thread with a connection of its own.  Promises: it claims only what this process knows and has
room for; a lane with a million jobs takes no more than its turn; an empty strand is asked no more
often than it can have filled; with nothing to do it is woken by whoever makes work, and looks by
itself once a poll, which is all that is needed; an outage is waited out.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from uuid import UUID

import msgspec

from tenure.base import clock
from tenure.base.errors import DatabaseUnavailable
from tenure.base.model import Claimed, Job, Kind, Remembered, Strand
from tenure.store import claims, memory, workers
from tenure.store.database import Busy, Database, Unknown
from tenure.worker.bell import Bell

log = logging.getLogger("tenure.worker")

FREE = "free"
BATCH = 100
# How long a list of due strands is gone by while claims come back full.
_LIST_SECONDS = 0.05
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
# After work, the next often comes soon: it looks again after so long, then ever more rarely, and
# rests when there was none for longer.
_SOON = 0.02
_REST_AFTER = 0.3


class Duty(msgspec.Struct, frozen=True):
    """What a process claims: its name, its kind, what it knows, its lease and poll in seconds.

    ``leases``: of automations that have one of their own.
    """

    worker: UUID
    kind: Kind
    live: bool
    automations: tuple[str, ...]
    lease: float
    poll: float
    leases: dict[str, float] = {}

    @property
    def quarantine(self) -> bool:
        """Whether it runs jobs alone whose worker went without a word."""
        return self.kind == "quarantine"


class Dispatch:
    """Claims for one process."""

    def __init__(
        self,
        duty: Duty,
        database: Database,
        room: Callable[[], int],
        start: Callable[[list[tuple[Job, Remembered]]], None],
        aside: Callable[[], None],
    ) -> None:
        """``room``: free slots now; ``start`` takes jobs; ``aside``: a quarantine has work."""
        self._duty = duty
        self._database = database
        self._room = room
        self._start = start
        self._aside = aside
        self._after = 0
        self._strands: list[Strand] = []
        self._listed = float("-inf")
        self._bell = Bell()
        self._worked = float("-inf")
        self._idle = False
        self._stopped = threading.Event()
        self.idle_since = clock.now()
        self._thread = threading.Thread(target=self._work, name="tenure-claim", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is room again, or something to claim."""
        self._bell.ring()

    def stop(self) -> None:
        """Claim nothing more; returns when the last claim has been handed over."""
        self.halt()
        self._thread.join()

    def halt(self) -> None:
        """Claim nothing more from now on."""
        self._stopped.set()
        self._bell.ring()

    def _work(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            self._bell.clear()
            if self._stopped.is_set():
                break
            try:
                if self._turn():
                    self._rest()
                pause = _FIRST_PAUSE
            except Exception as error:  # a worker that claims no more helps nobody
                expected = isinstance(error, Busy | Unknown | DatabaseUnavailable)
                log.warning("claiming waits for the database: %s", error, exc_info=not expected)
                self._database.close()
                self._idle = False
                self._stopped.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
        self._database.close()

    def _rest(self) -> None:
        """Nothing can be claimed: wait a moment after work, else until somebody calls."""
        since = clock.now() - self._worked
        if since < _REST_AFTER:
            self._bell.wait(min(max(since, _SOON), self._duty.poll))
        elif not self._idle and not self._duty.quarantine:
            # Whoever commits work from here on calls; the next look finds what came before.
            workers.rest(self._database, self._duty.worker, idle=True)
            self._idle = True
        else:
            poll = self._duty.poll * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, no secret
            workers.wait(self._database, self._duty.worker, self._bell, poll)

    def _work_on(self) -> None:
        """There was something to claim, and there may be more soon."""
        self._worked = clock.now()
        if self._idle:
            workers.rest(self._database, self._duty.worker, idle=False)
            self._idle = False

    def _turn(self) -> bool:
        """Claim once; True where there is nothing more to claim now."""
        room = min(self._room(), BATCH)
        if room <= 0:
            self._bell.wait(self._duty.poll)
            return False
        self._list()
        if not self._strands:
            return True
        quotas = shares(self._strands, room)
        claimed = claims.claim(
            self._database,
            worker=self._duty.worker,
            lease=self._duty.lease,
            quotas=quotas,
            quarantine=self._duty.quarantine,
            leases={
                strand.id: self._duty.leases[strand.automation]
                for strand in self._strands
                if strand.automation in self._duty.leases
            },
            limited={strand.id for strand in self._strands if strand.limited},
        )
        if claimed.aside:
            self._aside()
        self._hand_over(claimed)
        if claimed.expired:
            claims.expire(self._database, claimed.expired)
        if claimed.rows:
            self._work_on()
        full = claimed.rows >= sum(quotas.values())
        if not full:
            self._listed = float("-inf")
            self._raise(claimed, quotas)
        return not full and claimed.rows == 0

    def _list(self) -> None:
        now = clock.now()
        if self._strands and now - self._listed < _LIST_SECONDS:
            return
        duty = self._duty
        self._strands = claims.dispatch(
            self._database,
            automations=duty.automations,
            live=duty.live,
            quarantine=duty.quarantine,
            after=self._after,
        )
        self._listed = now
        if self._strands:
            self._after = self._strands[-1].id

    def _hand_over(self, claimed: Claimed) -> None:
        if not claimed.jobs:
            return
        self.idle_since = clock.now()
        again = [job.id for job in claimed.jobs if job.fence > 1]
        known = memory.load(self._database, again) if again else {}
        self._start([(job, known.get(job.id) or Remembered()) for job in claimed.jobs])

    def _raise(self, claimed: Claimed, quotas: dict[int, int]) -> None:
        """Strands that gave less than they were asked for are empty for now."""
        given: dict[int, int] = {}
        for job in claimed.jobs:
            given[job.strand] = given.get(job.strand, 0) + 1
        empty = [s for s in self._strands if given.get(s.id, 0) < quotas.get(s.id, 0)]
        if empty:
            claims.raise_bound(self._database, empty)


def shares(strands: Sequence[Strand], room: int) -> dict[int, int]:
    """How many to claim from each strand: the free lane has half, the others share alike.

    No strand is given more than its budgets can admit; what is left over goes round.
    """
    free = [s for s in strands if s.lane == FREE]
    laned = [s for s in strands if s.lane != FREE]
    half = room if not laned else (room + 1) // 2 if free else 0
    quotas = _dealt(free, half)
    quotas |= _dealt(laned, room - sum(quotas.values()))
    rest = room - sum(quotas.values())
    for strand_id, more in _dealt(free, sum(quotas.get(s.id, 0) for s in free) + rest).items():
        quotas[strand_id] = more
    return {strand_id: quota for strand_id, quota in quotas.items() if quota > 0}


def _dealt(strands: Sequence[Strand], amount: int) -> dict[int, int]:
    """An amount dealt out in turn, none above its strand's room."""
    quotas = dict.fromkeys((s.id for s in strands), 0)
    open_ = list(strands)
    while amount > 0 and open_:
        each = max(amount // len(open_), 1)
        for strand in list(open_):
            most = amount if strand.room is None else strand.room - quotas[strand.id]
            given = min(each, most, amount)
            quotas[strand.id] += given
            amount -= given
            if given < each:
                open_.remove(strand)
            if amount == 0:
                break
    return quotas
