"""A version is bound to what a function does, whoever reads it and however it is laid out."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tenure.flow import version
from tests.house.tree import ROOT

BASE = '''
def helped(amount):
    return amount > 1000

async def lead(ctx, amount):
    """What it does."""
    # a comment
    name = f"deal-{amount!r:>{3}}"
    if helped(amount):
        return (name, "big")
    return name
'''

_names = itertools.count()


def module(folder: Path, source: str) -> types.ModuleType:
    """A module made of this source."""
    name = f"version_{next(_names)}"
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("automations", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["automations"] = made
    spec.loader.exec_module(made)
    return made


def runs(python: str) -> bool:
    """Whether this Python is here; a name on the path may lead to nothing."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def of(folder: Path, source: str, schema: str | None = None) -> str:
    """The version of ``lead`` in this source."""
    return version.of(module(folder, source).lead, schema)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another one"),
        ('"""What it does."""', '"""Said otherwise."""'),
        ("    # a comment\n", "\n\n"),
        ('(name, "big")', '(\n        name, "big"\n    )'),
    ],
)
def test_layout_changes_nothing(tmp_path: Path, old: str, new: str) -> None:
    """Comments, docstrings, blank lines and line breaks are not what it does."""
    assert of(tmp_path, BASE.replace(old, new)) == of(tmp_path, BASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 1000", ">= 1000"),
        ('"big"', '"large"'),
        ("deal-", "deal+"),
        ("!r:", "!s:"),
        ("    return name\n", "        return name\n"),
    ],
)
def test_what_it_does_changes_it(tmp_path: Path, old: str, new: str) -> None:
    """A changed word counts, in the function or in what it reaches; so does where a block ends."""
    assert of(tmp_path, BASE.replace(old, new)) != of(tmp_path, BASE)


def test_what_is_reached_through_a_module_counts(tmp_path: Path) -> None:
    """A function that is called as an attribute of a module of the package is part of it."""
    reaching = "import automations\n" + BASE.replace(
        "helped(amount):", "automations.helped(amount):"
    )
    reaching = reaching.replace("def automations.helped", "def helped")
    assert of(tmp_path, reaching) != of(tmp_path, reaching.replace("> 1000", ">= 1000"))


def test_what_a_function_closes_over_counts(tmp_path: Path) -> None:
    """A function made by a function takes what it closes over along."""
    closing = """
def made():
    def helped(amount):
        return amount > 1000
    async def lead(ctx, amount):
        return helped(amount)
    return lead
lead = made()
"""
    assert of(tmp_path, closing) != of(tmp_path, closing.replace("> 1000", ">= 1000"))


def test_the_schema_of_the_input_counts(tmp_path: Path) -> None:
    """Another shape of input is another version."""
    assert of(tmp_path, BASE, '{"type":"number"}') != of(tmp_path, BASE, '{"type":"string"}')


def test_every_python_says_the_same(tmp_path: Path) -> None:
    """Workers of several Pythons do not take turns in declaring versions."""
    expected = of(tmp_path, BASE)
    (tmp_path / "automations.py").write_text(BASE, encoding="utf-8")
    script = (
        "import importlib.util, sys; sys.path.insert(0, sys.argv[2]);"
        "spec = importlib.util.spec_from_file_location('v', sys.argv[1]);"
        "v = importlib.util.module_from_spec(spec); spec.loader.exec_module(v);"
        "import automations; print(v.of(automations.lead, None))"
    )
    pythons = {sys.executable, *filter(runs, ("python3.12", "python3.13", "python3.14"))}
    said = {
        subprocess.run(
            [python, "-c", script, str(ROOT / "tenure/flow/version.py"), str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for python in sorted(pythons)
    }
    assert said == {expected}
