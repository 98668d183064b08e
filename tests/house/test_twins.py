"""What a ``def`` handler is given is made from what an ``async def`` handler is given."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house import twins
from tests.house.tree import PACKAGE


def test_the_twins_are_those_of_their_originals() -> None:
    """Whoever changes a context makes its twin anew: ``make twins``."""
    assert twins.TARGET.read_text(encoding="utf-8") == twins.drawn(), "stale: run `make twins`"


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    """A copy of the originals, to be changed."""
    for module, _ in twins.TWINS:
        (tmp_path / f"{module}.py").write_text((PACKAGE / "flow" / f"{module}.py").read_text())
    return tmp_path


# A method -> its twin, as the interpreter writes it.
_SHAPES = {
    "async def later(self, n: int, *more: str, far: bool = False) -> Response:": (
        "def later(self, n: int, *more: str, far: bool=False) -> Response:",
        "return self._crossing.over(lambda: self._twin.later(n, *more, far=far))",
    ),
    "def plain(self) -> int:": (
        "def plain(self) -> int:",
        "return self._crossing.call(self._twin.plain)",
    ),
    "async def none(self) -> None:": (
        "def none(self) -> None:",
        "self._crossing.over(self._twin.none)",
    ),
    "def other(self, name: str) -> Http:": (
        "def other(self, name: str) -> SyncHttp:",
        "return SyncHttp(self._twin.other(name), self._crossing)",
    ),
}


@pytest.mark.parametrize("written", _SHAPES)
def test_each_shape_of_a_method_has_its_twin(flow: Path, written: str) -> None:
    """Coroutines wait in the thread, plain methods run in the loop, twins are given as twins."""
    source = (flow / "http.py").read_text()
    (flow / "http.py").write_text(f'{source}\n    {written}\n        """Says."""\n')
    [twin] = [
        node
        for node in ast.parse(twins.drawn(flow)).body
        if isinstance(node, ast.ClassDef) and node.name == "SyncHttp"
    ]
    head, says, act = ast.unparse(twin.body[-1]).splitlines()
    assert ((head, act.strip()), says.strip()) == (_SHAPES[written], '"""Says."""')


def test_what_is_private_has_no_twin(flow: Path) -> None:
    """A method with an underscore is the original's own affair."""
    source = (flow / "http.py").read_text()
    (flow / "http.py").write_text(f"{source}\n    async def _hidden(self) -> int: ...\n")
    assert twins.drawn(flow) == twins.TARGET.read_text()
