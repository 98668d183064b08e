"""What jobs remember: finished steps and the latest send of each call.

Called by the worker before a job runs again.  Promises: what is read here was committed before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from tenure.base.model import Remembered, Send, Step
from tenure.store.database import Database

_SEND_FIELDS = Send.__struct_fields__


def load(database: Database, jobs: Sequence[UUID]) -> dict[UUID, Remembered]:
    """The memory of each job; an empty one for a job that has recorded nothing."""
    memory: dict[UUID, Remembered] = defaultdict(Remembered)
    for row in database.run("memory/steps", {"ids": list(jobs)}):
        step = Step(row["name"], row["kind"], row["arguments"], row["result"])
        memory[row["job_id"]].steps[step.name] = step
    for row in database.run("memory/calls", {"ids": list(jobs)}):
        send = Send(**{field: row[field] for field in _SEND_FIELDS})
        memory[row["job_id"]].sends[send.step] = send
    return {job: memory[job] for job in jobs}
