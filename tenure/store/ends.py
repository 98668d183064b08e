"""Ending claims: settled for good, or handed back with a time.

Called by the worker's settling thread.  Promises: fenced by job, fence and worker; what could not
be stored is found by halving the batch and told alone, so one bad row harms nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

import msgspec
import psycopg

from tenure.base.model import Finish, HandBack
from tenure.store.database import Database, Row

End = TypeVar("End", Finish, HandBack)


class Ended(msgspec.Struct, frozen=True):
    """Jobs whose claims ended; those absent had lost theirs; ``unstorable`` with the reason."""

    done: frozenset[UUID]
    unstorable: dict[UUID, str]


def finish(database: Database, worker: UUID, ends: Sequence[Finish]) -> Ended:
    """Move jobs to the finished ones in one statement."""
    return _halving(ends, lambda batch: _finish(database, worker, batch))


def hand_back(database: Database, worker: UUID, ends: Sequence[HandBack]) -> Ended:
    """End claims whose jobs go on, in one statement."""
    return _halving(ends, lambda batch: _hand_back(database, worker, batch))


def _halving(ends: Sequence[End], run: Callable[[list[End]], Sequence[Row]]) -> Ended:
    batch = sorted(ends, key=lambda end: end.job)
    if not batch:
        return Ended(frozenset(), {})
    try:
        return Ended(frozenset(row["id"] for row in run(batch)), {})
    except psycopg.DataError as error:
        if len(batch) == 1:
            return Ended(frozenset(), {batch[0].job: str(error)})
    middle = len(batch) // 2
    first, second = _halving(batch[:middle], run), _halving(batch[middle:], run)
    return Ended(first.done | second.done, first.unstorable | second.unstorable)


def _finish(database: Database, worker: UUID, batch: list[Finish]) -> Sequence[Row]:
    return database.run(
        "ends/finish",
        {
            "worker": worker,
            "ids": [end.job for end in batch],
            "fences": [end.fence for end in batch],
            "statuses": [end.status for end in batch],
            "results": [end.result for end in batch],
            "error_classes": [end.error_class for end in batch],
            "errors": [end.error for end in batch],
            "tracebacks": [end.traceback for end in batch],
        },
    )


def _hand_back(database: Database, worker: UUID, batch: list[HandBack]) -> Sequence[Row]:
    return database.run(
        "ends/hand_back",
        {
            "worker": worker,
            "ids": [end.job for end in batch],
            "fences": [end.fence for end in batch],
            "ends": [end.ended for end in batch],
            "delays": [end.delay for end in batch],
            "strands": [end.strand for end in batch],
            "waits": [end.waits for end in batch],
            "error_classes": [end.error_class for end in batch],
            "errors": [end.error for end in batch],
            "tracebacks": [end.traceback for end in batch],
            "questions": [end.question for end in batch],
            "kinds": [end.kind for end in batch],
            "steps": [end.step for end in batch],
            "sends": [end.send_id for end in batch],
        },
    )
