"""A PostgreSQL server that is stopped and started when a test says so, and a standby of it.

Commits are durable; the embedded engine's own keeper, which would start a stopped server again at
once, is not used.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from tenure.embedded import account, binaries
from tests.kit.facts import until

_USER = "postgres"


class Cluster:
    """One data directory and, while started, one server."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is made; its path must be short enough for a socket."""
        folder.mkdir(mode=0o711)
        self._folder = folder
        self._programs = binaries.find(None)
        self._account = account.choose(self._programs, folder)
        self._log = (folder / "log").open("ab")
        self.sockets = folder / "run"
        self.sockets.mkdir(mode=0o755)
        self._account.own(self.sockets)
        self._data = folder / "pg"
        self._postmaster: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of its first database."""
        return make_conninfo(host=str(self.sockets), port="5432", user=_USER, dbname="postgres")

    def make(self) -> None:
        """Make an empty one."""
        self._make_directory()
        self._run("initdb", "-D", self._data, "-U", _USER, "--auth=trust", "-E", "utf8", "-N")

    def copy(self, primary: Cluster) -> None:
        """Make a standby of a primary that runs."""
        self._make_directory()
        where = ("-h", primary.sockets, "-p", "5432", "-U", _USER)
        self._run("pg_basebackup", "-D", self._data, "-X", "stream", "-R", *where)

    def start(self, **settings: str) -> None:
        """Start it and return once it answers."""
        given = {"listen_addresses": "", "unix_socket_directories": str(self.sockets), **settings}
        words = [word for item in given.items() for word in ("-c", "=".join(item))]
        command = [self._programs / "postgres", "-D", self._data, *words]
        self._postmaster = self._account.popen(command, self._log.fileno())
        until(self.answers, "the server answers", 60.0)

    def answers(self) -> bool:
        """Whether a session can be had now."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop_at_once(self) -> None:
        """Stop it as a crash does: no checkpoint, no farewell."""
        postmaster = self._postmaster
        assert postmaster is not None, "it was not started"
        os.kill(postmaster.pid, signal.SIGQUIT)
        postmaster.wait()
        self._postmaster = None

    def promote(self) -> None:
        """Make a standby the primary."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute("select pg_promote()")

    def remove(self) -> None:
        """Stop it, and leave nothing behind."""
        if self._postmaster is not None:
            self.stop_at_once()
        self._log.close()
        shutil.rmtree(self._folder)

    def _make_directory(self) -> None:
        self._data.mkdir(mode=0o700)
        self._account.own(self._data)

    def _run(self, program: str, *arguments: str | Path) -> None:
        made = self._account.popen([self._programs / program, *arguments], self._log.fileno())
        assert made.wait() == 0, (self._folder / "log").read_text()
