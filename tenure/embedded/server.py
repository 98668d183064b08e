"""One PostgreSQL server: its data directory made, its postmaster started, and both ends of it.

Called by the keeper, which is the postmaster's parent, and by the last user where the keeper was
killed.  Promises: durability settings that no file can switch off, no TCP, and a data directory
that is either whole or absent.  It never removes ``postmaster.pid``: PostgreSQL judges that itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tenure.base.errors import ConfigurationError, DatabaseUnavailable
from tenure.embedded import account as accounts
from tenure.embedded import binaries as programs
from tenure.embedded.place import PORT, SUPERUSER, Place, wait_for

START_WITHIN = 120.0  # seconds, recovery after a crash included
_LEFT_BEHIND_WITHIN = 15.0  # seconds for sessions of a killed postmaster to notice and end
# Fast, then immediate (recovers at the next start), then by force; with seconds to wait.
_ENDS = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
_STAGING = "pg.new-"
_INITDB = (
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    "--locale=C",
    "--auth-local=trust",  # whoever gets through to the socket: its folder is private
    "--auth-host=reject",
    "--data-checksums",
    "--no-instructions",
)
# Sorted the same on every system and by every build of PostgreSQL that opens the data directory.
_BUILTIN_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8")
_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
    "logging_collector": "off",
    "log_destination": "stderr",
    "lc_messages": "C",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Server:
    """A server in a place, started again as often as asked, with one postmaster at a time."""

    def __init__(self, place: Place, binaries: Path, shared_buffers: str) -> None:
        """Remember where and how; nothing is started."""
        self._place = place
        self._binaries = binaries
        self._shared_buffers = shared_buffers
        self._postmaster: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and return once it answers; the data directory is made at need.

        Raises ``ConfigurationError`` or ``DatabaseUnavailable`` with the tail of the log.
        """
        dismiss(self._place)
        account = accounts.choose(self._binaries, self._place.directory)
        self._initialise(account)
        account.own(self._place.data)
        sockets = self._place.make_socket_directory(account.uid)
        account.own(sockets)
        log = self._place.open_log()
        try:
            settings = self._settings(sockets)
            if not wait_for(lambda: self._launched(account, log, settings), _LEFT_BEHIND_WITHIN):
                raise self._failed("sessions of its predecessor do not end", self._place.log_tail())
        finally:
            os.close(log)

    def wait(self) -> None:
        """Return when the postmaster has ended, however it did."""
        if self._postmaster is not None:
            self._postmaster.wait()

    def stop(self) -> None:
        """Stop the server and return when its postmaster is gone, within 45 seconds."""
        postmaster = self._postmaster
        if postmaster is not None:
            _end(postmaster.pid, lambda: postmaster.poll() is not None)
        self._place.remove_socket_directory()

    def _settings(self, sockets: Path) -> list[str]:
        quoted = os.fspath(sockets).replace('"', '""')
        settings = {
            **_SETTINGS,
            "shared_buffers": self._shared_buffers,
            "unix_socket_directories": f'"{quoted}"',
        }
        return [word for item in settings.items() for word in ("-c", "=".join(item))]

    def _launched(self, account: accounts.Account, log: int, settings: list[str]) -> bool:
        """Whether the server answers now; False where sessions of a killed postmaster hold on."""
        # A dead postmaster whose parent died too stays a zombie until somebody reaps it, and its
        # id may belong to another program since: PostgreSQL would refuse to start for either.
        # Named as a grandparent it is disregarded; shared memory still attached alone decides.
        old = self._place.postmaster()
        disregarded = {} if old is None else {"PG_GRANDPARENT_PID": str(old)}
        start = self._place.log.stat().st_size
        command = [self._binaries / "postgres", "-D", self._place.data, *settings]
        postmaster = account.popen(command, log, extra=disregarded)
        self._postmaster = postmaster
        news = wait_for(
            lambda: postmaster.poll() is not None or self._place.answers(), START_WITHIN
        )
        if news and postmaster.poll() is None:
            return True
        _end(postmaster.pid, lambda: postmaster.poll() is not None)
        printed = self._place.log_tail(start)
        if "still in use" in printed:
            return False
        raise self._failed("no session can be had", printed)

    def _failed(self, meaning: str, printed: str) -> DatabaseUnavailable:
        return DatabaseUnavailable(
            f"the embedded PostgreSQL in {self._place.directory} did not start: {meaning}. "
            f"Its log ends:\n{printed}\n",
            hint=f"Read {self._place.log}.",
        )

    def _initialise(self, account: accounts.Account) -> None:
        """Make the data directory beside its place and move it there whole."""
        for left in self._place.directory.glob(f"{_STAGING}*"):
            # One that is still written to by what a killed keeper left running goes next time.
            shutil.rmtree(left, ignore_errors=True)
        version = programs.major(self._binaries)
        if self._made_by(version):
            return
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self._place.directory))
        account.own(staging)
        self._initdb(account, staging, _BUILTIN_LOCALE if version >= 17 else ())
        staging.rename(self._place.data)
        _sync(self._place.directory)

    def _made_by(self, version: int) -> bool:
        """Whether there is a data directory; raises where other versions made it."""
        stamp = self._place.data / "PG_VERSION"
        if not stamp.exists():
            return False
        made_by = stamp.read_text().strip()
        if made_by != str(version):
            raise ConfigurationError(
                f"{self._place.data} was made by PostgreSQL {made_by}, and the programs in "
                f"{self._binaries} are of {version}: they cannot open it",
                hint=f"Set TENURE_PG_BIN to the programs of PostgreSQL {made_by}.",
            )
        return True

    def _initdb(self, account: accounts.Account, staging: Path, locale: tuple[str, ...]) -> None:
        log = self._place.open_log()
        initdb = account.popen([self._binaries / "initdb", "-D", staging, *_INITDB, *locale], log)
        os.close(log)
        try:
            wait_for(lambda: initdb.poll() is not None, START_WITHIN)
        finally:
            initdb.kill()  # nothing to one that has ended
        if initdb.wait() == 0:
            return
        shutil.rmtree(staging, ignore_errors=True)
        raise self._failed("initdb made no data directory", self._place.log_tail())


def dismiss(place: Place) -> None:
    """Stop a server that lost its keeper; only for the holder of the keeper's lock.

    Whoever listens on the folder's private socket is a postmaster of its data directory, so that
    a process that merely got the same id is never sent a signal.
    """
    postmaster = place.postmaster()
    if postmaster is None or not place.listens():
        return
    _end(postmaster, lambda: not place.listens())
    # It closes its socket before it removes its lock file, and would remove its successor's.
    wait_for(lambda: place.postmaster() != postmaster, 1.0)
    place.remove_socket_directory()


def _end(postmaster: int, ended: Callable[[], bool]) -> None:
    for kind, seconds in _ENDS:
        if ended():
            return
        try:
            os.kill(postmaster, kind)
        except ProcessLookupError:  # it came to its end by itself meanwhile
            return
        wait_for(ended, seconds)


def _sync(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
