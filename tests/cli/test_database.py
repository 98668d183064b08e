"""Which database a command speaks to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run, shell


@pytest.fixture
def reachable() -> Iterator[Path]:
    """An empty folder that any account can pass through, as the embedded server may need."""
    memory = Path("/dev/shm")  # noqa: S108 - the name is the system's, and mkdtemp makes ours
    top = Path(tempfile.mkdtemp(prefix="tenure-", dir=memory if memory.is_dir() else None))
    top.chmod(0o711)
    yield top
    shutil.rmtree(top, ignore_errors=True)


def test_without_an_address_one_shot_commands_use_the_embedded_server(reachable: Path) -> None:
    """It is announced, migrated by whoever starts it, keeps what was written, and stops again."""
    done = shell("token", "create", "--owner", "ann", "--scope", "read", folder=reachable)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "using the embedded PostgreSQL in .tenure/"
    listed = shell("token", "list", "--json", folder=reachable)
    assert '"owner": "ann"' in listed.stdout
    assert listed.stderr == "using the embedded PostgreSQL in .tenure/\n"
    assert not (reachable / ".tenure" / "pg" / "postmaster.pid").exists()


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_what_runs_for_long_never_chooses_a_database(command: str, tmp_path: Path) -> None:
    """Worker and server without an address end as configuration, and start nothing."""
    (tmp_path / "automations.py").write_text("from tenure import Tenure\napp = Tenure()\n")
    done = shell(command, "--app", "automations:app", folder=tmp_path)
    assert done.returncode == 78
    assert done.stderr.splitlines() == [
        "error: no database is set: a worker or server does not choose one by itself",
        'Set TENURE_DATABASE_URL, or database = "embedded" in tenure.toml, or --embedded.',
    ]
    assert not (tmp_path / ".tenure").exists()


def test_an_address_that_cannot_be_read_is_configuration(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that is none is told before anything is asked of anybody."""
    monkeypatch.setenv("TENURE_DATABASE_URL", "nonsense://")
    done = tenure("jobs")
    assert done.exit_code == 78
    assert done.stderr.startswith("error: the database's address cannot be read")
