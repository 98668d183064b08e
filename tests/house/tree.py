"""The tree as the house rules read it: files, findings, signed exceptions.

Each checker beside this module takes paths and gives findings, so that it can be run on the real
tree and on a planted violation alike.  ``unsigned`` holds findings against a table of exceptions,
and reports an exception that nothing needs any more as a finding of its own.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tenure"
TESTS = ROOT / "tests"
DOCS = ROOT / "docs"

# Made by tools, never by us: not part of what is read.
_MADE = {"__pycache__", "build", "dist", "node_modules"}
# Folders with a dot are tools' own, but for this one, which is the project's.
_OURS = {".ci"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Finding(NamedTuple):
    """One broken rule: what ``key`` it would be signed under, where it stands, what it says."""

    key: str
    where: str
    says: str

    def __str__(self) -> str:
        return f"{self.where}: {self.says}"


def relative(path: Path, root: Path = ROOT) -> str:
    """The path as it is written in tables and findings: from the root, with forward slashes."""
    return path.relative_to(root).as_posix()


def files(top: Path, *suffixes: str) -> Iterator[Path]:
    """Every file under ``top`` (or ``top`` itself) with one of the suffixes, or all, in order."""
    if top.is_file():
        if not suffixes or top.suffix in suffixes:
            yield top
        return
    if not top.is_dir():
        return
    for entry in sorted(top.iterdir()):
        if entry.is_dir():
            hidden = entry.name.startswith(".") and entry.name not in _OURS
            if not hidden and entry.name not in _MADE and not entry.name.endswith(".egg-info"):
                yield from files(entry, *suffixes)
        elif not suffixes or entry.suffix in suffixes:
            yield entry


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The module as a tree; a file that is no Python is an error of its own."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Every function and class under ``node`` with its dotted name, the inner ones too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}{child.name}"
            yield name, child
            yield from scopes(child, f"{name}.")
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from scopes(child, prefix)


def unsigned(findings: Iterable[Finding], signed: Mapping[str, str]) -> list[str]:
    """What is left of the findings after the signed exceptions, and what was signed for nothing."""
    found = list(findings)
    needed = {finding.key for finding in found}
    left = (str(finding) for finding in found if finding.key not in signed)
    stale = (f"{key}: signed as an exception, but it is none" for key in signed.keys() - needed)
    blank = (f"{key}: signed without a reason" for key, why in signed.items() if not why.strip())
    return sorted(itertools.chain(left, stale, blank))


def hold(findings: Iterable[Finding], signed: Mapping[str, str]) -> None:
    """Fail with one line for each broken rule that nobody signed."""
    left = unsigned(findings, signed)
    assert not left, "\n" + "\n".join(left)
