"""The public names are a list that someone signed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tenure
from tests.house.tree import Finding, hold

# name -> reason.
SIGNED: dict[str, str] = {}


def unspoken(module: ModuleType) -> Iterator[Finding]:
    """What is wrong with a module's ``__all__``: its order, a missing name, a silent name."""
    place = module.__name__
    names = getattr(module, "__all__", None)
    if names is None:
        yield Finding(place, place, "has no __all__: its public names are signed by nobody")
        return
    if list(names) != sorted(set(names)):
        yield Finding(place, place, "__all__ is not sorted, or names one thing twice")
    for name in names:
        where = f"{place}.{name}"
        if not hasattr(module, name):
            yield Finding(name, where, "is in __all__ but does not exist")
        elif not _docstring(getattr(module, name)):
            yield Finding(name, where, "has no docstring of its own")


def _docstring(value: object) -> str:
    said = vars(value).get("__doc__") if hasattr(value, "__dict__") else None
    if callable(value) and not isinstance(value, type):
        said = value.__doc__
    text = said if isinstance(said, str) else ""
    # A dataclass without one is given its signature in place of a sentence.
    made = isinstance(value, type) and text.startswith(f"{value.__name__}(")
    return "" if made else text


def test_public_names_are_sorted_and_speak() -> None:
    """What ``tenure`` exports is sorted, exists, and has a docstring of its own."""
    hold(unspoken(tenure), SIGNED)


_PLANTED = """
import dataclasses
class Base:
    'Says.'
class Heir(Base): ...
@dataclasses.dataclass
class Row:
    x: int
def spoken():
    'Says.'
def silent(): ...
value = 3
__all__ = ['spoken', 'silent', 'Base', 'Heir', 'Row', 'gone', 'value']
"""


def test_a_silent_missing_or_misplaced_name_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way the list can be wrong is found, by name."""
    (tmp_path / "planted.py").write_text(_PLANTED)
    spec = importlib.util.spec_from_file_location("planted", tmp_path / "planted.py")
    assert spec is not None
    assert spec.loader is not None
    planted = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "planted", planted)
    spec.loader.exec_module(planted)
    silent = "has no docstring of its own"
    assert [(finding.key, finding.says) for finding in unspoken(planted)] == [
        ("planted", "__all__ is not sorted, or names one thing twice"),
        ("silent", silent),
        ("Heir", silent),
        ("Row", silent),
        ("gone", "is in __all__ but does not exist"),
        ("value", silent),
    ]
    assert [finding.key for finding in unspoken(ModuleType("bare"))] == ["bare"]
