"""Whatever text comes to be stored, wherever: no worker stops over it, no other job feels it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.store.database import Database
from tenure.testing.emulators import Emulator, generic
from tests.kit.facts import until
from tests.kit.hostile import PLACES, Task, app
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker

_KNOWN = [
    "a\0b",
    "\ud800",
    "a\udfffb\0",
    "\u202e\u2066right to left",
    "NaN",
    '{"tenure:cut": 1}',
    "{secret:KEY}",
    "%s %(id)s {0} $1 \\u0000 \\",
    "'; drop table tenure.jobs; --",
    "\r\nx-injected: 1\r\n\r\n",
    "\x1b[31m\x07\x7f\x80\x9f",
    "9" * 400,
    "\U0010ffff\ufffe\uffff",
    "",
    " ",
    "~sleep#1",
]
texts = st.sampled_from(_KNOWN) | st.text(
    st.characters(codec=None, exclude_categories=()), max_size=40
)
# As it is, or so often over that every limit is passed.
times = st.just(1) | st.sampled_from([50_000])


@pytest.fixture
def rows(database: Database) -> Iterator[Rows]:
    """The two automations, live, with a worker that runs them."""
    rows = Rows(database)
    rows.declare(app)
    with (
        Emulator(generic()) as crm,
        Worker(database.url, "tests.kit.hostile:app", environ=providers(crm=crm.url)),
    ):
        yield rows


def _enqueue(rows: Rows, place: str, text: str, times: int) -> UUID:
    return rows.enqueue("odd", msgspec.to_builtins(Task(place, [*map(ord, text)], times)))


@pytest.mark.timeout(480)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts, times=times)
def test_no_text_in_any_place_stops_a_worker_or_harms_another_job(
    rows: Rows, text: str, times: int
) -> None:
    """Each odd job ends, waits or is held, and says why; those beside it succeed at first try."""
    jobs = {place: _enqueue(rows, place, text, times) for place in PLACES}
    plain = [rows.enqueue("plain", n) for n in range(3)]

    def settled() -> bool:
        states = rows.read(
            "select state, waiting_on from tenure.all_jobs where id = any(%(ids)s)",
            ids=[*jobs.values(), *plain],
        )
        return all(
            row["state"] in ("succeeded", "failed", "held")
            or (row["state"] == "waiting" and row["waiting_on"])
            for row in states
        )

    until(settled, f"every job has come to its end over {text!r}, {times} times", 90.0)
    beside = [rows.job(job) for job in plain]
    assert [(job["state"], job["fence"]) for job in beside] == [("succeeded", 1)] * 3
    assert rows.broken_counts() == []
    for place, job in jobs.items():
        said = rows.read(
            "select sentence from tenure.explain where job_id = %(id)s order by position", id=job
        )
        assert said, place
        assert all(row["sentence"] for row in said), place
