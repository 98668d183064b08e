"""A scene on the store: an automation, a worker, and jobs brought into whatever state is needed.

Everything is done through the store as a worker would do it, so that the rows are those of real
runs.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal
from uuid import UUID, uuid4

from tenure.base.keys import child_key
from tenure.base.model import (
    Asked,
    CallState,
    Declared,
    Finish,
    HandBack,
    Job,
    Outcome,
    Policy,
    Step,
)
from tenure.store import automations, claims, ends, explain, gate, jobs, records, workers
from tenure.store.database import Database, Row
from tenure.store.jobs import Wanted
from tests.conftest import Clock

Stage = Literal["dry_run", "shadow", "live"]


class Scene:
    """One automation, ``lead``, and one worker that runs its live jobs."""

    def __init__(self, database: Database, *, lane: str = "free", stage: Stage = "live") -> None:
        """Declare the automation and let the worker arrive."""
        self.database = database
        self.live = stage == "live"
        self.worker = uuid4()
        declared = Declared(name="lead", version="v1", lane=lane, replaces="n8n:lead")
        automations.declare(database, declared, by="test")
        database.execute("update tenure.automations set stage = %(stage)s", {"stage": stage})
        self.arrive()

    def arrive(self, worker: UUID | None = None, *, pid: int = 4711) -> None:
        """A worker process comes to work."""
        workers.arrive(
            self.database,
            id=worker or self.worker,
            host="host-1",
            pid=pid,
            kind="live" if self.live else "not_live",
            automations={"lead": "v1"},
        )

    def enqueue(self, *, key: str | None = None, by: str | None = "ann") -> UUID:
        """A job that is due now."""
        wanted = Wanted("lead", "{}", key=key, by=by)
        return jobs.enqueue(self.database, wanted).job_id

    def claim(self, worker: UUID | None = None, *, quarantine: bool = False) -> Job:
        """The worker claims what there is: one job."""
        strands = claims.dispatch(
            self.database, automations=["lead"], live=self.live, quarantine=quarantine, after=0
        )
        claimed = claims.claim(
            self.database,
            worker=worker or self.worker,
            lease=60,
            quotas={strand.id: 1 for strand in strands},
            quarantine=quarantine,
        )
        [job] = claimed.jobs
        return job

    def running(self) -> Job:
        """A job, enqueued and claimed."""
        self.enqueue()
        return self.claim()

    def turn(self, *, quarantine: bool = False) -> None:
        """A claim that finds nothing to run: it puts aside, or holds, what it finds."""
        strands = claims.dispatch(
            self.database, automations=["lead"], live=self.live, quarantine=quarantine, after=0
        )
        claimed = claims.claim(
            self.database,
            worker=self.worker,
            lease=60,
            quotas={strand.id: 1 for strand in strands},
            quarantine=quarantine,
        )
        assert claimed.jobs == ()
        assert claimed.rows == 1

    def asked(
        self,
        job: Job,
        step: str,
        *,
        policy: Policy = "hold",
        send: int = 1,
        epoch: int = 0,
    ) -> Asked:
        """A call of a job to ``crm``, as it is put to the gate."""
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
            url="https://crm.example.com/deals",
            headers="[]",
            body=b"{}",
            digest=hashlib.sha256(b"{}").digest(),
            key=child_key(job.id, step, epoch),
            epoch=epoch,
            wire_key=None,
            policy=policy,
            send_window=2.0,
            timeout=30.0,
        )

    def admit(
        self, call: Asked, *, takes: tuple[tuple[int, int], ...] = (), worker: UUID | None = None
    ) -> None:
        """The gate admits a call."""
        [answer] = gate.ask(
            self.database,
            worker=worker or self.worker,
            lease=60,
            takes=takes,
            reserve=0.0,
            calls=[call],
        )
        assert answer.verdict == "admitted"

    def outcome(
        self,
        call: Asked,
        state: CallState,
        status: int | None = None,
        why: str | None = None,
        *,
        stored: bool = False,
    ) -> Outcome:
        """What came of a call, as the worker saw it."""
        return Outcome(
            job=call.job,
            fence=call.fence,
            send_id=call.send_id,
            step=call.step,
            send=call.send,
            state=state,
            status=status,
            why=why,
            stored=stored,
        )

    def called(
        self,
        job: Job,
        step: str,
        state: CallState,
        status: int | None = None,
        *,
        policy: Policy = "hold",
        why: str | None = None,
        send: int = 1,
        epoch: int = 0,
        stored: bool = False,
    ) -> Asked:
        """A call that was admitted, sent, and ended as said."""
        call = self.asked(job, step, policy=policy, send=send, epoch=epoch)
        self.admit(call)
        if state != "sending":
            outcome = self.outcome(call, state, status, why, stored=stored)
            assert records.outcomes(self.database, self.worker, [outcome]) == {call.send_id}
        return call

    def remember(self, job: Job, *steps: Step) -> None:
        """Steps are recorded under the job's claim."""
        kept = [records.Kept(job.id, job.fence, step) for step in steps]
        assert len(records.steps(self.database, self.worker, kept)) == len(steps)

    def finish(
        self,
        job: Job,
        status: Literal["succeeded", "failed", "cancelled"],
        *,
        error_class: str | None = None,
        error: str | None = None,
    ) -> None:
        """The claim ends its job."""
        end = Finish(job.id, job.fence, status, None, error_class, error)
        assert ends.finish(self.database, self.worker, [end]).done == {job.id}

    def hand_back(self, end: HandBack) -> None:
        """The claim ends, and its job goes on."""
        assert ends.hand_back(self.database, self.worker, [end]).done == {end.job}

    def in_doubt(self, *, why: str = "no answer came") -> tuple[Job, Asked]:
        """A job held over a call of which nobody knows what came."""
        job = self.running()
        call = self.called(job, "create-deal", "unknown", why=why)
        question = "Did POST https://crm.example.com/deals happen? Nobody knows."
        self.hand_back(
            HandBack(
                job.id,
                job.fence,
                "hold",
                question=question,
                kind="doubt",
                step=call.step,
                send_id=call.send_id,
            )
        )
        return job, call

    def held_for_crashes(self, clock: Clock) -> Job:
        """A job whose process ended once among others and three times alone."""
        job = self.running()
        for place in ("aside", "alone", "alone", "alone", "held"):
            clock.advance(90)
            self.worker = uuid4()
            self.arrive()
            if place == "alone":
                job = self.claim(quarantine=True)
            else:
                self.turn(quarantine=place == "held")
        return job

    def row(self, job: UUID) -> Row:
        """The job as the view of all jobs has it."""
        [row] = self.database.execute(
            "select * from tenure.all_jobs where id = %(id)s", {"id": job}
        )
        return row

    def audit(self, target: str) -> list[Row]:
        """Who did what to it, in order."""
        rows = self.database.execute(
            "select * from tenure.audit where target = %(target)s order by id", {"target": target}
        )
        return list(rows)


def question_of(database: Database, job: UUID) -> int:
    """The number of a job's open question."""
    [row] = database.execute(
        "select id from tenure.holds where job_id = %(job)s and answer is null", {"job": job}
    )
    number: int = row["id"]
    return number


_INSTANT = r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC"


def said(database: Database, job: UUID, *parts: str) -> str:
    """The sentences of some parts, a line each; every instant reads T, every short length N."""
    lines = [line.sentence for line in explain.sentences(database, job) if line.part in parts]
    text = re.sub(_INSTANT, "T", "\n".join(lines))
    return re.sub(r"\d+ min( \d+ s)?|\d+ s\b", "N", text)
