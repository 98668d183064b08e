"""The readers that the house rules stand on."""

from __future__ import annotations

from pathlib import Path

from tests.house.tree import Finding, files, parsed, scopes, unsigned


def test_files_are_found_wherever_they_lie_but_not_among_what_tools_made(tmp_path: Path) -> None:
    """A rule reads every file of ours and none that a tool left behind."""
    ours = [tmp_path / ".ci" / "run.py", tmp_path / "a.py", tmp_path / "b" / "c.py"]
    made = [tmp_path / ".venv" / "x.py", tmp_path / "b" / "__pycache__" / "c.py"]
    for path in [*ours, *made, tmp_path / "b" / "d.txt"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert list(files(tmp_path, ".py")) == ours
    assert list(files(ours[1], ".py")) == [ours[1]]
    assert list(files(tmp_path / "missing")) == []


def test_scopes_reach_into_classes_functions_and_branches(tmp_path: Path) -> None:
    """No function escapes a rule by standing inside something else."""
    source = tmp_path / "m.py"
    source.write_text("class A:\n  def b(self):\n    if 1:\n      async def c(): ...\n")
    assert [name for name, _ in scopes(parsed(source))] == ["A", "A.b", "A.b.c"]


def test_an_exception_covers_its_own_key_alone_and_may_not_outlive_its_need() -> None:
    """Signed exceptions hide what they name, need a reason, and go when nothing needs them."""
    findings = [Finding("a", "a.py:1", "too long"), Finding("b", "b.py:1", "too long")]
    assert unsigned(findings, {"a": "generated"}) == ["b.py:1: too long"]
    assert unsigned(findings[:1], {"a": "generated", "gone": "was needed once"}) == [
        "gone: signed as an exception, but it is none"
    ]
    assert unsigned(findings[:1], {"a": " "}) == ["a: signed without a reason"]
