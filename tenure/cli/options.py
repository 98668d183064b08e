"""Options that several commands share, and how their text is read.

Called by the command modules.  Promises: an option means the same wherever it is offered; what
cannot be read is a usage error that names the option.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import click

from tenure.base import durations, json
from tenure.base.errors import ConfigurationError, InvalidInput
from tenure.cli.output import notice
from tenure.store import events
from tenure.store.database import Database

F = TypeVar("F", bound=Callable[..., object])

ORIGIN = "cli"

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
actor = click.option("--as", "actor", metavar="NAME", help="In whose name; else the OS user's.")
sure = click.option("--yes", is_flag=True, help="Do not ask.")
limit = click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="How many at most.",
)


def named(given: str | None) -> str:
    """In whose name an act is done: as given, else the OS user."""
    name = (given or "").strip() or _user()
    if not name.isprintable():
        raise click.UsageError("the name given with --as cannot be printed")
    return name


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as containers have
        return "unknown"


class JobId(click.ParamType[UUID]):
    """A job's id, whole, in either case."""

    name = "job"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> UUID:
        """The id as a UUID."""
        if isinstance(value, UUID):
            return value
        text = str(value).strip()
        try:
            found = UUID(text)
        except ValueError:
            found = None
        if found is None or str(found) != text.lower():
            self.fail(f"{text!r} is no job's id: give all 36 characters", param, ctx)
        return found


class Moment(click.ParamType[datetime | float]):
    """A moment with a zone, or a length of time from now."""

    name = "moment"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime | float:
        """The moment, or the seconds from now."""
        if isinstance(value, datetime | float):
            return value
        text = str(value).strip()
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return self._length(text, param, ctx)
        if moment.tzinfo is None:
            self.fail(f"{text!r} names no moment without a zone: add Z or +01:00", param, ctx)
        return moment.astimezone(UTC)

    def _length(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return durations.parse(text)
        except ConfigurationError:
            self.fail(
                f"{text!r} is neither a moment (2026-12-24T09:00Z) nor a length (10m, 30d)",
                param,
                ctx,
            )


class Length(click.ParamType[float]):
    """A length of time, as ``90d``."""

    name = "length"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The length in seconds."""
        try:
            return durations.parse(value)
        except ConfigurationError:
            self.fail(f"{value!r} is no length of time, such as 10m or 90d", param, ctx)


JOB = JobId()
MOMENT = Moment()
LENGTH = Length()


def moment(database: Database, given: datetime | float | None) -> datetime | None:
    """The moment that was given, seconds counted from the database's clock."""
    if given is None or isinstance(given, datetime):
        return given
    return events.clock(database) + timedelta(seconds=given)


def content(argument: str, *, what: str) -> bytes:
    """What an argument says: its own text, a file's for ``@path``, standard input's for ``-``."""
    if argument == "-":
        return sys.stdin.buffer.read()
    if not argument.startswith("@"):
        return argument.encode("utf-8", "surrogateescape")
    try:
        return Path(argument[1:]).read_bytes()
    except OSError as error:
        raise click.UsageError(
            f"the {what} cannot be read ({argument[1:]}): {error.strerror}"
        ) from error


def json_text(argument: str, *, what: str) -> str:
    """As ``content``, checked to be one JSON value."""
    raw = content(argument, what=what)
    try:
        json.decode(raw)
        return raw.decode()
    except (InvalidInput, UnicodeDecodeError) as error:
        said = error.message if isinstance(error, InvalidInput) else "it is not UTF-8"
        raise click.UsageError(f"the {what} is no JSON: {said}") from error


def ask(lines: Sequence[str], question: str, *, yes: bool) -> None:
    """Say what will be done to many, and ask; a usage error where there is nobody to ask."""
    for line in lines:
        notice(line)
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} There is nobody to ask: add --yes.")
    if not click.confirm(question, err=True):
        raise click.Abort
