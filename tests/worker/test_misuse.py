"""Tenure used as it cannot be used fails at once: the same version would fail again."""

from __future__ import annotations

import pytest

from tenure.store.database import Database
from tenure.testing.emulators import Emulator
from tests.kit.misuses import IN_A_THREAD, MISTAKES, MISUSES, app
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker


@pytest.fixture
def misused(database: Database) -> Rows:
    """The automation that misuses Tenure, live."""
    rows = Rows(database)
    rows.declare(app)
    return rows


def test_a_misuse_is_final_and_an_authors_own_mistake_is_not(
    misused: Rows, database_url: str, crm: Emulator
) -> None:
    """A misuse ends after one attempt, with what is wrong; a mistake has all of its attempts."""
    jobs = {way: misused.enqueue("misuse", way) for way in {**MISUSES, **MISTAKES}}
    with Worker(database_url, "tests.kit.misuses:app", environ=providers(crm=crm.url)):
        assert misused.until_ended(len(jobs)) == {"failed": len(jobs)}
    for way, (_, words) in MISUSES.items():
        job = misused.job(jobs[way])
        first = job["error"].splitlines()[0]
        assert words in first, way
        assert first.endswith("It is not tried again: the same version would fail in the same way.")
        assert (way, job["failure_count"]) == (way, 1)
    for way, (_, error_class) in MISTAKES.items():
        job = misused.job(jobs[way])
        assert (way, job["error_class"], job["failure_count"]) == (way, error_class, 2)
        assert "same version" not in job["error"].splitlines()[0]
    assert crm.effects == ()


def test_a_misuse_in_a_thread_is_final_too(misused: Rows, database_url: str) -> None:
    """What a `def` handler is given checks its arguments as well."""
    jobs = {way: misused.enqueue("misuse_in_a_thread", way) for way in IN_A_THREAD}
    with Worker(database_url, "tests.kit.misuses:app"):
        assert misused.until_ended(len(jobs)) == {"failed": len(jobs)}
    for way, (_, words) in IN_A_THREAD.items():
        job = misused.job(jobs[way])
        assert words in job["error"].splitlines()[0], way
        assert (way, job["failure_count"]) == (way, 1)
