"""What commands print: tables and sentences for people, JSON for programs.

Called by every command.  Promises: with ``--json`` standard output holds one JSON value; text is as
wide as the terminal, and as long as it needs to be where there is none; no colour where nobody sees
it, or where NO_COLOR is set.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

import click
import msgspec

_UNBOUNDED = 1_000
_GAP = 2
# The last column may be broken into lines of so many characters.
_LAST = 24


def notice(line: str) -> None:
    """A line for people that is no part of the answer."""
    click.echo(printable(line), err=True)


def json(value: object) -> None:
    """The answer as one JSON value."""
    text = msgspec.json.encode(value)
    click.echo(msgspec.json.format(text, indent=2))


def width() -> int | None:
    """The terminal's width in characters; None where standard output is none."""
    if not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns, 40)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under their headings; where they are too wide, the last column is broken."""
    from rich.console import Console  # noqa: PLC0415 - JSON and sentences need no rich
    from rich.table import Table  # noqa: PLC0415 - as above

    cells = [[_cell(value) for value in row] for row in rows]
    style = "bold" if _styled() else ""
    drawn = Table(box=None, pad_edge=False, header_style=style, padding=(0, _GAP, 0, 0))
    for number, column in enumerate(columns):
        drawn.add_column(column, no_wrap=number < len(columns) - 1, overflow="fold")
    for row in cells:
        drawn.add_row(*row)
    console = Console(
        width=max(width() or _UNBOUNDED, _least(columns, cells)),
        no_color=not _styled(),
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as captured:
        console.print(drawn)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _least(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """The width below which a table would be no table; a narrower terminal breaks its lines."""
    longest = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    return sum(longest[:-1]) + _GAP * len(longest) + min(longest[-1], _LAST)


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
