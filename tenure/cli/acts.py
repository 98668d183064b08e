"""``tenure retry``, ``tenure replay`` and ``tenure cancel``: acts on jobs, one by one or many.

Promises: each job is an act of its own, with its audit row; many are said and asked for before
anything is done; what was refused is told beside what was done, and the exit code says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import click
import msgspec

from tenure.base.errors import NothingMatched, Refused
from tenure.cli import database, options, output
from tenure.cli.group import exit_code, told
from tenure.store import controls
from tenure.store.database import Database

_reason = click.option("--reason", metavar="TEXT", help="Why; it is kept with the act.")


class _Done(msgspec.Struct, frozen=True):
    job_id: UUID
    done: str


@click.command()
@click.argument("jobs", type=options.JOB, nargs=-1, required=True, metavar="JOB…")
@_reason
@options.actor
@options.sure
@options.as_json
def retry(
    *, jobs: tuple[UUID, ...], reason: str | None, actor: str | None, yes: bool, as_json: bool
) -> None:
    """Bring failed or held jobs back, with the same keys, from where they stopped."""
    name = options.named(actor)

    def act(opened: Database, job: UUID) -> str:
        was = controls.retry(opened, job, actor=name, reason=reason, origin=options.ORIGIN)
        return f"retried (it was {was})"

    _each(jobs, act, verb="Retry", yes=yes, as_json=as_json)


@click.command()
@click.argument("jobs", type=options.JOB, nargs=-1, required=True, metavar="JOB…")
@_reason
@options.actor
@options.sure
@options.as_json
def replay(
    *, jobs: tuple[UUID, ...], reason: str | None, actor: str | None, yes: bool, as_json: bool
) -> None:
    """Make new jobs of what old ones ran on: with new keys, and so with their effects again."""
    name = options.named(actor)

    def act(opened: Database, job: UUID) -> str:
        new = controls.replay(opened, job, actor=name, reason=reason, origin=options.ORIGIN)
        return f"replayed as {new}"

    _each(jobs, act, verb="Replay", yes=yes, as_json=as_json)


@click.command()
@click.argument("jobs", type=options.JOB, nargs=-1, required=True, metavar="JOB…")
@_reason
@options.actor
@options.sure
@options.as_json
def cancel(
    *, jobs: tuple[UUID, ...], reason: str | None, actor: str | None, yes: bool, as_json: bool
) -> None:
    """Cancel jobs: at once where nobody runs them, else at their next heartbeat or call."""
    name = options.named(actor)

    def act(opened: Database, job: UUID) -> str:
        became = controls.cancel(opened, job, actor=name, reason=reason, origin=options.ORIGIN)
        return "cancelled" if became == "cancelled" else "asked of its worker"

    _each(jobs, act, verb="Cancel", yes=yes, as_json=as_json)


def _each(
    given: Sequence[UUID],
    act: Callable[[Database, UUID], str],
    *,
    verb: str,
    yes: bool,
    as_json: bool,
) -> None:
    jobs = list(dict.fromkeys(given))
    if len(jobs) > 1:
        options.ask([f"{verb} {job}" for job in jobs], f"{verb} {len(jobs)} jobs?", yes=yes)
    done: list[_Done] = []
    codes: list[int] = []
    with database.opened() as opened:
        for job in jobs:
            try:
                done.append(_Done(job, act(opened, job)))
            except (Refused, NothingMatched) as error:
                told(error)
                codes.append(exit_code(error))
            else:
                if not as_json:
                    click.echo(f"{job} {done[-1].done}")
    if as_json:
        output.json(done)
    if codes:
        raise click.exceptions.Exit(codes[0])
