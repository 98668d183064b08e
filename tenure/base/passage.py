"""The mark that a connection, lookup or subprocess is Tenure's own.

Owned at the lowest floor because two strangers need it: what opens connections (the carriers, the
database's connections, the worker's own children) opens a passage, and the guard of a dry-run or
shadow process asks whether one is open.  It promises that a passage covers only the code inside
its ``with``: not other threads, not other tasks, and not a task or callback that was started
inside and outlives it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Passage:
    """One passage; contexts copied while it was open see it close."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = True


_passage: ContextVar[_Passage | None] = ContextVar("tenure_passage", default=None)


@contextmanager
def passage() -> Iterator[None]:
    """Let the guard pass what is done inside; keep it as narrow as the call it is for."""
    mine = _Passage()
    token = _passage.set(mine)
    try:
        yield
    finally:
        mine.open = False
        _passage.reset(token)


def is_open() -> bool:
    """Whether the calling code stands inside a passage that has not ended."""
    current = _passage.get()
    return current is not None and current.open
