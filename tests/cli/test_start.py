"""What worker and server say before they begin: what is missing, and what is broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import shell
from tests.cli.test_worker import Service, started

__all__ = ["started"]  # a fixture, used by its name

_LACKING = """
from tenure import Basic, Bearer, Tenure, env, file

app = Tenure()
app.provider("crm", base_url="https://crm.example.com", auth=Bearer(env("LACKING")))
app.provider("erp", base_url="https://erp.example.com", auth=Basic(env("PATH"), env("LACKING")))
app.provider("bare", base_url="https://bare.example.com")
doors = app.source("doors", scheme="github", secret=[env("PATH"), file("/nowhere/secret")])
"""
_WARNED = [
    (
        "warning: the environment variable is not set (LACKING): its secret is missing; "
        "needed by provider crm, provider erp"
    ),
    (
        "warning: the file cannot be read (No such file or directory) (/nowhere/secret): "
        "its secret is missing; needed by source doors"
    ),
]
_RAISES = (
    "from tenure import Tenure\napp = Tenure()\n\n\ndef declare():\n    return {}['crm']\n\n\n"
)


def _warnings(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("warning: ")]


@pytest.mark.parametrize(
    ("command", "ready"),
    [
        (("worker", "--processes", "2"), "not-live process"),
        (("serve", "--port", "0", "--first-token"), "listening on "),
    ],
)
def test_secrets_that_are_not_there_are_told_at_the_start(
    started: Callable[..., Service], tmp_path: Path, command: tuple[str, ...], ready: str
) -> None:
    """A line for each, once, with all that need it; and it runs, as not every job may need it."""
    (tmp_path / "automations.py").write_text(_LACKING)
    running = started(*command)
    said = running.hear(ready)
    for _ in range(said.count("process"), 3 if command[0] == "worker" else 0):
        said = running.hear("is ready")
    assert _warnings(said) == _WARNED
    assert running.stop() == 0


class Broken(NamedTuple):
    """A module that cannot be imported, the places that are told, and how the error begins."""

    code: str
    places: list[str]
    error: str


_BROKEN = [
    Broken(
        "from tenure import Tenure\n\ndef declare():\n    return {}['crm']\n\ndeclare()\n",
        ["line 6, in <module>", "line 4, in declare"],
        "KeyError: 'crm'",
    ),
    Broken("def declare(:\n", ["line 1"], "SyntaxError: "),
    Broken("import sys\nsys.exit('no CRM')\n", ["line 2, in <module>"], "SystemExit: no CRM"),
    Broken("import no_such_thing\n", ["line 1, in <module>"], "ModuleNotFoundError: No module"),
]


@pytest.mark.parametrize("command", ["worker", "serve"])
@pytest.mark.parametrize("broken", _BROKEN, ids=lambda broken: broken.error)
def test_code_that_cannot_be_imported_is_told_once(
    database_url: str, tmp_path: Path, command: str, broken: Broken
) -> None:
    """One traceback of the author's own lines, one error, one hint; nothing about processes."""
    (tmp_path / "broken.py").write_text(broken.code)
    environment = {"TENURE_DATABASE_URL": database_url, "TENURE_APP": "broken:app"}
    done = shell(command, environment=environment, folder=tmp_path)
    assert done.returncode == 78
    *trace, said, hint = done.stderr.splitlines()
    assert said.startswith(
        f"error: the application could not be loaded (broken:app): {broken.error}"
    )
    assert hint == "Mend the code that the lines above point at."
    places = [line.strip() for line in trace if line.strip().startswith("File ")]
    assert [place.partition(", ")[2] for place in places] == broken.places
    assert all("broken.py" in place for place in places)
    assert [line.startswith(broken.error) for line in trace].count(True) == 1
    assert "process" not in done.stderr


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_a_declaration_that_cannot_work_is_told_once(
    database_url: str, tmp_path: Path, command: str
) -> None:
    """What Tenure itself refuses at import is its own error and hint, without a traceback."""
    code = "from tenure import Tenure\napp = Tenure()\napp.provider('free')\n"
    (tmp_path / "broken.py").write_text(code)
    environment = {"TENURE_DATABASE_URL": database_url, "TENURE_APP": "broken:app"}
    done = shell(command, environment=environment, folder=tmp_path)
    assert done.returncode == 78
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: a provider cannot be named 'free'")
    assert hint.startswith("Use letters")
