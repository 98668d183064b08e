"""A failure shows its error, where it came from, which worker ran it, where, in which version."""

from __future__ import annotations

import re

from tenure.store import explain
from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.kit.corners import app as corners
from tests.kit.facts import until
from tests.kit.odd import app as odd
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker

_SECRET = "sesame-opens-the-crm"


def test_each_failed_attempt_keeps_error_lines_worker_host_and_version(
    database: Database, database_url: str
) -> None:
    """The error stands without the lines, the lines beside it, and the author's are explained."""
    rows = Rows(database)
    rows.declare(odd)
    job = rows.enqueue("ends", "always")
    with Worker(database_url, "tests.kit.odd:app") as worker:
        ended = rows.until(job, "failed")
        name = worker.worker_id()
    attempts = rows.attempts(job)
    assert [attempt["ended"] for attempt in attempts] == ["failure"] * 3
    for attempt in attempts:
        assert (attempt["error_class"], attempt["error"]) == ("ValueError", "always")
        assert '> File "tests/kit/odd.py", line ' in attempt["traceback"]
        assert attempt["traceback"].endswith("ValueError: always")
        assert "worker/runner.py" not in attempt["traceback"]
        assert str(attempt["worker_id"]) == name
        assert attempt["version"] == odd.automations["ends"].declared.version
    host = rows.one("select host from tenure.workers where id = %(id)s", id=name)["host"]
    assert {attempt["host"] for attempt in attempts} == {host}
    assert (ended["error"], ended["traceback"]) == ("always", attempts[-1]["traceback"])
    told = [line.sentence for line in explain.sentences(database, job) if line.part == "trace"]
    assert [re.sub(r"\d+", "N", line) for line in told] == [
        'At tests/kit/odd.py, line N, in ends: raise ValueError("always")'
    ]
    shown = explain.attempts(database, job)
    assert [(each.claim, each.host, each.traceback) for each in shown] == [
        (attempt["fence"], host, attempt["traceback"]) for attempt in reversed(attempts)
    ]


def test_the_log_says_of_each_failed_attempt_what_follows(
    database: Database, database_url: str
) -> None:
    """One line each: job, automation, error, and what follows; one for a question too."""
    rows = Rows(database)
    rows.declare(odd)
    failing, held = rows.enqueue("ends", "always"), rows.enqueue("ends", "hold")
    with Worker(database_url, "tests.kit.odd:app") as worker:
        rows.until(failing, "failed")
        rows.until(held, "held")
        until(lambda: worker.said(f"job {held} (ends) is held: shall it?"))
        until(lambda: worker.said("failed for good"))
        lines = [line for line in worker.lines if str(failing) in line]
    assert len(lines) == 3
    assert all(f"WARNING job {failing} (ends), claim " in line for line in lines)
    assert all("ValueError: always; it " in line for line in lines)
    assert [line.rpartition("; ")[2][:22] for line in lines] == [
        "it is tried again at 2",
        "it is tried again at 2",
        "it has failed for good",
    ]


def test_a_secret_is_in_none_of_it(database: Database, database_url: str, crm: Emulator) -> None:
    """Neither the error, nor its lines, nor the log repeat a credential."""
    rows = Rows(database)
    rows.declare(corners)
    job = rows.enqueue("echoing", 1)
    environ = {**providers(crm=crm.url), "KIT_SECRET": _SECRET}
    with Worker(database_url, "tests.kit.corners:app", environ=environ) as worker:
        until(lambda: rows.attempts(job))
        until(lambda: worker.said("{secret:KIT_SECRET}"))
    for attempt in rows.attempts(job):
        assert "the key {secret:KIT_SECRET} does not work" in attempt["error"]
        assert "{secret:KIT_SECRET} does not work" in attempt["traceback"]
        assert _SECRET not in attempt["error"] + attempt["traceback"]
    assert not worker.said(_SECRET)
