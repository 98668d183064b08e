"""Decisions are numbered, short, complete and indexed; what a newcomer must read stays short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import DOCS, ROOT, Finding, files, hold, relative

RECORD_LINES = 60
CONTRIBUTING_LINES = 150

_NAME = re.compile(r"^(\d{4})-[a-z0-9-]+\.md$")
_STATUS = re.compile(
    r"^Status: (?:accepted|superseded by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)), \d{4}-\d{2}-\d{2}$",
    re.MULTILINE,
)
_PARTS = ["Context", "Decision", "Consequences", "Alternatives"]


def unrecorded(folder: Path, root: Path) -> Iterator[Finding]:
    """Records out of number, too long, without one of their parts, or missing in the index."""
    index = (folder / "README.md").read_text(encoding="utf-8")
    wanted = 1
    for path in files(folder, ".md"):
        if path.name == "README.md":
            continue
        place, match = relative(path, root), _NAME.match(path.name)
        if match is None or int(match[1]) != wanted:
            yield Finding(place, place, f"{wanted:04}-title.md comes next")
        wanted += 1
        yield from _incomplete(place, path.read_text(encoding="utf-8"))
        if f"({path.name})" not in index:
            yield Finding(place, place, "is not in the index")
    for name in re.findall(r"\((\d{4}-[a-z0-9-]+\.md)\)", index):
        if not (folder / name).is_file():
            yield Finding(name, relative(folder, root), f"the index has {name}, the folder has not")


def _incomplete(place: str, text: str) -> Iterator[Finding]:
    lines = text.splitlines()
    if len(lines) > RECORD_LINES:
        yield Finding(place, place, f"{len(lines)} lines: a record has at most {RECORD_LINES}")
    if not _STATUS.search(text):
        yield Finding(
            place, place, "does not state 'Status: accepted, YYYY-MM-DD' or its successor"
        )
    if [line[3:] for line in lines if line.startswith("## ")] != _PARTS:
        yield Finding(place, place, f"its parts are {', '.join(_PARTS)}, in this order")


def test_decisions_are_recorded_in_order() -> None:
    """Every record has its number, its four parts, at most 60 lines, and its line in the index."""
    hold(unrecorded(DOCS / "decisions", ROOT), {})


def test_a_newcomer_reads_one_short_page() -> None:
    """CONTRIBUTING has at most 150 lines, and AGENTS is one line that leads to it."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    assert len(contributing) <= CONTRIBUTING_LINES
    [line] = (ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()
    assert "(CONTRIBUTING.md)" in line


_RECORD = "# 1\n\nStatus: accepted, 2026-12-01\n\n" + "".join(f"## {part}\n\n" for part in _PARTS)


@pytest.mark.parametrize(
    ("records", "index", "says"),
    [
        ({"0001-a.md": _RECORD}, "[a](0001-a.md)", []),
        ({"0001-a.md": _RECORD}, "", ["not in the index"]),
        ({}, "[a](0001-a.md)", ["the folder has not"]),
        ({"0002-a.md": _RECORD}, "[a](0002-a.md)", ["0001-title.md comes next"]),
        ({"a.md": _RECORD}, "[a](a.md)", ["0001-title.md comes next"]),
        ({"0001-a.md": _RECORD.replace("Status", "State")}, "[a](0001-a.md)", ["Status: accepted"]),
        ({"0001-a.md": _RECORD.replace("Context", "Story")}, "[a](0001-a.md)", ["its parts are"]),
        ({"0001-a.md": _RECORD + "x\n" * RECORD_LINES}, "[a](0001-a.md)", ["lines: a record"]),
    ],
)
def test_a_careless_record_is_found(
    tmp_path: Path, records: dict[str, str], index: str, says: list[str]
) -> None:
    """Each way a record can be careless is found; a careful one is let through."""
    for name, text in {**records, "README.md": index}.items():
        (tmp_path / name).write_text(text)
    found = [str(finding) for finding in unrecorded(tmp_path, tmp_path)]
    assert len(found) == len(says)
    assert all(part in line for part, line in zip(says, found, strict=True))
