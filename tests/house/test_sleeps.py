"""Tests wait for facts, never for time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, TESTS, Finding, files, hold, relative

# An automation's own waiting, ctx.sleep, is what some tests are about: it ends the run at once.
_CALL = re.compile(r"(?<![\w.])(?:(?P<of>[\w.]+)\.)?(?P<verb>(?:pg_)?" + r"sleep)\s*\(")
_AUTHORS = {"ctx", "context", "self.ctx"}
# An event nobody else holds can only time out: a nap by another name. Without a limit it is
# "until killed", which a process that is to be killed may well do.
_NAP = re.compile(r"\bEvent\(\)\.wait\(\s*[^)\s]")

# path -> reason.
SIGNED: dict[str, str] = {}


def naps(top: Path, root: Path) -> Iterator[Finding]:
    """Lines that pause for a length of time, in Python, in SQL, or in text handed to a process."""
    for path in files(top, ".py", ".sql", ".sh"):
        place = relative(path, root)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            calls = [match["of"] for match in _CALL.finditer(line)]
            if any(of not in _AUTHORS for of in calls) or _NAP.search(line):
                says = f"waits for time, not for a fact: {line.strip()}"
                yield Finding(place, f"{place}:{number}", says)


def test_no_test_pauses_for_a_length_of_time() -> None:
    """Each test waits for an event, a row, a socket or a condition with a deadline."""
    hold(naps(TESTS, ROOT), SIGNED)


# Put together here, so that this file holds none of what it looks for.
_WORDS = {"nap": "sle" + "ep", "wait": "Event()" + ".wait"}


@pytest.mark.parametrize(
    "call",
    [
        "time.{nap}(1)",
        "await asyncio.{nap}(0.1)",
        "{nap}(3)",
        "anyio. {nap}(1)",
        'conn.execute("select pg_{nap}(2)")',
        '[python, "-c", "import time; time.{nap}(9)"]',
        "threading.{wait}(0.5)",
        "self.clock.{nap} (4)",
    ],
)
def test_a_nap_is_found(tmp_path: Path, call: str) -> None:
    """Every way to pause is found, in a string as in code."""
    (tmp_path / "planted.py").write_text(f"x = 1\n{call.format(**_WORDS)}\n")
    assert [finding.where for finding in naps(tmp_path, tmp_path)] == ["planted.py:2"]


@pytest.mark.parametrize(
    "call", ["await ctx.{nap}(60)", "event.wait(5)", "threading.{wait}()", "no {nap} here"]
)
def test_an_authors_wait_and_a_wait_for_a_fact_are_no_naps(tmp_path: Path, call: str) -> None:
    """What an automation does, and a wait with a deadline for what another sets, stay allowed."""
    (tmp_path / "planted.py").write_text(call.format(**_WORDS) + "\n")
    assert list(naps(tmp_path, tmp_path)) == []
