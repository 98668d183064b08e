"""Which database a command speaks to."""

from __future__ import annotations

import shlex
import shutil
import socket
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.cli.group import commands
from tests.cli.conftest import Run, shell


@pytest.fixture
def reachable() -> Iterator[Path]:
    """An empty folder that any account can pass through, as the embedded server may need."""
    memory = Path("/dev/shm")  # noqa: S108 - the name is the system's, and mkdtemp makes ours
    top = Path(tempfile.mkdtemp(prefix="tenure-", dir=memory if memory.is_dir() else None))
    top.chmod(0o711)
    yield top
    shutil.rmtree(top, ignore_errors=True)


def test_without_an_address_one_shot_commands_use_the_embedded_server(reachable: Path) -> None:
    """It is announced, migrated by whoever starts it, keeps what was written, and stops again."""
    done = shell("token", "create", "--owner", "ann", "--scope", "read", folder=reachable)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[:2] == [
        "using the embedded PostgreSQL in .tenure/",
        f"made a new, empty database in {reachable}/.tenure",
    ]
    listed = shell("token", "list", "--json", folder=reachable)
    assert '"owner": "ann"' in listed.stdout
    assert listed.stderr == "using the embedded PostgreSQL in .tenure/\n"
    assert not (reachable / ".tenure" / "pg" / "postmaster.pid").exists()


_JOB = "019ad8f2-6c1e-7d3a-9b52-5c1f0e7a4b10"


@pytest.mark.parametrize(
    "command",
    [
        "jobs",
        f"explain {_JOB}",
        f"retry {_JOB}",
        f"cancel {_JOB}",
        "enqueue lead {}",
        "hold list",
        f"hold answer {_JOB} --go-on",
        "automation list",
        "automation show lead",
        "promote lead --to live --reason x",
        "demote lead --to dry_run --reason x",
        "source list",
        "source show lead",
        "source test lead",
        "token list",
        "token revoke 1",
        "migrate --plan",
    ],
)
def test_what_needs_something_in_it_makes_no_database(command: str, folder: Path) -> None:
    """In a folder without one, a command that an empty database is of no use to makes none."""
    done = CliRunner().invoke(commands, shlex.split(command))
    assert done.exit_code == 78
    error, hint = done.stderr.splitlines()
    assert error == (
        "error: there is no database here: no address is set, and none was made in "
        f"{folder.resolve()}/.tenure"
    )
    assert hint.endswith("or set TENURE_DATABASE_URL; `tenure migrate` makes an embedded one here.")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_what_runs_for_long_never_chooses_a_database(command: str, tmp_path: Path) -> None:
    """Worker and server without an address end as configuration, and start nothing."""
    (tmp_path / "automations.py").write_text("from tenure import Tenure\napp = Tenure()\n")
    done = shell(command, "--app", "automations:app", folder=tmp_path)
    assert done.returncode == 78
    assert done.stderr.splitlines() == [
        "error: no database is set: a worker or server does not choose one by itself",
        'Set TENURE_DATABASE_URL, or database = "embedded" in tenure.toml, or --embedded.',
    ]
    assert not (tmp_path / ".tenure").exists()


def test_an_address_that_cannot_be_read_is_configuration(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that is none is told before anything is asked of anybody."""
    monkeypatch.setenv("TENURE_DATABASE_URL", "nonsense://")
    done = tenure("jobs")
    assert done.exit_code == 78
    assert done.stderr.startswith("error: the database's address cannot be read")


def test_a_database_that_is_missing_is_told_with_the_command_that_makes_it(
    tenure: Run, monkeypatch: pytest.MonkeyPatch, server_url: str, tmp_path: Path
) -> None:
    """The hint, pasted into a shell, makes the database, and what was asked for then works."""
    name = f"tenure gone {uuid.uuid4().hex}"
    monkeypatch.setenv("TENURE_DATABASE_URL", make_conninfo(server_url, dbname=name))
    done = tenure("jobs")
    assert done.exit_code == 1
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: the server has no database of that name (")
    assert f'database "{name}" does not exist' in error
    command = hint.partition(" or make it: ")[2].removesuffix(" && tenure migrate")
    words = shlex.split(command)
    assert (words[0], words[-1]) == ("createdb", name)
    # What createdb does with these words, where its program may not be installed.
    given = dict(zip(words[1:-1:2], words[2:-1:2], strict=True))
    address = {key: given.get(flag) for flag, key in (("-h", "host"), ("-p", "port"))}
    there = make_conninfo(server_url, **address, user=given.get("-U"), dbname="postgres")
    with psycopg.connect(there, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(sql.Identifier(words[-1])))
        try:
            assert tenure("migrate").exit_code == 0
            assert tenure("jobs").exit_code == 0
        finally:
            conn.execute(sql.SQL("drop database {}").format(sql.Identifier(words[-1])))


def test_a_refused_login_and_a_refused_connection_are_one_line_and_its_hint(
    tenure: Run, monkeypatch: pytest.MonkeyPatch, server_url: str
) -> None:
    """Who is not let in is told so, and no password is ever repeated."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        nowhere = f"postgresql://ann:hunter22@127.0.0.1:{port}/shop"
        nobody = make_conninfo(server_url, user="nobody at all", password="hunter22")
        for url, says in (
            (nowhere, "the database does not answer (connection failed"),
            (nobody, "the server refused the login (connection failed"),
        ):
            monkeypatch.setenv("TENURE_DATABASE_URL", url)
            done = tenure("jobs")
            assert done.exit_code == 1
            error, hint = done.stderr.splitlines()
            assert error.startswith(f"error: {says}")
            assert "TENURE_DATABASE_URL" in hint
            assert "hunter22" not in done.output
