"""Whatever others may use says what it is; every test says what it promises."""

from __future__ import annotations

import ast
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

# path or path::dotted.name -> reason.
SIGNED: dict[str, str] = {}

# What says elsewhere what it is: at the method it overrides, at the getter, at the implementation.
_SPOKEN_FOR = {"override", "overload", "setter", "deleter"}


def silent(top: Path, root: Path) -> Iterator[Finding]:
    """Modules, public classes, functions and methods, and tests, that have no docstring."""
    for path in files(top, ".py"):
        place, module = relative(path, root), parsed(path)
        if not ast.get_docstring(module):
            yield Finding(place, place, "the module does not say what it owns and promises")
        functions = {name for name, node in scopes(module) if isinstance(node, Function)}
        for name, node in scopes(module):
            if _inside(name, functions) or not _public(name) or _spoken_for(node):
                continue
            if not ast.get_docstring(node):
                where = f"{place}:{node.lineno}"
                yield Finding(f"{place}::{name}", where, f"{name} has no docstring")


def _inside(name: str, functions: set[str]) -> bool:
    # What stands inside a function is that function's own affair.
    parts = name.split(".")
    return any(".".join(parts[:length]) in functions for length in range(1, len(parts)))


def _public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def _spoken_for(node: Function | ast.ClassDef) -> bool:
    last = (ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list)
    return not _SPOKEN_FOR.isdisjoint(last)


def test_everything_public_says_what_it_is() -> None:
    """Modules, public classes and functions, and every test, have a docstring."""
    hold([*silent(PACKAGE, ROOT), *silent(TESTS, ROOT)], SIGNED)


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n",
        '"""M."""\ndef f(): ...\n',
        '"""M."""\nasync def f(): ...\n',
        '"""M."""\nclass A:\n  x = 1\n',
        '"""M."""\nclass A:\n  """A."""\n  def f(self): ...\n',
        '"""M."""\nif True:\n  def f(): ...\n',
        '"""M."""\ndef test_it():\n  assert 1\n',
        '"""M."""\ndef f():\n  ""\n',
    ],
)
def test_silence_is_found(tmp_path: Path, source: str) -> None:
    """A module, class, function, method or test without a docstring is found."""
    (tmp_path / "planted.py").write_text(source)
    assert len(list(silent(tmp_path, tmp_path))) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""M."""\ndef _f(): ...\n',
        '"""M."""\nclass _A:\n  def f(self): ...\n',
        '"""M."""\nclass A:\n  """A."""\n  def __len__(self): ...\n',
        '"""M."""\ndef f():\n  """F."""\n  def g(): ...\n',
        '"""M."""\nclass A(B):\n  """A."""\n  @typing.override\n  def f(self): ...\n',
    ],
)
def test_what_is_private_or_spoken_for_may_be_silent(tmp_path: Path, source: str) -> None:
    """Private names, special methods, inner functions and overrides need no docstring."""
    (tmp_path / "planted.py").write_text(source)
    assert list(silent(tmp_path, tmp_path)) == []
