"""``tenure demo`` as a newcomer runs it: a process of its own, with all the pieces it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.cli.conftest import clean
from tests.house.tree import ROOT
from tests.kit.facts import until

pytestmark = pytest.mark.timeout(300)

_ENDS_WITHIN = 240.0
_MARK = "TEST_DEMO_MARK"


class Seen(msgspec.Struct):
    """A provider as the demo tells it."""

    name: str
    limit: int
    peak: int


class Told(msgspec.Struct):
    """What the demo prints as JSON, as far as it is promised."""

    ok: bool
    events: int
    duplicates: int
    lost: int
    workers_killed: int
    providers: list[Seen]
    explanation: list[str]


_DEMO = [sys.executable, "-m", "tenure", "demo"]


class Demo:
    """One demo, running, and every process that came of it."""

    def __init__(self, folder: Path, *arguments: str, url: str = "") -> None:
        """Start it as a shell does in its background, deaf to SIGINT; on a database, or its own."""
        self._mark = uuid.uuid4().hex
        self._errors = folder / f"{self._mark}.err"
        environ = clean(dict(os.environ)) | {"PYTHONPATH": str(ROOT), _MARK: self._mark}
        with self._errors.open("w") as errors:
            self.popen = subprocess.Popen(
                ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *_DEMO, *arguments],
                env=environ | ({"TENURE_DATABASE_URL": url} if url else {}),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    @property
    def errors(self) -> str:
        """What it has said on standard error by now."""
        return self._errors.read_text()

    def replays(self) -> bool:
        """Whether events come in."""
        assert self.popen.poll() is None, self.errors
        return "replaying" in self.errors

    def end(self) -> str:
        """Wait for its end; what it printed."""
        output, _ = self.popen.communicate(timeout=_ENDS_WITHIN)
        return output

    def left(self) -> list[str]:
        """The processes that it started and that are there, found by what they inherited."""
        mark = f"{_MARK}={self._mark}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().decode().replace("\0", " "))
            except OSError:
                continue  # it has ended meanwhile, or is somebody else's
        return [line for line in found if line]  # a zombie has no command line


@pytest.fixture
def empty_url(server_url: str) -> Iterator[str]:
    """The address of a database with nothing in it."""
    name = sql.Identifier(f"tenure_demo_{uuid.uuid4().hex}")
    with psycopg.connect(server_url, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(name))
    yield make_conninfo(server_url, dbname=name.as_string().strip('"'))
    with psycopg.connect(server_url, autocommit=True) as conn:
        conn.execute(sql.SQL("drop database {} with (force)").format(name))


def _schemas(url: str) -> int:
    with psycopg.connect(url) as conn:
        row = conn.execute("select count(*) from pg_namespace where nspname = 'tenure'").fetchone()
    assert row is not None
    return int(row[0])


def test_the_demo_keeps_its_promises_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """One JSON object, every promise kept, a worker killed, and no process or database left."""
    demo = Demo(tmp_path, "--json", "--seconds", "6")
    told = msgspec.json.decode(demo.end(), type=Told)
    assert demo.popen.returncode == 0, demo.errors
    assert told.ok
    assert (told.duplicates, told.lost, told.workers_killed) == (0, 0, 1)
    assert told.events > 30
    assert {it.name for it in told.providers} == {"stripe", "hubspot", "resend"}
    assert all(0 < it.peak <= it.limit for it in told.providers)
    assert any("went without a word" in sentence for sentence in told.explanation)
    assert demo.left() == []
    assert not (tmp_path / ".tenure" / "demo" / "pg").exists()


def test_a_limit_that_is_overstepped_makes_the_demo_fail(tmp_path: Path, empty_url: str) -> None:
    """A provider that allows less than the catalogue says is overrun, and the demo says so."""
    demo = Demo(tmp_path, "--json", "--seconds", "2", "--tighten", "resend=1", url=empty_url)
    told = msgspec.json.decode(demo.end(), type=Told)
    assert demo.popen.returncode == 1, demo.errors
    assert not told.ok
    assert "broken promise: No provider sees more than its limit: resend saw" in demo.errors
    assert demo.left() == []
    assert _schemas(empty_url) == 0


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_demo_that_is_called_off_leaves_no_process(
    tmp_path: Path, empty_url: str, end: signal.Signals
) -> None:
    """However the demo ends, all that it started ends with it."""
    demo = Demo(tmp_path, "--seconds", "60", url=empty_url)
    until(demo.replays, "events come in", 120.0)
    assert len(demo.left()) > 6
    demo.popen.send_signal(end)
    demo.end()
    assert demo.popen.returncode != 0
    until(lambda: not demo.left(), "nothing is left", 60.0)
    if end != signal.SIGKILL:
        assert _schemas(empty_url) == 0


def test_a_database_that_is_somebodys_is_left_alone(tmp_path: Path, database_url: str) -> None:
    """Where the database has a schema of ours already, the demo refuses and touches nothing."""
    demo = Demo(tmp_path, url=database_url)
    assert demo.end() == ""
    assert demo.popen.returncode == 4, demo.errors
    assert "has a schema tenure" in demo.errors
    assert _schemas(database_url) == 1


def test_a_provider_that_is_not_there_cannot_be_tightened(tmp_path: Path) -> None:
    """A wrong word is a usage error, before anything is started."""
    demo = Demo(tmp_path, "--tighten", "acme=1")
    assert demo.end() == ""
    assert demo.popen.returncode == 2
