"""The list of commands, lazy imports, errors and exit codes."""

from __future__ import annotations

import click
import pytest

from tenure.base.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    MissingSecret,
    NothingMatched,
    NotYet,
    Refused,
    SchemaMismatch,
    TenureError,
    UnknownName,
)
from tenure.cli.group import COMMANDS, commands, exit_code
from tests.cli.conftest import Run, python, shell


def test_help_lists_every_command() -> None:
    """The list names every command with its sentence."""
    done = shell("--help")
    assert done.returncode == 0
    for name, place in COMMANDS.items():
        assert f"  {name}" in done.stdout
        assert place.help in done.stdout


def test_help_imports_no_command_and_no_printing() -> None:
    """Asking for the list imports no command's module, and nothing that only commands need."""
    script = (
        "import sys; sys.argv = ['tenure', '--help']\n"
        "from tenure.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('tenure.cli', 'tenure.app', 'tenure.store', 'tenure.flow', 'tenure.web',"
        " 'tenure.worker', 'tenure.embedded', 'psycopg', 'msgspec', 'rich', 'starlette')\n"
        "print(sorted(name for name in sys.modules if name.startswith(heavy)))"
    )
    imported = python("-c", script).stdout.splitlines()[-1]
    assert imported == "['tenure.cli', 'tenure.cli.group']"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_found_and_says_what_it_does(name: str) -> None:
    """Each entry of the list leads to a command of that name, which says what it does."""
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    assert command.name == name
    assert command.help


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TenureError("x"), 1),
        (DatabaseUnavailable("x"), 1),
        (NotYet("x"), 3),
        (Refused("x"), 4),
        (NothingMatched("x"), 5),
        (ConfigurationError("x"), 78),
        (UnknownName("x"), 78),
        (MissingSecret("x"), 78),
        (SchemaMismatch("x"), 78),
    ],
)
def test_each_cause_has_its_exit_code(error: TenureError, code: int) -> None:
    """The exit code is the cause's, and the nearest one's of its line."""
    assert exit_code(error) == code


def test_an_error_is_one_line_and_its_hint() -> None:
    """An error is told in two lines on standard error, without a traceback."""
    done = shell("jobs", environment={"TENURE_LEASEE": "3"})
    assert done.returncode == 78
    assert done.stdout == ""
    assert done.stderr == (
        "error: unknown setting ('TENURE_LEASEE'): nothing of that name is declared\n"
        "Did you mean 'TENURE_LEASE'?\n"
    )


def test_a_traceback_is_shown_where_it_is_asked_for() -> None:
    """With TENURE_DEBUG=1 the same error comes with its traceback."""
    done = shell("jobs", environment={"TENURE_LEASEE": "3", "TENURE_DEBUG": "1"})
    assert "Traceback (most recent call last)" in done.stderr
    assert "UnknownName" in done.stderr


def test_a_database_that_does_not_answer_is_an_error() -> None:
    """A server that is not there is one line, and no usage or configuration error."""
    url = "postgresql://nobody@127.0.0.1:1/none"
    done = shell("jobs", environment={"TENURE_DATABASE_URL": url})
    assert done.returncode == 1
    assert done.stderr.startswith("error: the database does not answer (")


def test_an_unknown_command_is_a_usage_error(tenure: Run) -> None:
    """A word that is no command ends as wrong usage."""
    done = tenure("jbos")
    assert done.exit_code == 2
    assert "No such command 'jbos'" in done.stderr
