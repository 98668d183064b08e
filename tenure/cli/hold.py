"""``tenure hold``: the questions with which jobs wait for a person, and their answers.

Promises: a question is found by its number or by its job; an answer says one of three things and
nothing by default.
"""

from __future__ import annotations

from uuid import UUID

import click
import msgspec

from tenure.cli import database, options, output
from tenure.store import holds
from tenure.store.database import Database
from tenure.store.holds import Happened


class _Answered(msgspec.Struct, frozen=True):
    question: int
    job_id: UUID
    answer: str


@click.group()
def hold() -> None:
    """List the questions of held jobs, and answer them."""


@hold.command("list")
@options.limit
@options.as_json
def list_(*, limit: int, as_json: bool) -> None:
    """List open questions, oldest first."""
    with database.opened() as opened:
        found = holds.listed(opened, limit=limit)
    if as_json:
        output.json(found)
        return
    rows = [
        (
            each.id,
            each.job_id,
            each.automation,
            each.asked_at,
            "--happened, --did-not" if each.in_doubt else "--go-on",
            each.not_before or "now",
            each.question,
        )
        for each in found
    ]
    if rows:
        columns = ("id", "job", "automation", "asked", "answers", "from", "question")
        output.table(columns, rows)
    else:
        output.notice("no job waits for a person")


@hold.command()
@click.argument("question", metavar="ID")
@click.option("--happened", "answer", flag_value="happened", help="The call did happen.")
@click.option("--did-not", "answer", flag_value="did_not", help="It did not: it is sent again.")
@click.option("--go-on", "answer", flag_value="go_on", help="Let the job go on; no call is meant.")
@click.option("--status", type=click.IntRange(100, 599), help="The status it was answered with.")
@click.option("--response", metavar="@FILE", help="The body it was answered with; - for stdin.")
@click.option("--reason", metavar="TEXT", help="How you know; it is kept with the answer.")
@options.actor
@options.as_json
def answer(
    *,
    question: str,
    answer: str | None,
    status: int | None,
    response: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Answer a question, by its number or by its job's id."""
    if answer is None:
        raise click.UsageError("say --happened, --did-not or --go-on")
    if answer != "happened" and (status is not None or response is not None):
        raise click.UsageError("--status and --response go with --happened")
    happened = None
    if answer == "happened":
        body = None if response is None else options.content(response, what="response")
        happened = Happened(status, body)
    name, origin = options.named(actor), options.ORIGIN
    with database.opened() as opened:
        number = _number(opened, question)
        if answer == "go_on":
            job = holds.go_on(opened, number, actor=name, reason=reason, origin=origin)
        else:
            job = holds.answer(opened, number, happened, actor=name, reason=reason, origin=origin)
    if as_json:
        output.json(_Answered(number, job, answer))
        return
    click.echo(f"question {number} is answered: job {job} goes on")
    if happened is not None and happened.response is None:
        output.notice("no response was given: the handler sees an empty body")


def _number(opened: Database, given: str) -> int:
    if given.isascii() and given.isdecimal() and len(given) < 19:
        return int(given)
    job = options.JOB.convert(given, None, None)
    return holds.of_job(opened, job)
