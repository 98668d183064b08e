"""The command line as a user has it: in a folder of its own, on a database of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from click.testing import CliRunner, Result

from tenure.base import json
from tenure.cli.group import commands
from tenure.store.database import Database
from tests.house.tree import ROOT
from tests.store.scene import Scene

T = TypeVar("T")
Run = Callable[..., Result]
Row = dict[str, object]


def clean(environment: dict[str, str]) -> dict[str, str]:
    """The environment without any setting of ours."""
    return {name: value for name, value in environment.items() if not name.startswith("TENURE_")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and no settings from anywhere."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TENURE_")]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def tenure(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command against the test's database, in this process."""
    monkeypatch.setenv("TENURE_DATABASE_URL", database_url)

    def run(*arguments: object, stdin: bytes | None = None) -> Result:
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(commands, words, input=stdin, prog_name="tenure")

    return run


@pytest.fixture
def scene(database: Database) -> Scene:
    """An automation and a worker."""
    return Scene(database)


def told(result: Result, shape: type[T]) -> T:
    """What a command printed as JSON, and nothing beside it."""
    assert result.exit_code == 0, result.stderr
    return json.convert(json.decode(result.stdout), shape)


def shell(
    *arguments: str, environment: dict[str, str] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m tenure`` as a user would, in a process of its own."""
    return python("-m", "tenure", *arguments, environment=environment, folder=folder)


def python(
    *arguments: str, environment: dict[str, str] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, without any setting of ours."""
    own = clean(dict(os.environ)) | {"PYTHONPATH": str(ROOT)} | (environment or {})
    return subprocess.run(
        [sys.executable, *arguments],
        env=own,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
