"""What is printed, on a terminal and off it."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from datetime import UTC, datetime
from fcntl import ioctl

import pytest

from tenure.base.clock import now
from tenure.cli import output
from tests.cli.conftest import clean
from tests.house.tree import ROOT

_LONG = "a sentence of many words " * 6


def on_a_terminal(script: str, columns: int, **environment: str) -> str:
    """What a script prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    own = clean(dict(os.environ)) | {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | environment
    own.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-c", script], env=own, stdin=theirs, stdout=theirs, stderr=theirs
    ) as running:
        os.close(theirs)
        printed = b"".join(_chunks(ours))
        assert running.wait(30) == 0, printed
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


def _chunks(terminal: int) -> Iterator[bytes]:
    deadline = now() + 30
    while True:
        assert select.select([terminal], [], [], max(deadline - now(), 0))[0]
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # how a terminal says that its last writer has gone
            return
        if not chunk:
            return
        yield chunk


_TABLE = """
from tenure.cli import output
output.heading("Title")
output.table(("id", "question"), [("0" * 36, "a question of many words " * 6)])
output.sentence("a sentence of many words " * 6, indent=2)
"""


def test_off_a_terminal_nothing_is_broken_or_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe each row and each sentence is one line, as long as it needs to be."""
    output.table(("id", "question"), [("1", _LONG), ("2", None)])
    output.sentence(_LONG, indent=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "id  question",
        f"1   {_LONG.strip()}",
        "2",
        f"  {_LONG}",
    ]


def test_on_a_terminal_lines_keep_to_its_width() -> None:
    """On a terminal sentences and the last column are broken at its width, ids never."""
    printed = on_a_terminal(_TABLE, 80, NO_COLOR="1")
    assert "\x1b" not in printed
    assert "0" * 36 in printed
    lines = printed.splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("  ")


def test_headings_are_bold_where_somebody_sees_it() -> None:
    """On a terminal headings stand out, unless NO_COLOR asks for nothing of the kind."""
    assert "\x1b[1mTitle" in on_a_terminal(_TABLE, 80)


def test_markup_in_values_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """What looks like markup or an emoji's name is somebody's text, and stays it."""
    output.table(("a",), [("[bold]x[/bold] :smile:",)])
    assert capsys.readouterr().out == "a\n[bold]x[/bold] :smile:\n"


def test_what_would_steer_a_terminal_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters that somebody put into a text are shown, and do nothing."""
    output.table(("a",), [("x\x1b[2Jy",)])
    output.sentence("one\x07\ntwo\x9b", indent=2)
    output.heading("three\r")
    assert capsys.readouterr().out == ("a\nx\\x1b[2Jy\n  one\\x07\n  two\\x9b\nthree\\r\n")


def test_a_moment_is_told_in_utc() -> None:
    """Moments are told in UTC, to the second."""
    assert output.instant(datetime(2026, 12, 24, 9, 30, 5, 700, tzinfo=UTC)) == (
        "2026-12-24 09:30:05 UTC"
    )
    assert output.instant(None) == ""


_ROW = '"0" * 36, "lead", "waiting", "2026-12-24 09:30:00 UTC", "live", "crm"'


def test_a_table_that_is_too_wide_leaves_out_what_can_be_spared() -> None:
    """Empty columns go first, then those that may, as few as will do; what has gone is said."""
    names = '"job", "automation", "state", "at", "mode", "lane", "why"'
    script = f"""
from tenure.cli import output
output.table(({names}), [({_ROW}, None)], spare=("why", "lane", "at", "mode"))
"""
    lines = on_a_terminal(script, 80, NO_COLOR="1").splitlines()
    assert lines[0].split() == ["job", "automation", "state", "mode"]
    assert lines[1].split() == ["0" * 36, "lead", "waiting", "live"]
    assert lines[2:] == ["left out, as there is no room: lane, at (--json has everything)"]
    whole = on_a_terminal(script, 96, NO_COLOR="1").splitlines()
    assert whole[0].split() == ["job", "automation", "state", "at", "mode", "lane"]
    assert len(whole) == 2


def test_a_row_that_fits_no_table_is_told_line_by_line() -> None:
    """Where nothing more can be left out, each row is a paragraph, and its ids stay whole."""
    script = """
from tenure.cli import output
row = ("0" * 36, "1" * 36, None, "a question of many words " * 6 + "x" * 100)
output.table(("job", "event", "why", "question"), [row, row])
"""
    lines = on_a_terminal(script, 80, NO_COLOR="1").splitlines()
    first, second = lines[: len(lines) // 2], lines[len(lines) // 2 + 1 :]
    assert first == second
    assert lines[len(first)] == ""
    assert first[:2] == ["job       " + "0" * 36, "event     " + "1" * 36]
    assert first[2].startswith("question  a question of many words")
    assert all(line.startswith(" " * 10) for line in first[3:])
    assert max(map(len, lines)) <= 80


def test_long_values_are_broken_where_that_is_allowed() -> None:
    """A column that may be broken is, before anything is left out, and keeps its own place."""
    script = """
from tenure.cli import output
row = ("0" * 36, "an automation of a very long name that nobody would type", "ready")
output.table(("job", "automation", "state"), [row], fold=("automation",), spare=("state",))
"""
    lines = on_a_terminal(script, 80, NO_COLOR="1").splitlines()
    assert lines[0].split() == ["job", "automation", "state"]
    assert lines[1].split()[0] == "0" * 36
    assert lines[2].startswith(" " * 38)
    assert max(map(len, lines)) <= 80
