"""``tenure retry``, ``tenure replay`` and ``tenure cancel``: acts on jobs, one by one or many.

Promises: jobs that are named are acted on one by one, each with its audit row; those of a filter
are one act; many are said and asked for before anything is done; what was refused is told beside
what was done, and the exit code says so.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import click
import msgspec

from tenure.base import clock
from tenure.base.errors import DatabaseError, NothingMatched, Refused
from tenure.cli import database, options, output, selection
from tenure.cli.group import exit_code, told
from tenure.store import controls, many
from tenure.store.database import Database
from tenure.store.many import Act, Filter, Order, Tally

_reason = click.option("--reason", metavar="TEXT", help="Why; it is kept with the act.")
_jobs = click.argument("jobs", type=options.JOB, nargs=-1, metavar="[JOB…]")
_PROGRESS_SECONDS = 1.0


class _Done(msgspec.Struct, frozen=True):
    job_id: UUID
    done: str


class _Wanted(msgspec.Struct, frozen=True):
    """What was asked for beside the jobs."""

    actor: str
    reason: str | None
    yes: bool
    as_json: bool


@click.command()
@_jobs
@selection.filters
@_reason
@options.actor
@options.sure
@options.as_json
def retry(jobs: tuple[UUID, ...], **given: object) -> None:
    """Bring failed or held jobs back, with the same keys, from where they stopped."""
    wanted = _wanted(given)

    def act(opened: Database, job: UUID) -> str:
        was = controls.retry(
            opened, job, actor=wanted.actor, reason=wanted.reason, origin=options.ORIGIN
        )
        return f"retried (it was {was})"

    _act("retry", jobs, given, wanted, act)


@click.command()
@_jobs
@selection.filters
@_reason
@options.actor
@options.sure
@options.as_json
def replay(jobs: tuple[UUID, ...], **given: object) -> None:
    """Make new jobs of what old ones ran on: with new keys, and so with their effects again."""
    wanted = _wanted(given)

    def act(opened: Database, job: UUID) -> str:
        new = controls.replay(
            opened, job, actor=wanted.actor, reason=wanted.reason, origin=options.ORIGIN
        )
        return f"replayed as {new}"

    _act("replay", jobs, given, wanted, act)


@click.command()
@_jobs
@selection.filters
@_reason
@options.actor
@options.sure
@options.as_json
def cancel(jobs: tuple[UUID, ...], **given: object) -> None:
    """Cancel jobs: at once where nobody runs them, else at their next heartbeat or call."""
    wanted = _wanted(given)

    def act(opened: Database, job: UUID) -> str:
        became = controls.cancel(
            opened, job, actor=wanted.actor, reason=wanted.reason, origin=options.ORIGIN
        )
        return "cancelled" if became == "cancelled" else "asked of its worker"

    _act("cancel", jobs, given, wanted, act)


def _wanted(given: dict[str, object]) -> _Wanted:
    name = options.named(given["actor"] if isinstance(given["actor"], str) else None)
    reason = given["reason"] if isinstance(given["reason"], str) else None
    return _Wanted(name, reason, bool(given["yes"]), bool(given["as_json"]))


def _act(
    verb: Act,
    jobs: tuple[UUID, ...],
    given: dict[str, object],
    wanted: _Wanted,
    act: Callable[[Database, UUID], str],
) -> None:
    with database.opened() as opened:
        asked = selection.asked(opened, given, jobs)
        if asked is None:
            _each(opened, verb, list(dict.fromkeys(jobs)), wanted, act)
            return
        limit = given["limit"] if isinstance(given["limit"], int) else None
        _many(opened, verb, asked, wanted, limit=limit, only_say=bool(given["preview"]))


def _each(
    opened: Database,
    verb: Act,
    jobs: list[UUID],
    wanted: _Wanted,
    act: Callable[[Database, UUID], str],
) -> None:
    if len(jobs) > 1:
        said = verb.capitalize()
        lines = [f"{said} {job}" for job in jobs]
        options.ask(lines, f"{said} {len(jobs)} jobs?", yes=wanted.yes)
    done: list[_Done] = []
    codes: list[int] = []
    for job in jobs:
        try:
            done.append(_Done(job, act(opened, job)))
        except (Refused, NothingMatched) as error:
            told(error)
            codes.append(exit_code(error))
        else:
            if not wanted.as_json:
                click.echo(f"{job} {done[-1].done}")
    if wanted.as_json:
        output.json(done)
    if codes:
        raise click.exceptions.Exit(codes[0])


def _many(
    opened: Database,
    verb: Act,
    asked: Filter,
    wanted: _Wanted,
    *,
    limit: int | None,
    only_say: bool,
) -> None:
    found = many.preview(opened, verb, asked, limit=limit)
    lines = selection.told(verb, found)
    if only_say:
        if wanted.as_json:
            output.json(found)
        else:
            click.echo("\n".join(lines))
        return
    options.ask(lines, f"{verb.capitalize()} {output.jobs(found.jobs)}?", yes=wanted.yes)
    asked = msgspec.structs.replace(asked, until=found.until)
    order = Order(verb, asked, wanted.actor, wanted.reason, options.ORIGIN, limit)
    tally = _carried_out(opened, order, found.jobs)
    for refusal in tally.refusals:
        output.notice(f"refused: {refusal.why}. {refusal.hint}")
    if wanted.as_json:
        output.json(tally)
    else:
        click.echo(selection.many_done(tally))
    if tally.refused:
        raise click.exceptions.Exit(exit_code(Refused("")))


def _carried_out(opened: Database, order: Order, jobs: int) -> Tally:
    """Do it, and say how far it is; what is cut off stays done as far as it came."""
    tally, said_at = Tally(), clock.now()
    try:
        for tally in many.carry_out(opened, order):
            if tally.after is not None and clock.now() - said_at >= _PROGRESS_SECONDS:
                said_at = clock.now()
                output.notice(f"{tally.seen} of {jobs} …")
    except (DatabaseError, KeyboardInterrupt):
        output.notice(f"cut off after {tally.seen} of {jobs}; what is done stays done")
        raise
    return tally
