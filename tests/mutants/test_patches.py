"""The mutants fit the tree as it is: a patch that has fallen behind is seen before it is needed."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from tests.house.tree import ROOT
from tests.mutants import patches, tree
from tests.mutants.patches import Malformed, Mutant

_ALL = patches.everything()
_PROMISES = [str(promise) for promise in range(1, 11)]


def _tests(path: Path) -> set[str]:
    module = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("mutant", _ALL, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_and_names_tests_that_exist(mutant: Mutant, tmp_path: Path) -> None:
    """Its patch fits the files as they are now, and what must fail without them is there."""
    for target in mutant.targets:
        if (ROOT / target).exists():
            (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / target, tmp_path / target)
    tree.apply(mutant.path, tmp_path, mutant.targets)
    for test in mutant.red:
        path, _, function = test.partition("::")
        assert function.partition("[")[0] in _tests(ROOT / path)


def test_every_promise_has_mutants_and_one_that_is_quick() -> None:
    """The first digit of a number is the promise, 0 the tenth; each is in the short run."""
    assert {mutant.promise for mutant in _ALL} == set(_PROMISES)
    assert {mutant.promise for mutant in _ALL if mutant.short} == set(_PROMISES)
    assert [mutant.name for mutant in _ALL if mutant.name[0] != mutant.promise[-1]] == []
    numbers = [mutant.name[:3] for mutant in _ALL]
    assert len(numbers) == len(set(numbers))


def test_mutants_are_chosen_by_name_and_by_length() -> None:
    """A word chooses those whose name holds it, the short run those that belong to it."""
    short = patches.chosen(_ALL, short=True, only=())
    assert short
    assert all(mutant.short for mutant in short)
    gate = patches.chosen(_ALL, short=False, only=("gate",))
    assert gate
    assert all("gate" in mutant.name for mutant in gate)
    assert patches.chosen(_ALL, short=False, only=("no such mutant",)) == []


_HEADER = "Promise: 2\nRemoves: the fence.\nRed: a.py::test_a\nRed: b.py::test_b[x y]\nShort: yes\n"
_DIFF = "\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def test_a_header_is_read(tmp_path: Path) -> None:
    """Promise, sentence, every test that must fail, and whether it belongs to the short run."""
    path = tmp_path / "201-no-fence.patch"
    path.write_text(_HEADER + _DIFF)
    mutant = patches.read(path)
    assert (mutant.promise, mutant.removes, mutant.short) == ("2", "the fence.", True)
    assert mutant.red == ("a.py::test_a", "b.py::test_b[x y]")
    assert (mutant.name, mutant.targets) == ("201-no-fence", ("x",))


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("201-a.patch", _HEADER.replace("Red", "Blue")),
        ("201-a.patch", "Removes: the fence.\nRed: a.py::test_a\n"),
        ("201-a.patch", "Promise: 2\nRed: a.py::test_a\n"),
        ("201-a.patch", "Promise: 2\nRemoves: the fence.\n"),
        ("201-a.patch", f"{_HEADER}Removes: something else.\n"),
        ("fence.patch", _HEADER),
        ("201.patch", _HEADER),
    ],
)
def test_a_header_that_says_too_little_is_told(tmp_path: Path, name: str, header: str) -> None:
    """Whatever is missing, doubled or unknown, the patch is named."""
    path = tmp_path / name
    path.write_text(header + _DIFF)
    with pytest.raises(Malformed, match=name):
        patches.read(path)
