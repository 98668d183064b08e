"""A worker's acts by hand: claims and questions at the gate, over connections of the test's own.

For stories in which the order of two transactions is the point: one is kept open, the other is
watched until it waits for a lock or has passed over the row.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar
from uuid import UUID, uuid4

from tenure.base.keys import child_key
from tenure.base.model import Answered, Asked, Job
from tenure.store import claims, gate
from tenure.store.database import Busy, Database
from tests.kit.facts import until

T = TypeVar("T")


class Hand:
    """One worker of the test's own: a name in rows, and a connection."""

    def __init__(self, url: str, lease: float = 10.0) -> None:
        """Nothing is claimed yet; ``lease`` in seconds."""
        self.worker = uuid4()
        self.lease = lease
        self.name = f"hand {self.worker}"
        self.database = Database(url, name=self.name)

    def claim(self, strand: int, *, quarantine: bool = False, most: int = 10) -> tuple[Job, ...]:
        """Claim from one strand; the jobs that are this worker's now."""
        return claims.claim(
            self.database,
            worker=self.worker,
            lease=self.lease,
            quotas={strand: most},
            quarantine=quarantine,
        ).jobs

    def ask(self, job: Job, step: str = "deal", send: int = 1) -> Answered:
        """Ask the gate for one unsafe call, as often as a lock is not to be had."""
        asked = asking(job, step, send)
        while True:
            try:
                return gate.ask(
                    self.database,
                    worker=self.worker,
                    lease=self.lease,
                    takes=(),
                    reserve=0.0,
                    calls=[asked],
                )[0]
            except Busy:
                continue  # waiting longer than a second is what this is about

    def waits(self, observer: Database) -> bool:
        """Whether its connection waits for a lock, as another connection sees it."""
        found = observer.execute(
            "select pid from pg_stat_activity"
            " where application_name = %(name)s and wait_event_type = 'Lock'",
            {"name": self.name},
        )
        return bool(found)

    def close(self) -> None:
        """End its connection."""
        self.database.close()


def asking(job: Job, step: str, send: int = 1) -> Asked:
    """An unsafe call as a worker would put it to the gate."""
    key = child_key(job.id, step)
    return Asked(
        job=job.id,
        fence=job.fence,
        step=step,
        send=send,
        send_id=uuid4(),
        safe=False,
        provider="crm",
        account="",
        operation="POST /deals",
        method="POST",
        url="http://127.0.0.1:9/deals",
        headers="[]",
        body=b"{}",
        digest=hashlib.sha256(b"{}").digest(),
        key=key,
        epoch=0,
        wire_key=key,
        policy="hold",
        send_window=2.0,
        timeout=5.0,
    )


def beside(act: Callable[[], T]) -> Future[T]:
    """Do something in a thread of its own; what comes of it."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(act())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


def taken_from(hand: Hand, observer: Database, job: UUID) -> Job:
    """Claim a lapsed job as another worker does: it goes aside first, then runs alone."""
    strands = observer.execute(
        "select h.id as home, q.id as apart from tenure.jobs as j"
        "  join tenure.strands as h on h.id = j.home"
        "  join tenure.strands as q on q.automation = h.automation and q.lane = h.lane"
        "   and q.live = h.live and q.quarantine"
        " where j.id = %(id)s",
        {"id": job},
    )[0]
    assert hand.claim(strands["home"]) == ()
    return until(lambda: hand.claim(strands["apart"], quarantine=True), "it is claimed")[0]
