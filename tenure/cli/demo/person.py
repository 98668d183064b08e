"""The person whom a held job asks: looks at the provider whether the call happened, and answers.

Played by the demo while it waits for the end.  A worker that is killed may have had other calls
under way than the one it was killed for; where a provider honours no keys, nothing but a look can
tell what became of them.  Promises: an answer says what the provider's own ledger shows, no more.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tenure.base import json
from tenure.base.keys import child_key
from tenure.cli import options
from tenure.store import holds
from tenure.store.database import Database
from tenure.store.holds import Happened, Question
from tenure.testing.emulators import DetachedEmulator, Effect

_REASON = "looked it up at the provider"


class Answered(msgspec.Struct, frozen=True):
    """A question that was answered, and how."""

    automation: str
    question: str
    happened: bool


class Person:
    """Answers questions about calls; those about anything else stay open."""

    def __init__(self, database: Database, emulators: Mapping[str, DetachedEmulator]) -> None:
        """Look at these providers."""
        self._database = database
        self._emulators = emulators
        self.answered: list[Answered] = []

    def look(self) -> int:
        """Answer what can be answered by now; how many such questions were open."""
        asked = [it for it in holds.listed(self._database) if it.in_doubt and it.step]
        for question in asked:
            if question.not_before is None:
                self._answer(question)
        return len(asked)

    def _answer(self, question: Question) -> None:
        effect = self._effect(question)
        happened = None
        if effect is not None:
            happened = Happened(201, json.encode({"id": effect.effect_id}))
        holds.answer(
            self._database,
            question.id,
            happened,
            actor=options.named(None),
            reason=_REASON,
            origin=options.ORIGIN,
        )
        self.answered.append(Answered(question.automation, question.question, happened is not None))

    def _effect(self, question: Question) -> Effect | None:
        """What came of the call, found by the key that it bears in any case."""
        key = child_key(question.job_id, question.step or "")
        effects = (effect for it in self._emulators.values() for effect in it.effects)
        return next((effect for effect in effects if effect.key == key), None)
