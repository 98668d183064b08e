"""``tenure source``: the doors for events, and whether they open for the right key alone.

Promises: no secret is printed; ``test`` proves with deliveries of its own making that a genuine one
enters and that one which was altered, is too old, or comes from another does not.
"""

from __future__ import annotations

import click
import msgspec

from tenure.base import schemes, secrets
from tenure.base.errors import MissingSecret, NothingMatched
from tenure.cli import application, database, options, output, trial
from tenure.cli.trial import Trial
from tenure.store import sources
from tenure.store.sources import Labelled, ListedSource


class _Scheme(msgspec.Struct, frozen=True):
    name: str
    grade: str
    algorithm: str
    past: float | None


class _Secret(msgspec.Struct, frozen=True):
    reference: str
    readable: bool


class _Shown(msgspec.Struct, frozen=True):
    name: str
    scheme: str
    grade: str
    event_key: str | None
    state: str
    secrets: list[_Secret]


@click.group()
def source() -> None:
    """List the doors for events, and try them."""


@source.command("list")
@options.as_json
def list_(*, as_json: bool) -> None:
    """List the sources of this database by name."""
    with database.opened() as opened:
        found = sources.listed(opened)
    if as_json:
        output.json(found)
        return
    rows = [
        (each.name, each.scheme, schemes.preset(each.scheme).grade, each.state, each.event_key)
        for each in found
    ]
    if rows:
        output.table(("source", "scheme", "grade", "state", "event key"), rows)
    else:
        output.notice("no source is declared: tenure serve declares those of the code")


@source.command()
@click.argument("name")
@options.as_json
def show(*, name: str, as_json: bool) -> None:
    """Show a source, and whether its secrets can be read from here."""
    with database.opened() as opened:
        found = _listed(sources.listed(opened), name)
    shown = _Shown(
        found.name,
        found.scheme,
        schemes.preset(found.scheme).grade,
        found.event_key,
        found.state,
        [_Secret(each.reference, _readable(each)) for each in found.secrets],
    )
    if as_json:
        output.json(shown)
        return
    output.heading(f"{shown.name} is {shown.state}.")
    output.sentence(f"Scheme {shown.scheme}, grade {shown.grade}.", indent=2)
    output.sentence(f"Event key: {shown.event_key or 'none: each delivery is an event'}.", indent=2)
    for secret in shown.secrets:
        can = "can be read from here" if secret.readable else "cannot be read from here"
        output.sentence(f"Secret {secret.reference} {can}.", indent=2)


@source.command("schemes")
@options.as_json
def schemes_(*, as_json: bool) -> None:
    """List the schemes that a source can have, with their grades."""
    known = [
        _Scheme(
            each.name, each.grade, each.algorithm, each.timestamp.past if each.timestamp else None
        )
        for each in schemes.PRESETS.values()
    ]
    if as_json:
        output.json(known)
        return
    rows = [
        (each.name, each.grade, each.algorithm, f"{each.past:g} s" if each.past else "no bound")
        for each in known
    ]
    output.table(("scheme", "grade", "algorithm", "oldest"), rows)


@source.command()
@click.argument("name")
@application.option
@options.as_json
def test(*, name: str, app: str | None, as_json: bool) -> None:
    """Try a source with deliveries made here: genuine, altered, old, and somebody else's."""
    scheme, references = _declared(name, app)
    trials = [
        each
        for reference in references
        for each in trial.run(scheme, label=reference, value=secrets.parse(reference).read())
    ]
    if as_json:
        output.json(trials)
    else:
        rows = [
            (each.delivery, each.secret, each.outcome, each.expected, _mark(each))
            for each in trials
        ]
        output.table(("delivery", "signed with", "outcome", "expected", ""), rows)
    if not all(each.passed for each in trials):
        output.notice("this source does not tell right from wrong: do not open it")
        raise click.exceptions.Exit(1)


def _declared(name: str, app: str | None) -> tuple[schemes.Scheme, list[str]]:
    """Scheme and references, from the code where it is named, else from the database."""
    settings = database.settings({"app": app})
    if settings.app:
        known = application.load(settings).sources
        if name in known:
            return known[name].scheme, [ref.reference for ref in known[name].secrets]
        raise NothingMatched(
            f"unknown source ({name}): {settings.app} does not declare it",
            hint=f"It declares {', '.join(sorted(known)) or 'none'}.",
        )
    with database.opened(settings) as opened:
        found = _listed(sources.listed(opened), name)
    return schemes.preset(found.scheme), [each.reference for each in found.secrets]


def _listed(known: tuple[ListedSource, ...], name: str) -> ListedSource:
    for each in known:
        if each.name == name:
            return each
    raise NothingMatched(
        f"unknown source ({name}): no server has declared it in this database",
        hint="See `tenure source list`; tenure serve declares those of the code.",
    )


def _readable(secret: Labelled) -> bool:
    try:
        secrets.parse(secret.reference).read()
    except MissingSecret:
        return False
    return True


def _mark(each: Trial) -> str:
    return "as it should be" if each.passed else "WRONG"
