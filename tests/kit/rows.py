"""What the tables say: jobs with their state, calls with their outcomes, attempts, questions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, LiteralString
from uuid import UUID

from tenure.app import Tenure
from tenure.base import json
from tenure.store import automations, jobs
from tenure.store.database import Database
from tenure.store.jobs import Wanted
from tests.kit.facts import until

# A row's values have the types of their columns.
Row = Mapping[str, Any]

ENDED = ("succeeded", "failed", "cancelled")


class Rows:
    """The rows of one database, and the few acts that a story begins with."""

    def __init__(self, database: Database) -> None:
        """Read over this connection, which nobody else uses meanwhile."""
        self.database = database

    def declare(self, app: Tenure, stage: str = "live") -> None:
        """Declare what the application declares, at a stage."""
        for automation in app.automations.values():
            automations.declare(self.database, automation.declared, by="test")
        self.read("update tenure.automations set stage = %(stage)s returning name", stage=stage)

    def enqueue(self, automation: str, given: object = None, key: str | None = None) -> UUID:
        """Make a job; its id."""
        wanted = Wanted(automation, json.encode(given).decode(), key, None, None, "test")
        return jobs.enqueue(self.database, wanted).job_id

    def read(self, text: LiteralString, **parameters: object) -> list[Row]:
        """The rows of a query."""
        return list(self.database.execute(text, parameters))

    def one(self, text: LiteralString, **parameters: object) -> Row:
        """The one row of a query."""
        rows = self.read(text, **parameters)
        assert len(rows) == 1, rows
        return rows[0]

    def job(self, id: UUID) -> Row:
        """A job with its state."""
        return self.one("select * from tenure.all_jobs where id = %(id)s", id=id)

    def states(self) -> dict[str, int]:
        """How many jobs stand in which state."""
        rows = self.read("select state, count(*) as n from tenure.all_jobs group by state")
        return {row["state"]: row["n"] for row in rows}

    def calls(self, id: UUID, step: str | None = None) -> list[Row]:
        """The sends of a job, or of one of its steps, with what came of each."""
        return self.read(
            "select * from tenure.all_calls where job_id = %(id)s"
            " and (%(step)s::text is null or step = %(step)s) order by step, send",
            id=id,
            step=step,
        )

    def attempts(self, id: UUID) -> list[Row]:
        """How a job's claims ended, but for a success at the first try."""
        return self.read(
            "select * from tenure.attempts where job_id = %(id)s order by fence", id=id
        )

    def evidence(self, id: UUID) -> list[Row]:
        """What workers told of sends after their claim was over."""
        return self.read("select * from tenure.evidence where job_id = %(id)s", id=id)

    def steps(self, id: UUID) -> dict[str, Row]:
        """What a job remembers, by name."""
        rows = self.read("select * from tenure.steps where job_id = %(id)s", id=id)
        return {row["name"]: row for row in rows}

    def journal(self, id: UUID) -> list[Row]:
        """A job's story."""
        return self.read("select * from tenure.journal where job_id = %(id)s order by id", id=id)

    def questions(self, id: UUID | None = None) -> list[Row]:
        """Open questions, of one job or of all."""
        return self.read(
            "select * from tenure.holds where answer is null"
            " and (%(id)s::uuid is null or job_id = %(id)s) order by id",
            id=id,
        )

    def answer(self, question: int, *, happened: bool) -> None:
        """Tell what became of a call in doubt."""
        self.read(
            "select tenure.answer_hold(%(id)s, %(happened)s, actor => 'test')",
            id=question,
            happened=happened,
        )

    def retry(self, id: UUID) -> None:
        """Let a failed or held job run again."""
        self.read("select tenure.retry(%(id)s, 'mended', 'test')", id=id)

    def until(self, id: UUID, *states: str, within: float = 30.0) -> Row:
        """Wait until a job is in one of the states; the job."""
        return until(lambda: self._in(id, states), f"job {id} is {' or '.join(states)}", within)

    def _in(self, id: UUID, states: tuple[str, ...]) -> Row | None:
        job = self.job(id)
        return job if job["state"] in states else None

    def until_ended(self, count: int, within: float = 60.0) -> dict[str, int]:
        """Wait until so many jobs have ended; how many in which state."""

        def ended() -> dict[str, int] | None:
            states = self.states()
            return states if sum(states.get(state, 0) for state in ENDED) >= count else None

        return until(ended, f"{count} jobs have ended", within)

    def broken_counts(self) -> list[Row]:
        """Jobs whose counters do not add up to their fence, or whose ends were not all told."""
        return self.read(
            """
            select x.* from (
                select j.id, j.fence, j.failure_count + j.crash_count + j.deferral_count as ended,
                       (j.worker_id is not null)::integer as open, j.status
                  from tenure.jobs as j
                 union all
                select f.id, f.fence, f.failure_count + f.crash_count + f.deferral_count,
                       (f.status = 'succeeded')::integer, f.status
                  from tenure.finished_jobs as f) as x
             where x.fence <> x.ended + x.open
                or x.ended <> (select count(*) from tenure.attempts as a where a.job_id = x.id)
            """
        )


def providers(**urls: str) -> dict[str, str]:
    """Where the providers of the kit's automations listen, as a worker is told."""
    return {f"KIT_{name.upper()}": url for name, url in urls.items()}


def here(environ: Mapping[str, str]) -> None:
    """Set variables in this process too, for what is imported in it."""
    os.environ.update(environ)
