"""Under whom PostgreSQL's programs run: ourselves, or somebody lesser where we are root.

Called by the server's start.  Promises that nothing outside the engine's own folder changes its
owner or permissions: where the lesser account cannot reach the programs or the folder, a user
namespace makes us look like it instead.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.base.errors import ConfigurationError

_LESSER = ("postgres", "nobody")
# The rest of our environment may hold credentials, and PG* variables would bend the server.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
_REACHES = 'test -x "$1" && "$0/initdb" --version && "$0/postgres" --version'


@dataclass(frozen=True)
class Account:
    """Ids to change to, or a command that changes them; neither: run as ourselves."""

    user: int | None = None
    group: int | None = None
    prefix: tuple[str, ...] = ()

    @property
    def uid(self) -> int:
        """Who owns what the programs make, as seen from here."""
        return os.geteuid() if self.user is None else self.user

    def popen(
        self, command: Sequence[object], log: int, *, extra: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start the command under this account, both its outputs going to the log."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return subprocess.Popen(
            [*self.prefix, *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={"LC_ALL": "C", **kept, **(extra or {})},
            user=self.user,
            group=self.group,
            extra_groups=None if self.user is None else [],
        )

    def own(self, path: Path) -> None:
        """Make a path inside the engine's folder, and all below it, this account's."""
        if os.geteuid() != 0:
            return
        user, group = self.uid, self.group or 0
        if path.lstat().st_uid == user:
            return
        # Bottom up: the top changes last, so that a chown cut short is begun again.
        # By descriptor: no link put in the way leads out of the folder.
        for _, folders, files, inside in os.fwalk(path, topdown=False):
            for name in (*folders, *files):
                os.chown(name, user, group, dir_fd=inside, follow_symlinks=False)
        os.chown(path, user, group, follow_symlinks=False)


def choose(binaries: Path, directory: Path) -> Account:
    """The account for programs in ``binaries`` and a data directory in ``directory``.

    Ourselves; as root the folder's owner, ``postgres`` or ``nobody``, whoever reaches both first;
    else ourselves, looking like one of these in a user namespace.  Raises ``ConfigurationError``
    where none will do.
    """
    ourselves = os.geteuid()
    if ourselves != 0 and _has_name(ourselves):
        return Account()
    others = list(_others(directory)) if ourselves == 0 else []
    for account in [*others, *_seeming()]:
        if _reaches(account, binaries, directory):
            return account
    raise ConfigurationError(
        f"PostgreSQL refuses to run as root or a user without a name (user {ourselves}), and no "
        f"other account reaches {binaries} and {directory}: the server cannot be started",
        hint="Run as another user, or use folders that the user postgres or nobody can traverse.",
    )


def _others(directory: Path) -> Iterator[Account]:
    owner = directory.stat()
    if owner.st_uid != 0 and _has_name(owner.st_uid):
        yield Account(owner.st_uid, owner.st_gid)
    for entry in _lesser():
        yield Account(entry.pw_uid, entry.pw_gid)


def _seeming() -> Iterator[Account]:
    for entry in _lesser():
        ids = (f"--map-user={entry.pw_uid}", f"--map-group={entry.pw_gid}")
        yield Account(prefix=("unshare", "--user", *ids))


def _has_name(user: int) -> bool:
    # initdb looks up the name of whom it runs as, and ends where there is none.
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def _lesser() -> Iterator[pwd.struct_passwd]:
    for name in _LESSER:
        with contextlib.suppress(KeyError):  # a system without that account
            yield pwd.getpwnam(name)


def _reaches(account: Account, binaries: Path, directory: Path) -> bool:
    command = ("/bin/sh", "-c", _REACHES, binaries, directory)
    try:
        return account.popen(command, subprocess.DEVNULL).wait() == 0
    except (FileNotFoundError, PermissionError):  # no unshare here, or a root that may not change
        return False
