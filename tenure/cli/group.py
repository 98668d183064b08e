"""The list of commands, and the group that imports a command's module only to run it.

Called by the entry points.  Promises: ``tenure --help`` imports no command; every error of Tenure
ends as one line with its hint and a fixed exit code, and shows its traceback where TENURE_DEBUG
is 1.

0 done   1 error   2 usage   3 not yet   4 refused   5 nothing matched   78 configuration
"""

from __future__ import annotations

import importlib
import os
from typing import NamedTuple

import click

from tenure.base.errors import TenureError


class Place(NamedTuple):
    """Where a command is, and its line in the list."""

    module: str
    name: str
    help: str


COMMANDS = {
    "init": Place("init", "init", "Write a first automation and its settings into this folder."),
    "dev": Place("dev", "dev", "Serve and run jobs here, again whenever a file changes."),
    "migrate": Place("migrate", "migrate", "Bring the database's schema up to this code."),
    "settings": Place("settings", "settings", "Show every setting, and where it stood."),
    "doctor": Place("doctor", "doctor", "Look at the whole, and say what to do."),
    "worker": Place("worker", "worker", "Run jobs until told to stop."),
    "serve": Place("serve", "serve", "Serve sources, the control API and the pages."),
    "demo": Place("demo", "demo", "A tour on an embedded database."),
    "enqueue": Place("enqueue", "enqueue", "Make a job by hand."),
    "jobs": Place("jobs", "jobs", "List jobs."),
    "explain": Place("explain", "explain", "Say what a job did, waits for, and would send again."),
    "retry": Place("acts", "retry", "Bring failed or held jobs back, with their keys."),
    "replay": Place("acts", "replay", "Run what jobs ran on once more, with new keys."),
    "cancel": Place("acts", "cancel", "Cancel jobs."),
    "pause": Place("pause", "pause", "Let something stand still, or list what does."),
    "resume": Place("pause", "resume", "End a pause."),
    "hold": Place("hold", "hold", "List the questions of held jobs, and answer them."),
    "automation": Place("automation", "automation", "List automations, or show one."),
    "promote": Place("stage", "promote", "Move an automation up a stage."),
    "demote": Place("stage", "demote", "Move an automation down a stage."),
    "source": Place("source", "source", "List the doors for events, and try them."),
    "schedule": Place("schedule", "schedule", "List schedules, and make ticks by hand."),
    "token": Place("token", "token", "Make, list and revoke tokens."),
}


class Commands(click.Group):
    """A group whose commands are named in a table and imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported now; None where there is none."""
        del ctx
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        command = getattr(importlib.import_module(f"tenure.cli.{place.module}"), place.name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run a command, and end Tenure's own errors as lines with an exit code."""
        try:
            return super().invoke(ctx)
        except TenureError as error:
            if os.environ.get("TENURE_DEBUG") == "1":
                raise
            told(error)
            raise click.exceptions.Exit(exit_code(error)) from error


def told(error: TenureError) -> None:
    """Print an error as people read it: what happened, and what to do."""
    for line in getattr(error, "trace", "").splitlines():  # only BrokenApp has one
        click.echo(_one_line(line), err=True)
    click.echo(f"error: {_one_line(error.message)}", err=True)
    if error.hint:
        click.echo(_one_line(error.hint), err=True)


def _one_line(text: str) -> str:
    """What others wrote into an error may hold anything; what would steer a terminal is shown."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def exit_code(error: TenureError) -> int:
    """The exit code of an error, by its class."""
    return next((_CODES[kind.__name__] for kind in type(error).mro() if kind.__name__ in _CODES), 1)


# By name, so that asking for help imports no database driver.
_CODES = {
    "NotYet": 3,
    "Refused": 4,
    "InvalidInput": 4,
    "NothingMatched": 5,
    "ConfigurationError": 78,
    "SchemaMismatch": 78,
}


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="tenure")
def commands() -> None:
    """Automations as leased rows in your own PostgreSQL."""
