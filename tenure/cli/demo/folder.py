"""The demo's folder, ``.tenure/demo``: emptied before a demo, removed after it.

Called by the scene.  Promises: a folder whose database is in use is left alone; nothing is removed
but what a demo puts there, and no link is followed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tenure.base.errors import Refused
from tenure.embedded.place import ALONE, KEEPER, SHARED, TURN, USERS, Place, give_back, wait_for
from tenure.embedded.server import dismiss

FOLDER = Path(".tenure") / "demo"

_OURS = ("pg", "pg.log", "pg.log.1", "run", "socket", "server.log", "worker-1.log", "worker-2.log")
_LEAVES_WITHIN = 30.0


def make() -> Path:
    """The folder, empty; raises ``Refused`` where another demo uses it."""
    if FOLDER.is_symlink() or FOLDER.parent.is_symlink():
        raise Refused(
            f"{FOLDER} is a link: what it leads to may not be the demo's to empty",
            hint="Remove the link.",
        )
    Place(FOLDER).make()
    empty()
    return FOLDER.resolve()


def empty() -> None:
    """Remove what an earlier demo left; raises ``Refused`` where somebody uses it."""
    place = Place(FOLDER)
    turn = wait_for(lambda: place.take(TURN, ALONE), _LEAVES_WITHIN)
    if turn is None:
        raise _in_use()
    try:
        locks = wait_for(lambda: _vacant(place), _LEAVES_WITHIN)
        if locks is None:
            raise _in_use()
        try:
            dismiss(place)  # a server whose keeper was killed
            for name in _OURS:
                _remove(place.directory / name)
        finally:
            for lock in locks:
                give_back(lock)
    finally:
        give_back(turn)


def _vacant(place: Place) -> tuple[int, int] | None:
    """Both locks, where nobody uses the server and its keeper has left; None while it leaves."""
    users = place.take(USERS, ALONE)
    if users is None:
        others = place.take(USERS, SHARED)
        if others is not None:
            give_back(others)
            raise _in_use()
        return None
    keeper = place.take(KEEPER, ALONE)
    if keeper is None:
        give_back(users)
        return None
    return users, keeper


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _in_use() -> Refused:
    return Refused(
        f"the database in {FOLDER} is in use: another demo may be running",
        hint="Wait for it to end, or end the commands that use that database.",
    )
