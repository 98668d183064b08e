"""The README cannot lie: its program runs, and its transcripts are what it printed.

Run with TENURE_RENEW_GOLDEN=1 to write the transcripts anew, and read the difference.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

import pytest

from tenure.store.database import Database
from tenure.testing.emulators import Emulator, generic
from tests.house.tree import ROOT
from tests.kit.facts import until
from tests.kit.rows import Rows
from tests.kit.worker import Worker

README = ROOT / "README.md"
RENEW = "TENURE_RENEW_GOLDEN"
_numbers = itertools.count(0x5F0C9A1E77B2, 0x1D4C3A9F0E21)
# Each key as a constant of its own: two steps never share one.
KEYS: defaultdict[str, str] = defaultdict(lambda: f"{next(_numbers):012x}")
_PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
_TRANSCRIPT = re.compile(
    r"(<!-- transcript: (?P<name>\w+) -->\n```\n)(?P<text>.*?)(```\n<!-- end -->)", re.DOTALL
)


def program() -> str:
    """The first program of the README, as it stands there."""
    found = _PROGRAM.search(README.read_text(encoding="utf-8"))
    assert found is not None
    return found.group(1)


def transcript(name: str) -> str:
    """A transcript of the README, as it stands there."""
    text = README.read_text(encoding="utf-8")
    return next(m["text"] for m in _TRANSCRIPT.finditer(text) if m["name"] == name)


def renew(name: str, text: str) -> None:
    """Write a transcript anew."""
    old = README.read_text(encoding="utf-8")

    def fresh(found: re.Match[str]) -> str:
        return found[1] + (text if found["name"] == name else found["text"]) + found[4]

    README.write_text(_TRANSCRIPT.sub(fresh, old), encoding="utf-8")


def steady(text: str) -> str:
    """The same text whenever it is printed: ids, keys and times made constant."""
    text = re.sub(
        r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
        "019ad8f2-6c1e-7d3a-9b52-5c1f0e7a4b10",
        text,
    )
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f-]{17}", "worker-1", text)
    text = re.sub(r"([Kk]ey) ([0-9a-f]{12})", lambda found: f"{found[1]} {KEYS[found[2]]}", text)
    text = re.sub(r"version [0-9a-f]{16}", "version 3b1f0c9a5e7d2468", text)
    text = re.sub(r"pid \d+ on \S+\)", "pid 4711 on host-1)", text)
    text = re.sub(r"\d{4}-\d\d-\d\d( |T)\d\d:\d\d:\d\d", r"2026-12-01\g<1>09:30:00", text)
    return re.sub(r"127\.0\.0\.1:\d+", "crm.example.com", text).replace("http://", "https://")


def wrapped(at: str, sentence: str) -> str:
    """A row as a person would print it, broken at a hundred columns."""
    return textwrap.fill(
        sentence,
        100,
        initial_indent=f"{at:8}  ",
        subsequent_indent=" " * 10,
        break_on_hyphens=False,
    )


def test_the_program_comes_within_25_lines_and_80_words() -> None:
    """A reader sees what it looks like before anything is explained."""
    before, _, _ = README.read_text(encoding="utf-8").partition("```python\n")
    assert len(before.splitlines()) <= 25
    assert len(re.sub(r"[#`]", " ", before).split()) <= 80


def test_every_file_that_it_names_is_there() -> None:
    """No link of the README leads nowhere."""
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_that_it_names_exists() -> None:
    """What it tells a reader to type is known to the command line or to make."""
    text = README.read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:^|`)tenure ([a-z]+)", text, re.MULTILINE))
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
    for command in sorted(commands):
        done = subprocess.run(
            [sys.executable, "-m", "tenure", command, "--help"], capture_output=True, check=False
        )
        assert done.returncode == 0, command
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [t for t in sorted(targets) if f"\n{t}:" not in makefile] == []


def test_the_program_passes_a_strict_type_checker(tmp_path: Path) -> None:
    """What a reader copies has no error that their own checker would find."""
    (tmp_path / "automations.py").write_text(program(), encoding="utf-8")
    checker = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    done = subprocess.run(
        [*checker, "--cache-dir", str(tmp_path / "cache"), "automations.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_program_runs_and_its_failed_job_explains_itself(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README's own program, against a CRM that refuses its second call."""
    with Emulator(generic(name="crm")) as crm:
        crm.fault("refuse", path="/after", status=422, body='{"error":"no such deal"}')
        local = f'"{crm.url}", allow=("plain-http", "private-address")'
        code = program().replace('"https://crm.example.com"', local)
        (tmp_path / "automations.py").write_text(code, encoding="utf-8")
        monkeypatch.setenv("CRM_TOKEN", "secret-of-the-readme")
        monkeypatch.setenv("LEAD_SECRET", "whsec_" + "A" * 43 + "=")
        with Worker(database.url, "automations:app", directory=str(tmp_path)) as worker:
            worker.wait_ready()
            rows = Rows(database)
            rows.read("update tenure.automations set stage = 'live' returning name")
            job = rows.enqueue("lead", {"name": "Ann", "amount": 1200})
            until(lambda: rows.job(job)["state"] == "failed")
        lines = database.execute(
            "select to_char(at, 'HH24:MI:SS') as at, sentence from tenure.explain"
            " where job_id = %(job)s order by position",
            {"job": job},
        )
    asked = "select at, sentence from tenure.explain where job_id = '{}' order by position;"
    query = asked.format(job)
    said = [wrapped("09:30:00" if row["at"] else "", steady(row["sentence"])) for row in lines]
    found = "\n".join([steady(query), "", *said, ""])
    if os.environ.get(RENEW):
        renew("failed", found)
    assert transcript("failed") == found
