"""Settling is one commit: a job is unfinished or finished, and never both or neither."""

from __future__ import annotations

import pytest

from tests.kit.automations import Order
from tests.kit.pgproxy import Proxy, kill
from tests.kit.rows import Rows
from tests.stories.conftest import Start


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_killed_at_its_settle_leaves_the_job_in_one_place(
    start: Start, rows: Rows, proxy: Proxy, when: str
) -> None:
    """Killed before the commit the job runs again; killed after it the job has ended."""
    trap = proxy.at("ends/finish", "after" if when == "after" else "before", act=kill)
    job = rows.enqueue("stand", Order(3), key="mine")
    worker = start(proxy.url, lease=2.0)
    trap.wait_met()
    worker.kill()
    unfinished = [row["id"] for row in rows.read("select id from tenure.jobs")]
    finished = [row["id"] for row in rows.read("select id from tenure.finished_jobs")]
    keys = [row["job_id"] for row in rows.read("select job_id from tenure.unique_keys")]
    places = ([], [job], []) if when == "after" else ([job], [], [job])
    assert (unfinished, finished, keys) == places
    start()
    ended = rows.until(job, "succeeded")
    assert ended["result"] == 6
    assert ended["crash_count"] == (when == "before")
    assert rows.broken_counts() == []
