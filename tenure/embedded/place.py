"""The engine's folder: its paths, its locks, its socket and its log.

Called by users, the keeper and the server alike.  Owns the names in the folder:

    pg/           data directory
    pg.log        all that the server and its keeper printed
    run/          private folder of the socket; where its path is too long for an address,
    socket        leads to a private one in the system's temporary folder instead
    users.lock    shared by every user; the keeper has it alone once nobody uses the server
    keeper.lock   held as long as there is a keeper
    turn.lock     held by a user that is coming, or that has left and looks whether it was the last

All locks are the system's (flock): they vanish with the last process that has them open, however
it ends.  Children that were started with exec do not have them; forked ones share their parent's.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import select
import socket
import stat
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from tenure.base.clock import now
from tenure.base.errors import ConfigurationError

T = TypeVar("T")

USERS, KEEPER, TURN = "users.lock", "keeper.lock", "turn.lock"
ALONE, SHARED = fcntl.LOCK_EX, fcntl.LOCK_SH
SUPERUSER, PORT = "postgres", 5432

_SOCKET = f".s.PGSQL.{PORT}"
_LONGEST_SOCKET = 103  # bytes of an address: 107 on Linux, 103 on macOS and the BSDs
_LARGEST_LOG = 10_000_000
_STEP = 0.02
_PARAMETERS = f"user\0{SUPERUSER}\0database\0postgres\0\0".encode()
_HELLO = struct.pack("!ii", 8 + len(_PARAMETERS), 3 << 16) + _PARAMETERS
_NOT_NOW = b"57P03"  # cannot_connect_now: starting, recovering or stopping


def wait_for(fact: Callable[[], T], within: float) -> T:
    """The fact once it is neither None nor False, else as it is after so many seconds.

    For facts that no event announces.
    """
    deadline = now() + within
    while (found := fact()) is None or found is False:
        if now() > deadline:
            break
        select.select((), (), (), _STEP)
    return found


def give_back(lock: int) -> None:
    """Release a lock at once, also where a fork meanwhile has given a child a share of it."""
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def _fits(directory: Path) -> bool:
    return len(os.fsencode(directory / _SOCKET)) <= _LONGEST_SOCKET


class Place:
    """One engine's folder, by its real path."""

    def __init__(self, directory: Path) -> None:
        """Name the paths; nothing is touched."""
        self.directory = directory.resolve()  # one name, whichever link leads here
        self.data = self.directory / "pg"
        self.log = self.directory / "pg.log"
        self.run = self.directory / "run"
        self.socket = self.directory / "socket"

    def make(self) -> None:
        """Make the folder where there is none; one that is there keeps its permissions."""
        # As root the server runs under another account, which has to get through to pg/ and run/.
        mode = 0o711 if os.geteuid() == 0 else 0o700
        try:
            self.directory.mkdir(mode, parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error

    def take(self, name: str, kind: int) -> int | None:
        """The lock as a descriptor whose closing gives it back, or None where another has it."""
        lock = self._open(name, os.O_RDWR)
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def take_when_unused(self) -> int:
        """The users' lock alone, after waiting for as long as anybody uses the server."""
        lock = self._open(USERS, os.O_RDWR)
        fcntl.flock(lock, ALONE)
        return lock

    def open_log(self) -> int:
        """The log, opened for appending."""
        return self._open(self.log.name, os.O_WRONLY | os.O_APPEND)

    def turn_log(self) -> None:
        """Put a log that has grown large aside, in the place of the one put aside before."""
        if self.log.exists() and self.log.stat().st_size > _LARGEST_LOG:
            self.log.replace(self.log.with_suffix(".log.1"))

    def log_tail(self, start: int = 0) -> str:
        """The last lines of the log, of those behind ``start`` bytes."""
        text = self.log.read_bytes()[start:] if self.log.exists() else b""
        return "\n".join(text.decode("utf-8", "replace").splitlines()[-15:])

    def _open(self, name: str, flags: int) -> int:
        try:
            flags |= os.O_CREAT | os.O_NOFOLLOW
            opened = os.open(self.directory / name, flags, 0o600)
            if os.geteuid() == 0:  # a folder stays its owner's, even when root has used it
                owner = self.directory.stat()
                os.fchown(opened, owner.st_uid, owner.st_gid)
        except OSError as error:
            raise self._unusable(error) from error
        return opened

    def _unusable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"the engine's folder ({self.directory}) cannot be used ({error}): "
            "there is no place for a server",
            hint="Use a folder that is yours, or start as its owner.",
        )

    def socket_directory(self) -> Path:
        """Where the server's socket is: in ``run``, or in the system's temporary folder where
        that path is too long for an address; ``socket`` then leads there.
        """
        if _fits(self.run):
            return self.run
        # Named after our path: a copied folder does not take its original's server for its own.
        name = f"tenure-{hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:16]}"
        if self.socket.is_symlink() and self.socket.readlink().name == name:
            return self.socket.readlink()
        return Path(tempfile.gettempdir()) / name

    def make_socket_directory(self, owner: int) -> Path:
        """Make the socket's folder for that user's server; raises where others can enter it."""
        self.socket.unlink(missing_ok=True)
        made = self.socket_directory()
        made.mkdir(0o700, exist_ok=True)
        found = made.lstat()
        ours = made == self.run or found.st_uid in (os.geteuid(), owner)
        if not (_fits(made) and ours and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o77):
            raise ConfigurationError(
                f"the socket's folder ({made}) is not private to us, or its path too long: "
                "the server could not be reached safely",
                hint="Remove it, or set TMPDIR to a folder of yours with a short path.",
            )
        if made != self.run:
            self.socket.symlink_to(made)
        return made

    def remove_socket_directory(self) -> None:
        """Leave nothing of a stopped server in the system's temporary folder."""
        if not self.socket.is_symlink():
            return
        made = self.socket_directory()
        if made.is_dir() and not any(made.iterdir()):
            made.rmdir()
            self.socket.unlink()

    def url(self) -> str:
        """The address of the server's one database, for libpq."""
        host = quote(os.fsencode(self.socket_directory()), safe="")
        return f"postgresql://{SUPERUSER}@/postgres?host={host}&port={PORT}"

    def postmaster(self) -> int | None:
        """The server's process id as its lock file has it, whether it still runs or not."""
        try:
            return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None

    def listens(self) -> bool:
        """Whether a server has the socket open, ready or not."""
        return self._ask() is not None

    def answers(self) -> bool:
        """Whether the server takes sessions now: what it says to a first message."""
        answer = self._ask() or b""
        return answer[:1] == b"R" or (answer[:1] == b"E" and _NOT_NOW not in answer)

    def _ask(self) -> bytes | None:
        directory = self.socket_directory()
        if not _fits(directory):
            return None
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(2)
            try:
                line.connect(os.fspath(directory / _SOCKET))
            except (FileNotFoundError, ConnectionError):
                return None
            except (BlockingIOError, TimeoutError):  # there, with a full queue
                return b""
            try:
                line.sendall(_HELLO)
                return line.recv(4096)
            except (ConnectionError, TimeoutError):
                return b""
