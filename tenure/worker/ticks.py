"""The ticks of schedules, made by whichever worker comes first.

Called by the thread of duties.  Promises: no process leads; what one schedule's row holds keeps no
other from ticking; a tick that another process makes is left to it.
"""

from __future__ import annotations

import logging
from uuid import UUID

from tenure.base import ticks
from tenure.base.errors import DatabaseUnavailable, TenureError
from tenure.store import schedules
from tenure.store.database import Database, Unknown
from tenure.store.schedules import DueSchedule

log = logging.getLogger("tenure.worker")


def make(database: Database, worker: UUID, most: float) -> float:
    """Make every tick that is due; seconds until the next one, at most ``most``."""
    wait = most
    for found in schedules.due(database):
        if found.wait > 0:
            return min(wait, found.wait)
        try:
            if _make(database, found, worker):
                wait = 0.0  # more may be due than one look shows
        except (DatabaseUnavailable, Unknown):
            raise
        except Exception as error:  # its own row only: the others tick
            expected = isinstance(error, TenureError)
            log.warning(
                "the schedule %s could not tick: %s", found.name, error, exc_info=not expected
            )
    return wait


def _make(database: Database, found: DueSchedule, worker: UUID) -> bool:
    plan = ticks.plan(found.intent, found.next_at, found.now)
    made = schedules.tick(database, found, plan, worker)
    if made is not None and plan.missed:
        log.warning(
            "the schedule %s missed %s ticks since %s: %s of them are made (misfire %s)",
            found.name,
            plan.missed if plan.exact else f"more than {plan.missed}",
            ticks.key(found.next_at),
            plan.caught_up,
            found.intent.misfire,
        )
    return made is not None
