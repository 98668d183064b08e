"""``tenure worker`` and ``tenure serve``, started and stopped as their operator does it."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenure.base.clock import now
from tenure.store.database import Database
from tests.cli.conftest import Run, clean
from tests.house.tree import ROOT

_DEADLINE = 60.0
_CODE = """
from tenure import Context, Tenure, env

app = Tenure()
doors = app.source("doors", scheme="github", secret=env("DOOR_SECRET"))


@app.automation
async def lead(ctx: Context, given: dict[str, str]) -> str:
    return given["name"]
"""


class Service:
    """A command that runs until it is told to stop."""

    def __init__(self, url: str, folder: Path, *arguments: str) -> None:
        """Start it in a folder of its own."""
        environment = clean(dict(os.environ)) | {
            "PYTHONPATH": str(ROOT),
            "TENURE_DATABASE_URL": url,
            "TENURE_APP": "automations:app",
        }
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tenure", *arguments],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said = ""

    def hear(self, words: str) -> str:
        """Wait until it has said so on standard error; all that it said."""
        assert self.popen.stderr is not None
        deadline = now() + _DEADLINE
        while words not in self.said:
            ready, _, _ = select.select([self.popen.stderr], [], [], max(deadline - now(), 0))
            assert ready, f"it did not say {words!r} but:\n{self.said}"
            chunk = os.read(self.popen.stderr.fileno(), 65536)
            assert chunk, f"it ended without saying {words!r}:\n{self.said}"
            self.said += chunk.decode()
        return self.said

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(_DEADLINE)


@pytest.fixture
def started(database_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts commands on the test's database, and leaves none behind."""
    (tmp_path / "automations.py").write_text(_CODE)
    services: list[Service] = []

    def start(*arguments: str) -> Service:
        services.append(Service(database_url, tmp_path, *arguments))
        return services[-1]

    yield start
    for service in services:
        if service.popen.poll() is None:
            service.popen.kill()
        service.popen.communicate(timeout=_DEADLINE)


def test_a_worker_runs_jobs_until_it_is_told_to_stop(
    started: Callable[..., Service], tenure: Run, database: Database
) -> None:
    """A worker declares what it knows, runs what is enqueued, and ends on SIGTERM."""
    worker = started("worker", "--only", "live", "--processes", "1", "--concurrency", "2")
    worker.hear("is ready")
    words = ("--to", "live", "--waive", "all", "--reason", "a test")
    assert tenure("promote", "lead", *words).exit_code == 0
    job = uuid.UUID(tenure("enqueue", "lead", '{"name": "ann"}').stdout.strip())
    deadline = now() + _DEADLINE
    while not (
        rows := database.execute(
            "select status, result from tenure.finished_jobs where id = %(job)s", {"job": job}
        )
    ):
        assert now() < deadline
    assert (rows[0]["status"], rows[0]["result"]) == ("succeeded", "ann")
    assert worker.stop() == 0


def test_a_server_listens_and_shows_its_first_token(
    started: Callable[..., Service], tenure: Run
) -> None:
    """A server with --first-token makes one, says where it listens, and ends on SIGTERM."""
    server = started("serve", "--port", "0", "--first-token")
    said = server.hear("listening on ")
    assert "first token, shown this once: tnr_" in said
    assert "first" in tenure("token", "list").stdout
    assert "doors" in tenure("source", "list").stdout
    assert server.stop() == 0


def test_a_moment_that_has_passed_ends_as_configuration(
    started: Callable[..., Service], tmp_path: Path
) -> None:
    """A one-off in the past is told in a line by the worker and by the server that declare it."""
    past = 'app.schedule("launch", at=datetime(2020, 1, 1, tzinfo=UTC))'
    code = f"from datetime import UTC, datetime\n{_CODE}\n{past}\n"
    (tmp_path / "automations.py").write_text(code)
    for command in (("worker", "--only", "live"), ("serve", "--port", "0", "--first-token")):
        ran = started(*command)
        assert ran.popen.wait(_DEADLINE) == 78
        assert ran.popen.stderr is not None
        said = ran.popen.stderr.read().decode()
        assert "error: the schedule 'launch' would never tick: once at 2020-01-01" in said
        assert "Traceback" not in said


def test_a_server_without_a_token_does_not_listen(started: Callable[..., Service]) -> None:
    """Where no token opens it, a server ends as configuration."""
    server = started("serve", "--port", "0")
    assert server.popen.wait(_DEADLINE) == 78
    assert server.popen.stderr is not None
    assert b"\nerror: no token opens this server" in server.popen.stderr.read()


def test_the_first_token_is_made_by_the_command_that_is_told(
    started: Callable[..., Service], tenure: Run
) -> None:
    """The hint, pasted as it stands, makes a token, and the server listens."""
    server = started("serve", "--port", "0")
    server.popen.wait(_DEADLINE)
    assert server.popen.stderr is not None
    hint = server.popen.stderr.read().decode().splitlines()[-1]
    command = shlex.split(hint.partition("make one: ")[2])
    assert command[0] == "tenure"
    made = tenure(*command[1:])
    assert (made.exit_code, made.stdout[:4]) == (0, "tnr_")
    server = started("serve", "--port", "0")
    server.hear("listening on ")
    assert server.stop() == 0
