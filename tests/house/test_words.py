"""One word for one thing: no synonyms of the glossary's words, no names that name nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.house.tree import (
    DOCS,
    PACKAGE,
    ROOT,
    TESTS,
    Finding,
    files,
    hold,
    parsed,
    relative,
    scopes,
)


class Synonym(NamedTuple):
    """A word we do not use, the one we do, why, and where the first is right after all."""

    word: str  # small letters, single spaces between words; with an underscore: names alone
    ours: str
    why: str
    lines: str = ""  # a line with this in it (small letters) may hold the word
    paths: str = ""  # a file at such a path may hold it
    only: str = ""  # if set: the word is refused nowhere but here


# Rivals are compared, and old systems imported, in their own words.
_RIVALS = r"comparison|benchmarks"
_OLD = r"\b(?:n8n|zapier|old|legacy|github)\b"

SYNONYMS = [
    Synonym(
        r"workflows?",
        "automation",
        "a workflow is what is replaced, an automation what replaces it",
        lines=_OLD,
        paths=r"legacy|importers|n8n|github",
    ),
    Synonym(
        r"(?:task|job|work|message) queues?",
        "lane or strand",
        "there is no queue: rows are claimed by lane, and closed by strand",
        paths=_RIVALS,
    ),
    Synonym(
        r"run_(?:after|at)|scheduled_at|visible_at|locked_until",
        "leased_until",
        "one column says when a row may next be claimed, whatever the cause",
    ),
    Synonym(r"visibility timeouts?", "lease", "it ends, and it is renewed", paths=_RIVALS),
    Synonym(r"locked_by", "worker_id", "a claim is no lock: it runs out"),
    Synonym(
        r"(?:fencing|lease|claim|lock) tokens?",
        "fence",
        "a token is what a caller shows at the door",
    ),
    Synonym(
        r"(?:dedupe|dedup|deduplication|idempotence) (?:keys?|ids?|tokens?)|idempotency tokens?",
        "event key, or key",
        "an event has an event key, a step has a key: two different things",
    ),
    Synonym(r"token buckets?", "budget", "a token is a credential here", paths=_RIVALS),
    Synonym(r"(?:rate|request) limiters?", "budget", "it is kept in a row", paths=_RIVALS),
    Synonym(r"snooz(?:e|es|ed|ing)", "deferral", "one word for handing back", paths=_RIVALS),
    Synonym(r"re ?queue(?:d|s|ing)?", "hand back, or retry", "the two differ", paths=_RIVALS),
    Synonym(r"dead letters?|dlq", "failed, or held", "the two differ", paths=_RIVALS),
    Synonym(r"sightings?", "observation", "what the old system did, not that it was seen"),
    Synonym(
        r"verdicts?",
        "comparison, or disposition",
        "what a machine compared and what a person decided are never one word",
        only=r"shadow|comparison|observation|review",
    ),
    Synonym(r"legacy systems?", "old system", "legacy is the command line's noun alone"),
    Synonym(r"cron jobs?", "schedule", "a schedule is a source; a job is one run"),
    Synonym(r"(?:job|task) types?", "automation", "a job's kind is its automation"),
    Synonym(r"(?<!context )managers?", "the thing's own name", "it says nothing"),
    Synonym(r"helpers?", "the thing's own name", "it says nothing"),
    Synonym(
        r"mock(?:s|ed|ing)?",
        "stand-in, or the real thing",
        "tests use real things; a dry run is answered by a stand-in",
        paths=_RIVALS,
    ),
]

# Parts of a name that say nothing about the thing.
_EMPTY = {
    "data", "handler", "helper", "helpers", "info", "manager", "misc", "process", "processor",
    "stuff", "util", "utils",
}  # fmt: skip

# "path: word" -> reason; path::name -> reason.
SIGNED: dict[str, str] = {}
SIGNED_NAMES: dict[str, str] = {
    "tenure/worker/process.py": "a process of the operating system, which is what it is",
    "tenure/worker/process.py::Process": "a process of the operating system",
}

_READ = (".py", ".sql", ".md", ".html", ".toml", ".js", ".css")
# Libraries that are shipped with the pages, as their authors made them.
_THEIRS = re.compile(r"\.min\.|/vendor/")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_JOINT = re.compile(r"[ \t_\-]+")


@functools.lru_cache(maxsize=4)
def plain(line: str) -> str:
    """The line in small letters, names taken apart: ``dedupeKey`` and ``dedupe_key`` read alike."""
    return _JOINT.sub(" ", _HUMP.sub(" ", line)).lower()


@functools.lru_cache(maxsize=4)
def names(line: str) -> str:
    """The line in small letters, names kept whole: ``runAfter`` and ``run_after`` read alike."""
    return _HUMP.sub("_", line).lower()


def synonyms(top: Path, root: Path) -> Iterator[Finding]:
    """Lines that hold a word for which the house has another one."""
    for path in files(top, *_READ):
        place = relative(path, root)
        if path == Path(__file__) or _THEIRS.search(place):
            continue
        text = path.read_text(encoding="utf-8")
        for synonym in SYNONYMS:
            if _asked(synonym, place):
                yield from _lines_with(synonym, text, place)


def _lines_with(synonym: Synonym, text: str, place: str) -> Iterator[Finding]:
    read = names if "_" in synonym.word else plain
    word = re.compile(rf"\b(?:{synonym.word})\b")
    if not word.search(read(text)):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        found = word.search(read(line))
        if found and not (synonym.lines and re.search(synonym.lines, plain(line))):
            says = f"'{found[0]}': the word is {synonym.ours}: {synonym.why}"
            yield Finding(f"{place}: {found[0]}", f"{place}:{number}", says)


def _asked(synonym: Synonym, place: str) -> bool:
    if synonym.only:
        return re.search(synonym.only, place) is not None
    return not (synonym.paths and re.search(synonym.paths, place))


def empty_names(top: Path, root: Path) -> Iterator[Finding]:
    """Modules, classes and functions whose name holds a part that names nothing."""
    for path in files(top, ".py"):
        place = relative(path, root)
        named = [(path.stem, place, place)]
        for name, node in scopes(parsed(path)):
            named.append((node.name, f"{place}::{name}", f"{place}:{node.lineno}"))
        for name, key, where in named:
            hollow = _EMPTY.intersection(plain(name).split())
            if hollow:
                yield Finding(key, where, f"{name}: '{min(hollow)}' names nothing")


def test_each_thing_is_called_by_its_one_word() -> None:
    """Package, SQL, pages, docs and tests hold no synonym of a word of the glossary."""
    tops = [PACKAGE, TESTS, DOCS, *sorted(ROOT.glob("*.md"))]
    hold((finding for top in tops for finding in synonyms(top, ROOT)), SIGNED)


def test_no_name_names_nothing() -> None:
    """No module, class or function of the package is called after nothing in particular."""
    hold(empty_names(PACKAGE, ROOT), SIGNED_NAMES)


@pytest.mark.parametrize(
    ("place", "line", "ours"),
    [
        ("store/jobs.py", "run_after = 3", "leased_until"),
        ("sql/jobs/get.sql", "order by j.scheduled_at", "leased_until"),
        ("web/a.py", "job.runAt", "leased_until"),
        ("flow/key.py", "dedupeKey: str", "event key, or key"),
        ("docs/a.md", "A Deduplication-Key of the event", "event key, or key"),
        ("docs/a.md", "the workflow runs", "automation"),
        ("docs/a.md", "the Job Queue", "lane or strand"),
        ("base/a.py", "class PoolManager:", "the thing's own name"),
        ("base/a.py", "context = manager", "the thing's own name"),
        ("web/a.py", "RateLimiter()", "budget"),
        ("shadow/a.py", "verdict = agree", "comparison, or disposition"),
        ("flow/a.py", "job.requeue()", "hand back, or retry"),
        ("tests/a.py", "from unittest import mock", "stand-in, or the real thing"),
    ],
)
def test_a_synonym_is_found(tmp_path: Path, place: str, line: str, ours: str) -> None:
    """A synonym is found in whatever way its words are joined, and its proper word named."""
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(f"\n{line}\n")
    found = list(synonyms(tmp_path, tmp_path))
    assert [finding.where for finding in found] == [f"{place}:2"]
    assert f": the word is {ours}: " in found[0].says


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("docs/a.md", "draws the n8n workflow as an automation"),
        ("legacy/n8n.py", "workflow_id: str"),
        ("base/verification.py", "class Verdict:"),
        ("store/a.py", "a context manager, made with @contextmanager"),
        ("docs/comparison.md", "hides the job behind a visibility timeout"),
        ("store/a.py", "chores run after their interval, locked by their row"),
        ("web/static/vendor/chart.js", "class Manager {}"),
        ("store/a.py", "the tenant of the account; its data and info"),
    ],
)
def test_a_word_in_its_proper_place_is_let_through(tmp_path: Path, place: str, line: str) -> None:
    """Old systems, libraries and rivals are spoken of in their own words."""
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(f"{line}\n")
    assert list(synonyms(tmp_path, tmp_path)) == []


def test_an_empty_name_is_found_wherever_it_is_given(tmp_path: Path) -> None:
    """A module, class, function or method whose name says nothing is found; others are not."""
    (tmp_path / "job_utils.py").write_text(
        "class JobManager:\n  def process_job(self): ...\n"
        "def get_info(): ...\n"
        "class Processing:\n  def datum(self): ...\n"
    )
    assert [finding.key for finding in empty_names(tmp_path, tmp_path)] == [
        "job_utils.py",
        "job_utils.py::JobManager",
        "job_utils.py::JobManager.process_job",
        "job_utils.py::get_info",
    ]
