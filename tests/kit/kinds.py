"""Automations of either kind under the same names: what is promised of one is promised of both.

@either("tests.kit.odd:app")
def test_a_promise(path: str, ...) -> None:       # once with `async def`, once with `def`
live(rows, path)
with Worker(database_url, path): ...
"""

from __future__ import annotations

import pytest

from tenure import loading
from tests.kit.rows import Rows

_TWINS = {
    "tests.kit.automations:app": "tests.kit.threaded:app",
    "tests.kit.odd:app": "tests.kit.odd_threads:app",
    "tests.worker.suspending:app": "tests.worker.suspending_threads:app",
}


def either(path: str) -> pytest.MarkDecorator:
    """A test of both kinds: ``path`` is what a worker loads."""
    return pytest.mark.parametrize("path", [path, _TWINS[path]], ids=["async", "def"])


def live(rows: Rows, path: str) -> None:
    """The automations at a path, live."""
    rows.declare(loading.load(path))
