"""Modules, functions and parameter lists stay small enough to be read at one sitting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import (
    PACKAGE,
    ROOT,
    TESTS,
    Finding,
    Function,
    files,
    hold,
    parsed,
    relative,
    scopes,
)

MODULE_LINES = 400
FUNCTION_LINES = 60
POSITIONAL = 5

# key -> reason. A module's key is its path; a function's is path::dotted.name.
SIGNED: dict[str, str] = {}


def oversized(top: Path, root: Path) -> Iterator[Finding]:
    """Modules of 400 lines or more, functions of 60, and lists of six positional parameters."""
    for path in files(top, ".py"):
        place = relative(path, root)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines >= MODULE_LINES:
            yield Finding(place, place, f"{lines} lines: a module has fewer than {MODULE_LINES}")
        for name, node in scopes(parsed(path)):
            if isinstance(node, Function):
                yield from _oversized_function(f"{place}::{name}", f"{place}:{node.lineno}", node)


def _oversized_function(key: str, where: str, node: Function) -> Iterator[Finding]:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    if length >= FUNCTION_LINES:
        says = f"{node.name} has {length} lines: a function has fewer than {FUNCTION_LINES}"
        yield Finding(key, where, says)
    arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    given = arguments[1:] if arguments[:1] in (["self"], ["cls"]) else arguments
    if len(given) > POSITIONAL and not _is_test(node):
        says = f"{node.name} takes {len(given)} by position: more than {POSITIONAL} go by name"
        yield Finding(key, where, says)


def _is_test(node: Function) -> bool:
    # pytest passes fixtures by name, whatever the signature says.
    return node.name.startswith("test_")


def test_everything_can_be_read_at_one_sitting() -> None:
    """No module, function or parameter list of the package or its tests is oversized."""
    found = [*oversized(PACKAGE, ROOT), *oversized(TESTS, ROOT)]
    hold(found, SIGNED)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1\n" * MODULE_LINES, ["400 lines"]),
        ("x = 1\n" * (MODULE_LINES - 1), []),
        ("def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 1), ["f has 60 lines"]),
        ("def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 2), []),
        ("class A:\n  async def f(self, a, b, c, d, e, g): ...\n", ["f takes 6"]),
        ("class A:\n  def f(self, a, b, c, d, e, *, g, h): ...\n", []),
        ("def f(a, b, /, c, d, e, g): ...\n", ["f takes 6"]),
        ("def test_f(a, b, c, d, e, g): ...\n", []),
    ],
)
def test_what_is_too_large_is_found(tmp_path: Path, source: str, says: list[str]) -> None:
    """The bound is exact: one line or parameter more is found, one less is not."""
    (tmp_path / "planted.py").write_text(source)
    found = [str(finding) for finding in oversized(tmp_path, tmp_path)]
    assert len(found) == len(says)
    assert all(part in line for part, line in zip(says, found, strict=True))
