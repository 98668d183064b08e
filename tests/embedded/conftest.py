"""Folders that any account can reach, a data directory made once, and users to kill."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tenure.base.clock import now
from tenure.embedded import start
from tests.house.tree import ROOT

DEADLINE = 20.0
_ROOM = 500_000_000  # bytes: a few data directories


class User:
    """A process that uses the server of a folder."""

    def __init__(self, directory: Path, *words: str, command: list[str] | None = None) -> None:
        """Start the process; it has the server once ``url`` returns."""
        self._unheard = b""
        self.popen = subprocess.Popen(
            [*(command or [sys.executable]), "-m", "tests.embedded.user", directory, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            start_new_session=True,
        )

    def hear(self) -> str:
        """The next line it says; empty where it has ended."""
        assert self.popen.stdout is not None
        said = self.popen.stdout.fileno()
        while b"\n" not in self._unheard:
            readable, _, _ = select.select([said], [], [], DEADLINE)
            assert readable, "the user says nothing"
            more = os.read(said, 4096)
            if not more:
                return ""
            self._unheard += more
        line, _, self._unheard = self._unheard.partition(b"\n")
        return line.decode()

    def tell(self, sql: str) -> None:
        """Have it ask the server as soon as it has one."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(f"{sql}\n".encode())
        self.popen.stdin.flush()

    def ask(self, sql: str) -> str:
        """The first value of what the server answers it."""
        self.tell(sql)
        return self.hear()

    def leave(self) -> None:
        """Have it stop using the server, and return when it has."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        assert self.hear() == "stopped"
        assert self.popen.wait(DEADLINE) == 0

    def kill(self) -> None:
        """Kill it without a word."""
        self.popen.kill()
        self.popen.wait(DEADLINE)


class End:
    """The end of a process that need not be our child, taken hold of while it lives."""

    def __init__(self, process: int) -> None:
        """Open the process."""
        self.process = process
        self._opened = os.pidfd_open(process)

    def wait(self) -> None:
        """Return when it has ended; fails after the deadline."""
        readable, _, _ = select.select([self._opened], [], [], DEADLINE)
        os.close(self._opened)
        assert readable, f"process {self.process} is still there"

    def come(self) -> bool:
        """Whether it has ended."""
        return bool(select.select([self._opened], [], [], 0)[0])

    def kill(self) -> None:
        """Kill it without a word and wait for its end."""
        signal.pidfd_send_signal(self._opened, signal.SIGKILL)
        self.wait()


def postmaster(directory: Path) -> int:
    """The process of the folder's server."""
    return int((directory / "pg" / "postmaster.pid").read_text().split("\n")[0])


def keeper(directory: Path) -> int:
    """The parent of the folder's server."""
    status = Path(f"/proc/{postmaster(directory)}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("PPid:"))
    parent = int(line.split()[1])
    assert b"tenure.embedded.keeper" in Path(f"/proc/{parent}/cmdline").read_bytes()
    return parent


def ask(url: str, sql: str) -> object:
    """The first value of what the server answers, and its answer is committed."""
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(sql.encode())
        row = cursor.fetchone() if cursor.description else None
    return row and row[0]


def eventually(url: str, sql: str) -> object:
    """As ``ask``, of a server that is coming back."""
    deadline = now() + DEADLINE
    while True:
        try:
            return ask(url, sql)
        except psycopg.OperationalError:
            assert now() < deadline
            select.select([], [], [], 0.02)


def _folder() -> Path:
    """A folder that every account can traverse, in memory where the system has a place for it."""
    memory = Path("/dev/shm")  # noqa: S108 - the name is the system's, and mkdtemp makes ours
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > _ROOM
    folder = Path(tempfile.mkdtemp(prefix="te-", dir=memory if roomy else None))
    folder.chmod(0o711)
    return folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account can traverse, so that root gives the server to a lesser one."""
    folder = _folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def made() -> Iterator[Path]:
    """An engine's folder with a data directory that holds a row, made once."""
    folder = _folder()
    with start(folder / "t") as embedded:
        ask(embedded.url, "create table kept as select 1 as row")
    yield folder / "t"
    shutil.rmtree(folder)


@pytest.fixture
def directory(open_folder: Path, made: Path) -> Path:
    """An engine's folder of the test's own, whose data directory is made already."""
    subprocess.run(["cp", "-a", made, open_folder / "t"], check=True)
    return open_folder / "t"
