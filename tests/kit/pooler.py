"""PgBouncer in transaction mode before a server: ``make pooler`` puts every story behind it.

A few server connections for all, handed out transaction by transaction, so that whatever leans on a
session is found out.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.kit.facts import until

_PORT = "6432"
_CONNECTIONS = 8
_SETTINGS = """
[databases]
* = host={host} port={port} user={user}

[pgbouncer]
listen_addr =
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 1000
pidfile = {folder}/pid
"""


class Pooler:
    """One PgBouncer, running while the block does."""

    def __init__(self, url: str) -> None:
        """``url`` leads to a server's unix socket."""
        self._server = conninfo_to_dict(url)
        self._folder = Path(tempfile.mkdtemp(prefix="pooler-"))
        self._popen: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        """The address of a database behind it."""
        user = str(self._server["user"])
        return make_conninfo(host=str(self._folder), port=_PORT, dbname=database, user=user)

    def __enter__(self) -> Self:
        """Start it; where this account is root's, which it refuses to be, as the server's own."""
        program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
        assert program, "there is no pgbouncer here: `make pooler` installs it"
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                host=self._server["host"],
                port=self._server.get("port") or 5432,
                user=self._server["user"],
                own_port=_PORT,
                folder=self._folder,
                connections=_CONNECTIONS,
            )
        )
        command = [program, str(settings)]
        if os.getuid() == 0:
            owner = pwd.getpwuid(Path(str(self._server["host"])).stat().st_uid)
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
            command[1:1] = ["--user", owner.pw_name]
        self._folder.chmod(0o711)
        self._popen = subprocess.Popen(command)
        until(self._answers, "the pooler answers")
        return self

    def _answers(self) -> bool:
        assert self._popen is not None
        assert self._popen.poll() is None, "PgBouncer ended: see what it said above"
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        if self._popen is not None:
            self._popen.terminate()
            self._popen.wait()
        shutil.rmtree(self._folder)
