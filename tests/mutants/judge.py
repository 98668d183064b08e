"""Running tests on a copy of the tree, and what their ends mean.

Used by the runner.  Promises: a mutant counts as killed only where a named test itself failed and
the tree still worked: not where nothing was collected, a fixture broke, or nothing works any more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree import ElementTree

Outcome = Literal["killed", "survived", "broken"]

# One job of each kind goes from end to end: without that a red test says nothing about a mutant.
ALIVE = "tests/mutants/test_alive.py"

_ASKED = """
import pathlib, sys, tenure, tests
for module in (tenure, tests):
    found = pathlib.Path(module.__file__).resolve()
    assert found.is_relative_to(pathlib.Path.cwd().resolve()), f"{found} is not of the copy"
"""
_SAID = 20  # lines of pytest's output that are kept for whoever wants to know


class Place(NamedTuple):
    """Where tests run: a copy of the tree, and a database server they may use."""

    tree: Path
    database_url: str

    @property
    def environ(self) -> dict[str, str]:
        """The environment: this copy's modules, this server, nothing of ours."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TENURE_", "PYTEST_"))}
        return {**kept, "PYTHONPATH": str(self.tree), "TENURE_TEST_URL": self.database_url}


class Judgement(NamedTuple):
    """What the tests say of a tree: which failed (``by``), and its words, or pytest's last."""

    outcome: Outcome
    by: str
    says: str
    output: str = ""


class Case(NamedTuple):
    """One test as it ended: where it broke, if it did, and its first words."""

    test: str
    ended: Literal["passed", "failed", "broke"]
    says: str


def check_place(place: Place) -> None:
    """Raise where the copy's modules are not those that would be imported."""
    subprocess.run([sys.executable, "-c", _ASKED], cwd=place.tree, env=place.environ, check=True)


def run(
    place: Place, tests: Sequence[str], *, within: float, options: Sequence[str] = ()
) -> tuple[int | None, list[Case], str]:
    """Run tests; pytest's exit code (None: it did not end in time), how each ended, its output."""
    report, output = place.tree / "report.xml", place.tree / "output.txt"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # Into a file: a pipe would be kept open by whatever a killed run leaves to end by itself.
    with output.open("wb") as written:
        try:
            code: int | None = subprocess.run(
                [*command, f"--junitxml={report}", *options, *tests],
                cwd=place.tree,
                env=place.environ,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                timeout=within,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
    return code, [] if code is None else cases(report), _tail(output.read_text(errors="replace"))


def cases(report: Path) -> list[Case]:
    """How each test ended, by pytest's own report."""
    if not report.exists():
        return []
    found = []
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it just now
        test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        failure, error = case.find("failure"), case.find("error")
        if failure is not None:
            found.append(Case(test, "failed", _first(failure)))
        elif error is not None:
            found.append(Case(test, "broke", _first(error)))
        else:
            found.append(Case(test, "passed", ""))
    return found


def judge(place: Place, red: Sequence[str], *, within: float, alive: str = ALIVE) -> Judgement:
    """Whether one of the tests that must fail on this tree fails, and the tree works otherwise."""
    code, ended, output = run(place, [alive, *red], within=within, options=("-x",))
    if code is None:
        return Judgement("broken", "", f"the tests did not end within {within:g} s", output)
    if code == 0:
        return Judgement("survived", "", "every test stayed green", output)
    if code != 1 or not ended:
        return Judgement("broken", "", f"pytest could not run the tests (exit {code})", output)
    for case in ended:
        if case.test.startswith(alive) and case.ended != "passed":
            says = f"nothing works any more: {case.says}"
            return Judgement("broken", case.test, says, output)
    failed = next((case for case in ended if case.ended == "failed"), None)
    if failed is None:
        broke = next(case for case in ended if case.ended == "broke")
        return Judgement("broken", broke.test, f"its fixtures broke: {broke.says}", output)
    return Judgement("killed", failed.test, failed.says, output)


def _first(element: ElementTree.Element) -> str:
    return (element.get("message") or "").strip().partition("\n")[0][:200]


def _tail(output: str) -> str:
    return "\n".join(output.splitlines()[-_SAID:])
