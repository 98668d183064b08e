"""The project speaks of itself alone: no trace of the machine or place it was written on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, Finding, files, hold, relative

# Every pattern is put together from pieces, so that this file holds none of what it looks for.
_HOSTS = "|".join(
    re.escape(".".join(parts))
    for parts in [
        ("py" + "pi", "org"),
        ("python" + "hosted", "org"),
        ("npm" + "js", "org"),
        ("npm" + "js", "com"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("repo1", "maven", "org"),
        ("deb", "debian", "org"),
    ]
)
_FOLDERS = "|".join(["wo" + "rk", "ro" + "ot", r"ho" + r"me/\w+", r"Us" + r"ers/\w+"])

TRACES = [
    (re.compile(_HOSTS, re.IGNORECASE), "names the host of a registry"),
    (re.compile(r"(?<![\w.\-/])/(?:" + _FOLDERS + r")(?:/|\b)"), "is a path on somebody's machine"),
    (re.compile(r"(?<![\w.\-/])/(?:tmp/plan|opt/" + "wheels)"), "is a path on somebody's machine"),
    (
        re.compile("index" + "-url|find" + "-links|trusted" + "-host"),
        "says where packages come from",
    ),
    (re.compile(r"\b(?:issue|ticket|pull request) " + r"#?\d+", re.IGNORECASE), "cites a number"),
    (re.compile(r"\b(?:design|engine|contract|style)" + r"\.md\b"), "cites a paper readers lack"),
]

# path -> reason.
SIGNED: dict[str, str] = {}


def traces(top: Path, root: Path) -> Iterator[Finding]:
    """Lines that only make sense, or only work, where they were written."""
    for path in files(top):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or a font says nothing
        place = relative(path, root)
        for number, line in enumerate(text.splitlines(), start=1):
            for pattern, says in TRACES:
                if found := pattern.search(line):
                    yield Finding(place, f"{place}:{number}", f"'{found[0]}' {says}")


def test_nothing_points_to_where_it_was_written() -> None:
    """No file names a registry, a machine's folder, an issue or a paper that its reader lacks."""
    hold(traces(ROOT, ROOT), SIGNED)


_WORDS = {
    "host": "py" + "pi.org",
    "work": "/wo" + "rk",
    "home": "/ho" + "me",
    "option": "--index" + "-url",
    "number": "#1" + "2",
    "paper": "engine" + ".md",
}


@pytest.mark.parametrize(
    "line",
    [
        "pip install --some https://{host}/simple",
        "see {work}/shared for the rest",
        'path = "{work}/main"',
        "cd {home}/ann/tenure",
        "pip {option} x",
        "Fixes issue {number}.",
        "the rule is in {paper}",
    ],
)
def test_a_trace_is_found(tmp_path: Path, line: str) -> None:
    """Each kind of trace is found, in a file of any name, hidden tools' folders apart."""
    (tmp_path / "planted").write_text(f"first\n{line.format(**_WORDS)}\n")
    assert [finding.where for finding in traces(tmp_path, tmp_path)] == ["planted:2"]


@pytest.mark.parametrize(
    "line", ["https://crm.example.com{work}/1", "the frame{work}", "GET /items", "no issue at all"]
)
def test_an_address_of_the_world_is_no_trace(tmp_path: Path, line: str) -> None:
    """URLs of providers and plain words that look alike are let through."""
    (tmp_path / "planted").write_text(line.format(**_WORDS) + "\n")
    assert list(traces(tmp_path, tmp_path)) == []


def test_a_picture_is_passed_over(tmp_path: Path) -> None:
    """A file that is no text is no place for a trace."""
    (tmp_path / "planted.png").write_bytes(b"\x89PNG\xff\xfe")
    assert list(traces(tmp_path, tmp_path)) == []
