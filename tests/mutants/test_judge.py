"""A mutant is killed by a test that failed, and by nothing that only looks like one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mutants import judge, tree
from tests.mutants.judge import Place
from tests.mutants.tree import Unfit

_ALIVE = "tests/test_alive.py"
_RED = "tests/test_red.py::test_red"
_FIXTURE = """
import pytest
@pytest.fixture
def broken():
    raise OSError("no such place")
def test_red(broken): ...
"""


def _place(folder: Path, red: str, alive: str = "def test_alive(): ...") -> Place:
    (folder / "tests").mkdir(exist_ok=True)
    (folder / _ALIVE).write_text(alive)
    (folder / "tests" / "test_red.py").write_text(red)
    return Place(folder, "postgresql:///nowhere")


@pytest.mark.parametrize(
    ("red", "outcome", "says"),
    [
        ("def test_red(): assert 1 == 2", "killed", "assert 1 == 2"),
        ("def test_red(): raise LookupError('gone')", "killed", "LookupError: gone"),
        ("def test_red(): ...", "survived", "every test stayed green"),
        ("def test_blue(): assert 1 == 2", "broken", "pytest could not run"),
        ("import no_such_module", "broken", ""),
        ("def test_red(: ...", "broken", ""),
        (_FIXTURE, "broken", "its fixtures broke: "),
    ],
    ids=["assertion", "error", "green", "missing", "import", "syntax", "fixture"],
)
def test_only_a_test_that_fails_kills(tmp_path: Path, red: str, outcome: str, says: str) -> None:
    """Tests that are missing, do not import, or have no ground to stand on prove nothing."""
    found = judge.judge(_place(tmp_path, red), [_RED], within=60.0, alive=_ALIVE)
    assert found.outcome == outcome
    assert says in found.says
    assert found.by == (_RED if outcome == "killed" else found.by)


def test_a_tree_that_does_nothing_any_more_kills_nobody(tmp_path: Path) -> None:
    """Where the shortest proof of life fails, a red test says nothing."""
    red = "def test_red(): assert 1 == 2"
    place = _place(tmp_path, red, "def test_alive(): assert False, 'dead'")
    found = judge.judge(place, [_RED], within=60.0, alive=_ALIVE)
    assert (found.outcome, found.by) == ("broken", f"{_ALIVE}::test_alive")
    assert "nothing works any more" in found.says


def test_tests_that_do_not_end_kill_nobody(tmp_path: Path) -> None:
    """A run beyond its time is stopped, and is no proof."""
    place = _place(tmp_path, "import threading\ndef test_red(): threading.Event().wait()")
    found = judge.judge(place, [_RED], within=3.0, alive=_ALIVE)
    assert (found.outcome, found.says) == ("broken", "the tests did not end within 3 s")


def test_the_copys_own_modules_are_those_that_run(tmp_path: Path) -> None:
    """Tests import the copy and not what is installed; a copy without them is no place to run."""
    for name in ("tenure", "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    place = Place(tmp_path, "postgresql:///nowhere")
    judge.check_place(place)
    (tmp_path / "tenure" / "__init__.py").unlink()
    (tmp_path / "tenure").rmdir()
    with pytest.raises(subprocess.CalledProcessError):
        judge.check_place(place)


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def test_a_copy_holds_what_is_ours_and_not_what_tools_made(tmp_path: Path) -> None:
    """Tracked files and new ones as they stand, without ignored and without removed ones."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    _git(source, "init", "--quiet")
    (source / ".gitignore").write_text("made\n")
    for name in ("kept.py", "gone.py"):
        (source / name).write_text("1\n")
    _git(source, "add", ".")
    (source / "gone.py").unlink()
    (source / "kept.py").write_text("2\n")
    for name in ("new.py", "made"):
        (source / name).write_text("3\n")
    tree.copy(source, target)
    found = {path.name: path.read_text() for path in target.iterdir()}
    assert found == {".gitignore": "made\n", "kept.py": "2\n", "new.py": "3\n"}


_PATCH = "--- a/x.py\n+++ b/x.py\n@@ -7,3 +7,3 @@\n # above\n-a = 1\n+{line}\n b = 2\n"


def test_a_patch_that_does_not_fit_is_told(tmp_path: Path) -> None:
    """It is applied wherever its lines are by now; where they are no more, it says so."""
    patch, module = tmp_path / "1.patch", tmp_path / "x.py"
    module.write_text("# moved\n\n# above\na = 1\nb = 2\n")
    patch.write_text(_PATCH.format(line="a = 3"))
    tree.apply(patch, tmp_path, ["x.py"])
    assert module.read_text() == "# moved\n\n# above\na = 3\nb = 2\n"
    with pytest.raises(Unfit, match="no longer applies"):
        tree.apply(patch, tmp_path, ["x.py"])
    module.write_text("# above\na = 1\nb = 2\n")
    patch.write_text(_PATCH.format(line="a = ("))
    with pytest.raises(Unfit, match="no Python"):
        tree.apply(patch, tmp_path, ["x.py"])
