"""What came of it all, and which promise was kept: numbers from rows, from ledgers, from answers.

Made when the demo is over.  Promises: every number was counted, none is taken for granted; what is
not as promised makes the demo fail and says which promise it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import msgspec

from tenure.cli.demo.crash import Crash
from tenure.cli.demo.events import Delivery, Replay
from tenure.cli.demo.ledgers import Ledgers
from tenure.cli.demo.person import Answered
from tenure.cli.demo.sender import Told
from tenure.store.explain import Sentence
from tenure.store.holds import Question
from tenure.store.stages import Moved
from tenure.store.tour import Calls, Made

ENDED = frozenset({"succeeded", "failed", "cancelled"})


class Promise(msgspec.Struct, frozen=True):
    """One promise, whether it was kept, and what shows it."""

    promise: str
    kept: bool
    shown_by: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """All that was counted."""

    postgres: int
    workers: int
    seconds: float
    replay: Replay
    told: Sequence[Told]
    jobs: Sequence[Made]
    calls: Sequence[Calls]
    ledgers: Ledgers
    crash: Crash | None
    explained: Sequence[Sentence]
    questions: Sequence[Question]
    answered: Sequence[Answered]
    moves: Sequence[Moved]

    # -- at the door -------------------------------------------------------------------------------

    @property
    def accepted(self) -> dict[str, UUID]:
        """The events that were acknowledged: the sender's id and ours."""
        return {it.delivery.event: it.event for it in self.told if it.event is not None}

    @property
    def repeats(self) -> int:
        """Deliveries that were known for what they were: an event that is there already."""
        return sum(it.outcome == "duplicate" for it in self.told)

    @property
    def refused(self) -> Counter[str]:
        """Deliveries that did not enter, by reason."""
        return Counter(it.outcome for it in self.told if it.event is None)

    @property
    def astray(self) -> list[Told]:
        """Genuine deliveries that did not enter, others that did, events that were taken twice."""
        firsts = Counter(it.delivery.event for it in self.told if it.outcome == "accepted")
        return [
            it
            for it in self.told
            if (it.event is not None) != it.delivery.genuine
            or it.outcome == "conflict"
            or firsts[it.delivery.event] > 1
            or (it.event is not None and it.event != self.accepted[it.delivery.event])
        ]

    # -- in the rows -------------------------------------------------------------------------------

    @property
    def states(self) -> Counter[str]:
        """Jobs by state."""
        return Counter(job.state for job in self.jobs)

    @property
    def lost(self) -> dict[str, str]:
        """Acknowledged events of which not everything became what it must, and why."""
        jobs: dict[UUID, list[Made]] = {}
        for job in self.jobs:
            jobs.setdefault(job.event_id, []).append(job)
        genuine = self.replay.genuine
        found = {}
        for name, event in self.accepted.items():
            reason = self._missing(genuine.get(name), jobs.get(event, []))
            if reason is not None:
                found[name] = reason
        return found

    def _missing(self, delivery: Delivery | None, jobs: Sequence[Made]) -> str | None:
        if delivery is None:
            return None  # it should not have entered; that is another promise
        if not jobs:
            return "it made no job"
        for job in jobs:
            reasoned = job.state == "held" or (job.state == "waiting" and job.why is not None)
            if job.state not in ENDED and not reasoned:
                return f"its job {job.id} is {job.state}"
        if all(job.state == "succeeded" for job in jobs):
            absent = [name for name in delivery.effects if not self.ledgers.effects[name]]
            if absent:
                return f"its job succeeded without {absent[0]}"
        return None

    def sent(self, *states: str) -> int:
        """How many sends ended in one of these states."""
        return sum(it.calls for it in self.calls if it.state in states)

    @property
    def left(self) -> int:
        """How many sends left for a provider."""
        return sum(it.calls for it in self.calls if it.state not in ("suppressed", "not_sent"))

    @property
    def again(self) -> int:
        """How many of them were repeats under a key that had left before."""
        return sum(it.again for it in self.calls)

    # -- at the providers --------------------------------------------------------------------------

    @property
    def doubled(self) -> int:
        """Effects beyond the first of each."""
        return sum(count - 1 for count in self.ledgers.duplicates.values())

    @property
    def uninvited(self) -> list[str]:
        """Effects that no genuine event asked for: of forged ones, or of the one in dry-run."""
        wanted = {name for it in self.replay.genuine.values() for name in it.effects}
        return sorted(set(self.ledgers.effects) - wanted)

    # -- the promises ------------------------------------------------------------------------------

    @property
    def promises(self) -> list[Promise]:
        """Each promise that was put to the test."""
        return [
            self._nothing_lost(),
            self._one_effect(),
            self._limits(),
            self._doors(),
            self._crashed(),
            self._dry(),
        ]

    def _nothing_lost(self) -> Promise:
        lost = self.lost
        first = next(iter(lost.items()), None)
        said = f"{len(self.accepted)} events acknowledged, {len(lost)} lost"
        if first is not None:
            said += f" ({first[0]}: {first[1]})"
        return Promise("Nothing accepted is lost", not lost and bool(self.accepted), said)

    def _one_effect(self) -> Promise:
        total, doubled = self.ledgers.effects.total(), self.doubled
        said = f"{total} effects at the providers, {doubled} of them duplicates"
        return Promise("One effect, one key", doubled == 0 and total > 0, said)

    def _limits(self) -> Promise:
        over = [seen for seen in self.ledgers.seen if seen.peak > seen.limit]
        near = max(self.ledgers.seen, key=lambda seen: seen.share)
        if over:
            said = ", ".join(f"{it.name} saw {it.peak} where it allows {it.words}" for it in over)
        else:
            said = f"the nearest was {near.name}: {near.peak} of {near.words}"
        return Promise("No provider sees more than its limit", not over, said)

    def _doors(self) -> Promise:
        astray = self.astray
        said = f"{self.refused.total()} deliveries refused, every genuine one taken in"
        if astray:
            one = astray[0]
            said = (
                f"{len(astray)} went astray; a delivery signed {one.delivery.signed} for "
                f"/hooks/{one.delivery.source} was answered {one.outcome}"
            )
        return Promise("Nothing enters unasked", not astray, said)

    def _crashed(self) -> Promise:
        name = "A worker that dies takes nothing with it"
        if self.crash is None:
            return Promise(name, False, "no worker could be killed at its work")  # noqa: FBT003  named by the struct
        state = next((job.state for job in self.jobs if job.id == self.crash.job), "nowhere")
        effects = self.ledgers.effects[f"stripe/charges {self.replay.victim.event}"]
        said = f"process {self.crash.pid} was killed; its job {state}, with {effects} effect"
        said += "" if effects == 1 else "s"
        return Promise(name, state == "succeeded" and effects == 1, said)

    def _dry(self) -> Promise:
        suppressed, uninvited = self.sent("suppressed"), self.uninvited
        said = f"{suppressed} calls suppressed, {len(uninvited)} effects that nobody asked for"
        return Promise("A dry run changes nothing", suppressed > 0 and not uninvited, said)

    @property
    def broken(self) -> list[Promise]:
        """The promises that were not kept."""
        return [promise for promise in self.promises if not promise.kept]
