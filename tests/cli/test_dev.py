"""``tenure init`` and ``tenure dev``: from an empty folder to a job, and to the next edit."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from tenure import embedded
from tests.cli.conftest import Run, clean, shell
from tests.house.tree import ROOT
from tests.kit.facts import stir, until

_WITHIN = 120.0


@pytest.fixture
def project() -> Iterator[Path]:
    """An empty folder that an embedded server's account may enter."""
    folder = Path(tempfile.mkdtemp(prefix="te-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


class Dev:
    """``tenure dev`` in a folder."""

    def __init__(self, folder: Path) -> None:
        """Start it on a free port."""
        self.folder = folder
        self.lines: list[str] = []
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tenure", "dev", "--port", "0"],
            cwd=folder,
            env=clean(dict(os.environ)) | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.lines.append(line.rstrip("\n"))
            stir()

    def said(self, words: str) -> list[re.Match[str]]:
        """Every line so far that these words are found in."""
        return [found for line in self.lines if (found := re.search(words, line))]

    def hear(self, words: str, times: int = 1) -> re.Match[str]:
        """Wait until it has said so as often; the last time."""

        def enough() -> list[re.Match[str]]:
            found = self.said(words)
            if len(found) < times and self.popen.poll() is not None:
                raise AssertionError("\n".join(self.lines))
            return found if len(found) >= times else []

        return until(enough, words, _WITHIN)[-1]

    def stop(self, signal_: signal.Signals = signal.SIGINT) -> int:
        """Tell it to stop; its exit code."""
        self.popen.send_signal(signal_)
        code = self.popen.wait(_WITHIN)
        self._listener.join(_WITHIN)
        return code


@pytest.fixture
def dev(project: Path) -> Iterator[Dev]:
    """``tenure dev`` in a folder that ``tenure init`` has filled."""
    assert shell("init", folder=project).returncode == 0
    dev = Dev(project)
    yield dev
    if dev.popen.poll() is None:
        dev.stop(signal.SIGTERM)
    sys.stdout.write("\n".join(dev.lines))


def _enqueue(url: str, token: str) -> str:
    answer = httpx2.post(
        f"{url}/v1/jobs",
        json={"automation": "hello", "input": {"name": "Ann"}},
        headers={"Authorization": f"Bearer {token}"},
        timeout=30,
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["job"])


def _result(dev: Dev, job: str) -> object:
    """What a job gave, once it has succeeded."""
    query = "select result from tenure.finished_jobs where id = %s and status = 'succeeded'"
    with embedded.start(dev.folder / ".tenure") as shared, psycopg.connect(shared.url) as conn:
        conn.autocommit = True
        row = until(lambda: conn.execute(query, [job]).fetchone(), "it succeeded", _WITHIN)
    result: object = row[0]
    return result


def test_from_an_empty_folder_to_a_job_and_to_the_next_edit(dev: Dev) -> None:
    """A job runs, a file is edited, the new version runs, and Ctrl-C ends all."""
    token = dev.hear(r"first token, shown this once: (\S+)")[1]
    url = dev.hear(r"listening on (http://\S+)")[1]
    dev.hear(r"^not-live process \d+ is ready")
    first = _enqueue(url, token)
    assert _result(dev, first) == "Hello, Ann!"

    code = dev.folder / "automations.py"
    code.write_text(code.read_text().replace("Hello,", "Adieu,"))
    dev.hear("automations.py changed: starting again")
    url = dev.hear(r"listening on (http://\S+)", 2)[1]
    dev.hear(r"^not-live process \d+ is ready", 2)
    second = _enqueue(url, token)
    assert _result(dev, second) == "Adieu, Ann!"

    code.write_text("def broken(:\n")
    dev.hear("worker has ended: it starts again when a file changes")
    assert dev.popen.poll() is None
    assert len(dev.said("first token")) == 1
    assert dev.stop() == 0
    assert not (dev.folder / ".tenure" / "pg" / "postmaster.pid").exists()


def test_who_kills_dev_leaves_nothing_behind(dev: Dev) -> None:
    """Server, worker and database end with it, even where it is killed."""
    dev.hear(r"listening on (http://\S+)")
    live = int(dev.hear(r"^live process (\d+) is ready")[1])
    dev.popen.kill()
    until(lambda: not Path(f"/proc/{live}").exists(), "the worker has ended", _WITHIN)
    server = dev.folder / ".tenure" / "pg" / "postmaster.pid"
    until(lambda: not server.exists(), "the database has ended", _WITHIN)


def test_init_writes_over_nothing(tenure: Run, folder: Path) -> None:
    """It leaves what is there, adds one line to .gitignore, and tells two commands."""
    (folder / "automations.py").write_text("mine = 1\n")
    (folder / ".gitignore").write_text("*.log")
    result = tenure("init")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2:] == [
        "  tenure dev",
        '  tenure enqueue hello \'{"name": "Ann"}\'',
    ]
    assert (folder / "automations.py").read_text() == "mine = 1\n"
    assert (folder / ".gitignore").read_text() == "*.log\n.tenure/\n"
    settings = (folder / "tenure.toml").read_text()
    again = tenure("init")
    assert "left tenure.toml as it is" in again.stderr
    assert (folder / ".gitignore").read_text() == "*.log\n.tenure/\n"
    assert (folder / "tenure.toml").read_text() == settings


def test_init_writes_no_second_place_for_settings(tenure: Run, folder: Path) -> None:
    """Where they stand in pyproject.toml, they stay there."""
    (folder / "pyproject.toml").write_text("[tool.tenure]\napp = 'automations:app'\n")
    result = tenure("init")
    assert result.exit_code == 0
    assert "left the settings in pyproject.toml as they are" in result.stderr
    assert not (folder / "tenure.toml").exists()
