"""What is told of an error: its class, its words, and the lines that it came from.

Called by verdicts.  Promises: no error is too odd to be told; secrets are taken out before anything
is cut; in a traceback the author's own lines are marked, and kept where others are left out.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

import tenure
from tenure.base import text

ERROR_LIMIT = 64_000
TRACEBACK_LIMIT = 16_000
_CLASS_LIMIT = 200
# One frame, one line of an error's words: beyond this it is cut by itself.
_PIECE_LIMIT = 2_000
_CUT_LIMIT = 100
_DEEPEST = 1_000
_FRAME = re.compile(r"[ |+]*(?P<mark>>?) +File \"")

_OURS = str(Path(tenure.__file__).parent) + os.sep
_LIBRARIES = (
    _OURS,
    "<frozen ",
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)


class Told(msgspec.Struct, frozen=True):
    """What rows hold of an error."""

    error_class: str
    error: str
    traceback: str | None = None


def told(
    error: BaseException,
    hide: Callable[[str], str] = str,
    *,
    handler: Callable[..., object] | None = None,
    remark: str = "",
) -> Told:
    """An error as rows hold it; ``hide`` takes secrets out, ``remark`` is added to its words.

    The author's lines are those of the handler's package, and all that belong to no library.
    """
    name = text.storable(type(error).__name__, _CLASS_LIMIT)
    try:
        said = f"{error} {remark}" if remark else str(error)
    except BaseException as odd:  # noqa: BLE001 - an error that cannot be printed harms nobody
        said = f"{name} cannot be printed ({type(odd).__name__})"
    try:
        lines = _traceback(error, hide, _package(handler))
    except BaseException as odd:  # noqa: BLE001 - as above
        lines = f"no traceback can be had ({type(odd).__name__})"
    return Told(name, text.storable(hide(said), ERROR_LIMIT), lines)


def words(error_class: str, said: str, hide: Callable[[str], str] = str) -> Told:
    """As ``told``, for a failure that no exception stands for."""
    return Told(error_class, text.storable(hide(said), ERROR_LIMIT))


class _Frames(traceback.StackSummary):
    """Frames as they are printed, the author's with a mark in the margin."""

    package: str | None = None

    def format_frame_summary(self, frame_summary: traceback.FrameSummary, **options: object) -> str:
        del options  # colours, on newer Pythons
        frame = frame_summary
        mark = ">" if _own(frame.filename, self.package) else " "
        lines = [f'{mark} File "{_near(frame.filename)}", line {frame.lineno}, in {frame.name}']
        lines += [f"{mark}   {frame.line.strip()}"] if frame.line else []
        return "\n".join(lines) + "\n"


def _package(handler: Callable[..., object] | None) -> str | None:
    """The folder of the package that a handler belongs to, or the file of its module."""
    module: str = getattr(inspect.unwrap(handler), "__module__", "") if handler else ""
    root = module.partition(".")[0]
    # The demo's automations are Tenure's own: there, only their module is the author's.
    file = getattr(sys.modules.get(module if root == tenure.__name__ else root), "__file__", None)
    if file is None:
        return None
    path = Path(file)
    return str(path.parent) + os.sep if path.name == "__init__.py" else str(path)


def _own(filename: str, package: str | None) -> bool:
    if package is not None and filename.startswith(package):
        return True
    return not filename.startswith(_LIBRARIES)


def _near(filename: str) -> str:
    """A file below the folder the worker runs in goes by its way from there."""
    return filename.removeprefix(str(Path.cwd()) + os.sep)


def _traceback(error: BaseException, hide: Callable[[str], str], package: str | None) -> str:
    whole = traceback.TracebackException(
        type(error), error, error.__traceback__, limit=-_DEEPEST, compact=True
    )
    for part in _parts(whole):
        frames = _Frames(part.stack)
        frames.package = package
        own = [n for n, frame in enumerate(frames) if _own(frame.filename, package)]
        del frames[: own[0] if own else 0]  # how the handler came to be called is no news
        part.stack = frames
    pieces = [text.storable(hide(piece.rstrip("\n")), _PIECE_LIMIT) for piece in whole.format()]
    return _fitted([f"{piece}\n" for piece in pieces])


def _parts(whole: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """An error and all that it came of or gathers."""
    waiting: list[traceback.TracebackException | None] = [whole]
    while waiting:
        part = waiting.pop()
        if part is not None:
            yield part
            waiting += [part.__cause__, part.__context__, *(part.exceptions or ())]


def _fitted(pieces: list[str]) -> str:
    """The pieces within the limit: libraries' frames go first, then the author's, oldest first."""
    over = sum(len(piece.encode()) for piece in pieces) - TRACEBACK_LIMIT
    gone: set[int] = set()
    if over > 0:
        over += _CUT_LIMIT
        frames = [
            (n, found["mark"]) for n, piece in enumerate(pieces) if (found := _FRAME.match(piece))
        ]
        for n, _ in sorted(frames, key=lambda frame: (frame[1] == ">", frame[0])):
            if over <= 0:
                break
            gone.add(n)
            over -= len(pieces[n].encode())
    kept = "".join(piece for n, piece in enumerate(pieces) if n not in gone)
    shown = f"[cut: {len(gone)} frames]\n{kept}" if gone else kept
    return text.storable(shown.rstrip("\n"), TRACEBACK_LIMIT)
