"""``tenure explain``: one job in sentences.

Promises: the state comes first and what to do beside it; the words are the database's own, so that
every face says the same.
"""

from __future__ import annotations

from itertools import groupby
from uuid import UUID

import click
import msgspec

from tenure.base.errors import NothingMatched
from tenure.cli import database, options, output
from tenure.store import explain as explaining
from tenure.store.explain import Attempt, Sentence

_HEADINGS = {
    "job": "The job",
    "attempt": "Its claims",
    "trace": "Where its last error came from",
    "step": "Its steps",
    "call": "Its calls",
    "journal": "Its journal",
    "act": "What people did",
    "retry": "A retry",
    "replay": "A replay",
}


class _Explained(msgspec.Struct, frozen=True):
    job_id: UUID
    sentences: list[Sentence]
    attempts: list[Attempt]


@click.command()
@click.argument("job", type=options.JOB)
@options.as_json
def explain(*, job: UUID, as_json: bool) -> None:
    """Say what a job did, what it waits for, and what a retry would send again."""
    with database.opened() as opened:
        said = explaining.sentences(opened, job)
        attempts = explaining.attempts(opened, job) if as_json else []
    if not said:
        raise NothingMatched(
            f"unknown job ({job}): there is none of that id, or it is no longer kept",
            hint="Look for it with: tenure jobs",
        )
    if as_json:
        output.json(_Explained(job, said, attempts))
        return
    for part, sentences in groupby(said, key=lambda sentence: sentence.part):
        heading = _HEADINGS.get(part)
        if heading is not None:
            click.echo()
            output.heading(heading)
        for sentence in sentences:
            if part == "state":
                output.heading(sentence.sentence)
            else:
                output.sentence(sentence.sentence, indent=2)
