"""The line that says how far the demo is."""

from __future__ import annotations

import pytest

from tests.cli.test_output import on_a_terminal

_CLEAR = "\r\x1b[2K"
_LONG_DAY = """
from tenure.cli.demo.progress import Progress
from tenure.cli.demo.sender import Told
states = dict.fromkeys(("succeeded", "failed", "held", "lost", "ready", "running", "waiting"), 1234)
progress = Progress()
for what in ("replaying", "replaying", "ending"):
    progress.show([], states, what)
progress.done()
"""


@pytest.mark.parametrize("columns", [80, 120])
def test_the_living_line_is_never_broken(columns: int) -> None:
    """However much there is to say, each saying takes the place of the one before it."""
    printed = on_a_terminal(_LONG_DAY, columns)
    assert "\n" not in printed
    before, *sayings, after = printed.split(_CLEAR)
    assert before == after == ""
    assert len(sayings) == 3
    assert all("0 events" in saying and len(saying) < columns for saying in sayings)
    assert all("2468 ended" in saying for saying in sayings)
