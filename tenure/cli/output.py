"""What commands print: tables and sentences for people, JSON for programs.

Called by every command.  Promises: with ``--json`` standard output holds one JSON value; text is as
wide as the terminal, and as long as it needs to be where there is none; a row that does not fit is
told line by line and never wrapped by the terminal; no colour where nobody sees it, or where
NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TextIO

import click
import msgspec

_USUAL = 80  # columns, of a terminal that does not say
_GAP = 2
_FOLDED = 24  # characters: the shortest lines that a column is broken into


def notice(line: str) -> None:
    """A line for people that is no part of the answer."""
    click.echo(printable(line), err=True)


def json(value: object) -> None:
    """The answer as one JSON value."""
    text = msgspec.json.encode(value)
    click.echo(msgspec.json.format(text, indent=2))


def width(stream: TextIO | None = None) -> int | None:
    """The width in characters of a terminal, standard output's; None where it is none."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    return max(columns or _USUAL, 40)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    spare: Sequence[str] = (),
    fold: Sequence[str] = (),
) -> None:
    """Rows under their headings; where they are too wide, the last column and ``fold`` are broken.

    On a terminal that is narrower still, columns that hold nothing are left out, then those of
    ``spare`` in their order; where that is not enough, each row is told line by line.
    """
    broken = {*fold, columns[-1]}
    found = {name: [_cell(row[at]) for row in rows] for at, name in enumerate(columns)}
    room = width()
    if room is None:
        _drawn(found, broken, _least(found, ()))
        return
    empty = [name for name in columns if not any(found[name])]
    left_out = []
    for name in dict.fromkeys((*empty, *spare)):
        if _least(found, broken) <= room:
            break
        del found[name]
        left_out += [] if name in empty else [name]
    if _least(found, broken) > room:
        _paragraphs(columns, rows, room)
        return
    _drawn(found, broken, room)
    if left_out:
        notice(f"left out, as there is no room: {', '.join(left_out)} (--json has everything)")


def _drawn(found: Mapping[str, Sequence[str]], fold: Collection[str], room: int) -> None:
    from rich.console import Console  # noqa: PLC0415 - JSON and sentences need no rich
    from rich.table import Table  # noqa: PLC0415 - as above

    style = "bold" if _styled() else ""
    drawn = Table(box=None, pad_edge=False, header_style=style, padding=(0, _GAP, 0, 0))
    for name in found:
        drawn.add_column(name, no_wrap=name not in fold, overflow="fold")
    for row in zip(*found.values(), strict=True):
        drawn.add_row(*row)
    console = Console(
        width=room, no_color=not _styled(), highlight=False, markup=False, emoji=False
    )
    with console.capture() as captured:
        console.print(drawn)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _least(found: Mapping[str, Sequence[str]], fold: Collection[str]) -> int:
    """The width that a table needs where columns of ``fold`` may be broken."""
    from rich.cells import cell_len  # noqa: PLC0415 - JSON and sentences need no rich

    widths = [
        min(max(map(cell_len, (name, *cells))), _FOLDED if name in fold else sys.maxsize)
        for name, cells in found.items()
    ]
    return sum(widths) + _GAP * (len(widths) - 1)


def _paragraphs(columns: Sequence[str], rows: Sequence[Sequence[object]], room: int) -> None:
    """Each row as a paragraph: a line for each of its columns that holds anything."""
    margin = max(map(len, columns)) + _GAP
    for number, row in enumerate(rows):
        if number:
            click.echo()
        for column, value in zip(columns, row, strict=True):
            if cell := _cell(value):
                first, *more = _broken(cell, max(room - margin, _FOLDED))
                name = click.style(column, bold=True) if _styled() else column
                click.echo(f"{name}{' ' * (margin - len(column))}{first}")
                for line in more:
                    click.echo(f"{' ' * margin}{line}")


def _broken(text: str, room: int) -> list[str]:
    lines = [textwrap.wrap(line, room, break_on_hyphens=False) for line in text.split("\n")]
    return [line for broken in lines for line in broken] or [""]


def heading(text: str) -> None:
    """A line that opens a part of the answer."""
    text = printable(text)
    click.echo(click.style(text, bold=True) if _styled() else text)


def printable(text: str) -> str:
    r"""The text as a terminal may have it: what would steer it is written out, as ``\x1b``."""
    return "".join(
        each if each == "\n" or each.isprintable() else each.encode("unicode_escape").decode()
        for each in text.replace("\r\n", "\n")
    )


def _styled() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def sentence(text: str, *, indent: int = 0) -> None:
    """A sentence, broken at the terminal's width."""
    columns = width()
    margin = " " * indent
    lines = [margin + line for line in printable(text).split("\n")]
    if columns is not None:
        lines = [
            textwrap.fill(
                line.strip(),
                columns,
                initial_indent=margin,
                subsequent_indent=margin,
                break_long_words=False,
                break_on_hyphens=False,
            )
            for line in lines
        ]
    click.echo("\n".join(lines))


def instant(at: datetime | None) -> str:
    """A moment for people: UTC, to the second; empty where there is none."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if at else ""


def jobs(number: int) -> str:
    """So many jobs, for people."""
    return "1 job" if number == 1 else f"{number} jobs"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, list | tuple):
        return printable(", ".join(str(item) for item in value))
    return printable(str(value))
