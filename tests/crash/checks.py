"""What must hold after a crash, counted: lost, done twice, unexplained, miscounted.

Called by runs.  What happened is asked of the provider's ledger, what is believed of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Self
from uuid import UUID

import msgspec

from tenure.base.keys import child_key
from tenure.testing.emulators import Emulator
from tests.crash.points import Point
from tests.kit.rows import Row, Rows

_STEPS = {"charge": ("charge", "refund"), "deal": ("deal", "note")}
# After these a step may be sent again: nothing of the last send can have happened.
_HARMLESS = ("not_sent", "throttled", "overloaded")


class Findings(msgspec.Struct):
    """What a run found, with a line for each thing that is wrong."""

    lost: int = 0
    duplicates: int = 0
    unexplained: int = 0
    invariant_breaks: int = 0
    held: int = 0
    kills: int = 0
    lines: list[str] = msgspec.field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.lost or self.duplicates or self.unexplained or self.invariant_breaks)

    def __iadd__(self, other: Self) -> Self:
        """Add what another check found."""
        for field in self.__struct_fields__:
            setattr(self, field, getattr(self, field) + getattr(other, field))
        return self

    def note(self, field: str, line: str) -> None:
        """Count one thing that is wrong, and say what."""
        setattr(self, field, getattr(self, field) + 1)
        self.lines.append(f"{field}: {line}")


def ended(rows: Rows, emulator: Emulator, jobs: Sequence[UUID], point: Point) -> Findings:
    """All has ended: every job, every effect once, every counter right."""
    found = Findings()
    keys = Counter(effect.key for effect in emulator.effects)
    for id in jobs:
        job = rows.job(id)
        if job["state"] != "succeeded":
            found.note("lost", f"job {id} is {job['state']}: {job['error']}")
        for step in _STEPS[point.automation]:
            effects = keys.pop(child_key(id, step), 0)
            if effects > 1:
                found.note("duplicates", f"step {step} of job {id} had {effects} effects")
            if effects == 0 and job["state"] == "succeeded":
                found.note("lost", f"step {step} of job {id} had no effect")
        _repeats(rows, id, point, found)
    for key, effects in keys.items():
        found.note("duplicates", f"{effects} effects under a key of no step ({key})")
    for row in rows.broken_counts():
        found.note("invariant_breaks", f"counters do not add up: {dict(row)}")
    found += explained(rows, jobs)
    return found


def _repeats(rows: Rows, id: UUID, point: Point, found: Findings) -> None:
    """Where no key is honoured, nothing that may have happened was sent again."""
    for call in rows.calls(id):
        later = [other for other in rows.calls(id, call["step"]) if other["send"] > call["send"]]
        if later and point.kind == "keyless" and call["state"] not in _HARMLESS:
            found.note("duplicates", f"{call['step']} of {id} was repeated from {call['state']}")
        same = {(bytes(other["body"]), other["url"], other["key"]) for other in (call, *later)}
        if len(same) != 1:
            found.note(
                "invariant_breaks", f"{call['step']} of {id} was repeated as another request"
            )


def explained(rows: Rows, jobs: Sequence[UUID]) -> Findings:
    """Every job says how it stands, and, where it waits, what for."""
    found = Findings()
    for id in jobs:
        state = rows.job(id)["state"]
        said = rows.read(
            "select part, sentence from tenure.explain where job_id = %(id)s order by position",
            id=id,
        )
        parts = [row["part"] for row in said]
        if parts[:1] != ["state"] or not all(row["sentence"] for row in said):
            found.note("unexplained", f"job {id} ({state}) says {[dict(row) for row in said]}")
        if state in ("held", "waiting") and "wait" not in parts:
            found.note("unexplained", f"job {id} is {state} and does not say why")
    return found


def held(rows: Rows) -> Findings:
    """Every held job asks about one send, and nothing is held that can be known."""
    found = Findings()
    for question in rows.questions():
        found.held += 1
        if question["send_id"] is None:
            found.note(
                "unexplained",
                f"job {question['job_id']} asks about no call: {question['question']}",
            )
    jobs = rows.read("select id from tenure.jobs where status = 'held'")
    if len(jobs) != len(rows.questions()):
        found.note(
            "unexplained", f"{len(jobs)} jobs are held over {len(rows.questions())} questions"
        )
    return found


def happened(emulator: Emulator, question: Row) -> bool:
    """What a person finds at the provider: whether the call in question had its effect."""
    key = child_key(question["job_id"], question["step"])
    return any(effect.key == key for effect in emulator.effects)
