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
