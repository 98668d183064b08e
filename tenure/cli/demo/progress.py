"""One line that says how far the demo is: living on a terminal, now and then elsewhere.

Written to standard error while events come in and jobs end.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import click

from tenure.base import clock
from tenure.cli import output
from tenure.cli.demo.sender import Told

_EVERY = 3.0
_ROOMY = 110  # columns of a terminal
_CLEAR = "\r\x1b[2K"
_ENDED = ("succeeded", "failed", "cancelled")


class Progress:
    """The line; ended by ``done``."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._start = clock.now()
        self._last = float("-inf")
        self._living = sys.stderr.isatty()
        self._shown = False

    def show(self, told: Sequence[Told], states: Mapping[str, int], what: str) -> None:
        """Say how things stand, if it is time for that."""
        now = clock.now()
        if not self._living and now - self._last < _EVERY:
            return
        self._last = now
        at, how = f"{now - self._start:4.0f} s  ", _line(told, states)
        room = output.width(sys.stderr)
        line = at + how if room is not None and room < _ROOMY else f"{at}{what}: {how}"
        if room is not None:
            # A line that reaches the last column is broken there, and cannot be taken back.
            click.echo(f"{_CLEAR}{_cut(line, room - 1)}", nl=False, err=True)
            self._shown = True
        else:
            click.echo(line, err=True)

    def done(self) -> None:
        """Leave the line that was living."""
        if self._shown:
            click.echo(_CLEAR, nl=False, err=True)
            self._shown = False


def _cut(line: str, room: int) -> str:
    return line if len(line) <= room else f"{line[: room - 1]}…"


def _line(told: Sequence[Told], states: Mapping[str, int]) -> str:
    doors = Counter(
        it.outcome if it.outcome in ("accepted", "duplicate") else "refused" for it in told
    )
    jobs = Counter[str]()
    for state, count in states.items():
        jobs["ended" if state in _ENDED else state] += count
    others = sorted(state for state in jobs if state != "ended")
    said = ", ".join(f"{jobs[state]} {state}" for state in ("ended", *others))
    return (
        f"{doors['accepted']} events, {doors['duplicate']} duplicates, "
        f"{doors['refused']} refused; jobs: {said}"
    )
