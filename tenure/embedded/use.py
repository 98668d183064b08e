"""A user's side: take a share of the server, hire a keeper where there is none, leave again.

Called by whoever needs an embedded database.  Promises that several processes may start and stop
at once, that the server stays for as long as one of them uses it, and that the last one's
``stop`` returns when the server has gone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tenure.base import json
from tenure.base.errors import ConfigurationError, DatabaseUnavailable, TenureError
from tenure.embedded import binaries as programs
from tenure.embedded.place import ALONE, KEEPER, SHARED, TURN, USERS, Place, give_back, wait_for
from tenure.embedded.server import START_WITHIN, dismiss

_HIRE_WITHIN = 2 * START_WITHIN  # initdb and the first start
_STOP_WITHIN = 60.0
_CAUSES = {cause.__name__: cause for cause in (ConfigurationError, DatabaseUnavailable)}


class _Report(msgspec.Struct):
    """What a keeper says when its start is over: nothing, or why it failed."""

    kind: str = ""
    message: str = ""
    hint: str = ""


class Embedded:
    """One user's share of a running server: its address until ``stop``, or the process's end.

    A child made by fork shares it, and the server stays until both have stopped or ended; one
    started with exec or spawn does not, and calls ``start`` itself.
    """

    def __init__(self, place: Place, share: int) -> None:
        """Keep the share; made by ``start`` alone."""
        self.directory = place.directory
        self.url = place.url()
        self._place = place
        self._share: int | None = share

    def stop(self) -> None:
        """Give the share back; the last user's call returns when the server has gone.

        Raises ``DatabaseUnavailable`` where it has not gone within a minute.
        """
        share, self._share = self._share, None
        if share is None:
            return
        os.close(share)  # not given back: a forked child may have a part in it
        with _turn(self._place):
            if not wait_for(lambda: _left(self._place), _STOP_WITHIN):
                raise _overdue(self._place, "did not stop", _STOP_WITHIN)

    def __enter__(self) -> Self:
        """Use it in a block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop at the block's end."""
        self.stop()


def start(
    directory: Path, *, binaries: Path | None = None, shared_buffers: str = "128MB"
) -> Embedded:
    """Use the server of this folder, which is started, and its data made, where it is not yet.

    ``binaries`` and ``shared_buffers`` count for the user whose call starts the server.  Blocks,
    a second or two for a new data directory.  Raises ``ConfigurationError`` where there are no
    PostgreSQL programs or the folder cannot be used, ``DatabaseUnavailable`` with the tail of the
    server's log where it does not start.
    """
    place = Place(directory)
    place.make()
    with _turn(place):
        # A keeper that is stopping has this lock alone, and ends before it gives it back.
        share = wait_for(lambda: place.take(USERS, SHARED), _STOP_WITHIN)
        if share is None:
            raise _overdue(place, "did not stop", _STOP_WITHIN)
        try:
            served = wait_for(lambda: _served(place, binaries, shared_buffers), START_WITHIN)
        except BaseException:
            give_back(share)
            raise
        if served:
            return Embedded(place, share)
        give_back(share)
        raise _overdue(place, "did not answer", START_WITHIN)


def made(directory: Path) -> bool:
    """Whether this folder has the data of a server; nothing is touched."""
    return (Place(directory).data / "PG_VERSION").exists()


@contextlib.contextmanager
def _turn(place: Place) -> Iterator[None]:
    """One user at a time comes or leaves.

    One that comes must not take a server for served that a new keeper is about to stop because
    its own was killed; to one that leaves, another one's look at the locks would pass for a user.
    """
    turn = wait_for(lambda: place.take(TURN, ALONE), _HIRE_WITHIN)
    if turn is None:
        raise _overdue(place, "is waited for by another process, which did not end", _HIRE_WITHIN)
    try:
        yield
    finally:
        give_back(turn)


def _served(place: Place, binaries: Path | None, shared_buffers: str) -> bool:
    """Whether a keeper's server answers; hires the keeper where there is none.

    We share the users' lock, so a keeper that is there does not stop.
    """
    vacancy = place.take(KEEPER, ALONE)
    if vacancy is not None:
        try:
            _hire(place, vacancy, programs.find(binaries), shared_buffers)
        finally:
            os.close(vacancy)  # the keeper inherited it: the lock is its own now
    return place.answers()


def _hire(place: Place, vacancy: int, binaries: Path, shared_buffers: str) -> None:
    place.turn_log()
    log = place.open_log()
    keeper = [sys.executable, "-P", "-m", "tenure.embedded.keeper"]
    # The keeper finds the modules that we found, however we came by them.
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    try:
        told = subprocess.run(
            [*keeper, place.directory, binaries, shared_buffers, str(vacancy)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": path},
            pass_fds=(vacancy,),
            start_new_session=True,  # a Ctrl-C at our terminal is not meant for the server
            timeout=_HIRE_WITHIN,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as error:
        raise _overdue(place, "did not start", _HIRE_WITHIN) from error
    finally:
        os.close(log)
    if not told:
        raise DatabaseUnavailable(
            f"the keeper of {place.directory} ended before its server started. "
            f"The log ends:\n{place.log_tail()}\n",
            hint=f"Read {place.log}.",
        )
    report = json.convert(json.decode(told), _Report)
    if report.kind:
        raise _CAUSES.get(report.kind, TenureError)(report.message, hint=report.hint)


def _left(place: Place) -> bool:
    """Whether nothing is left to wait for: others use the server, or it has gone."""
    alone = place.take(USERS, ALONE)
    if alone is None:
        others = place.take(USERS, SHARED)
        if others is None:
            return False  # the keeper has it, and is stopping
        give_back(others)
        return True
    try:
        vacancy = place.take(KEEPER, ALONE)
        if vacancy is None:
            return False  # the keeper is about to find that nobody uses its server
        try:
            dismiss(place)  # left by a keeper that was killed
        finally:
            give_back(vacancy)
        return True
    finally:
        give_back(alone)


def _overdue(place: Place, what: str, seconds: float) -> TenureError:
    return DatabaseUnavailable(
        f"the embedded PostgreSQL in {place.directory} {what} within {seconds:g} s. "
        f"Its log ends:\n{place.log_tail()}\n",
        hint=f"Read {place.log}; the processes that use it hold {place.directory / USERS}.",
    )
