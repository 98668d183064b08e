"""A worker that hears that a claim is over lets go of the job, and of its slot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.facts import until
from tests.kit.hands import Hand, taken_from
from tests.kit.meeting import Meeting
from tests.kit.rows import Rows
from tests.stories.conftest import Start


@pytest.fixture
def hand(database_url: str) -> Iterator[Hand]:
    """Another worker, by hand, whose lease lasts."""
    hand = Hand(database_url, lease=600.0)
    yield hand
    hand.close()


def test_a_handler_whose_claim_was_lost_is_unwound_where_it_stands(
    start: Start, rows: Rows, clock: Clock, hand: Hand, meeting: Meeting
) -> None:
    """Its slot is free for the next job, though nobody lets it go on; the claim is untouched."""
    job = rows.enqueue("stand", Order(1, "for ever"))
    worker = start(concurrency=1, lease=10.0)
    pid = worker.wait_ready()
    meeting.wait_for("for ever")
    worker.freeze(pid)
    clock.advance(11.0)
    theirs = taken_from(hand, rows.database, job)
    worker.thaw()
    until(lambda: worker.said("its lease was lost"), "the worker has heard of it")
    other = rows.enqueue("stand", Order(2))
    assert rows.until(other, "succeeded")["result"] == 4
    row = rows.job(job)
    assert (row["state"], row["worker_id"], row["fence"]) == ("running", hand.worker, theirs.fence)
    assert worker.stop() == 0
    assert rows.job(job)["worker_id"] == hand.worker
    assert rows.broken_counts() == []
