"""Claims lock what they return and nothing else, and no open transaction stands in their way."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from tenure.base.model import Finish, HandBack
from tenure.store import claims, ends
from tenure.store.database import Database
from tests.conftest import Clock
from tests.kit.automations import Order
from tests.kit.hands import Hand
from tests.kit.rows import Rows


@pytest.fixture
def hand(database_url: str) -> Iterator[Hand]:
    """A worker by hand."""
    hand = Hand(database_url)
    yield hand
    hand.close()


@pytest.fixture
def beside(database_url: str) -> Iterator[Database]:
    """A connection that looks on."""
    beside = Database(database_url, name="beside")
    yield beside
    beside.close()


def _strands(rows: Rows) -> dict[str, int]:
    found = rows.read("select automation, id from tenure.strands where live and not quarantine")
    return {row["automation"]: row["id"] for row in found}


def _unlocked(beside: Database) -> set[UUID]:
    rows = beside.execute("select id from tenure.jobs for update skip locked")
    return {row["id"] for row in rows}


def test_rows_locked_are_rows_returned(rows: Rows, hand: Hand, beside: Database) -> None:
    """Of many ready rows in several strands and priorities a claim locks just those it returns."""
    strands = _strands(rows)
    for name in ("charge", "deal", "stand"):
        for priority in (0, 5, 9):
            rows.read(
                "select tenure.enqueue(%(name)s, 'null', priority => %(priority)s)"
                " from generate_series(1, 20)",
                name=name,
                priority=priority,
            )
    everything = {row["id"] for row in rows.read("select id from tenure.jobs")}
    quotas = {strands["charge"]: 3, strands["deal"]: 1, strands["stand"]: 25}
    with hand.database.transaction():
        claimed = claims.claim(
            hand.database, worker=hand.worker, lease=30.0, quotas=quotas, quarantine=False
        )
        assert len(claimed.jobs) == claimed.rows == 29
        assert everything - _unlocked(beside) == {job.id for job in claimed.jobs}
    given = [job.automation for job in claimed.jobs]
    assert {name: given.count(name) for name in given} == {"charge": 3, "deal": 1, "stand": 25}


def test_first_comes_the_lowest_priority_number_then_whoever_waits_longest(
    rows: Rows, hand: Hand
) -> None:
    """Priority orders the jobs of a strand; among equals it is the time since they could run."""
    made = {
        (priority, n): rows.one(
            "select job_id from tenure.enqueue('stand', 'null', priority => %(priority)s)",
            priority=priority,
        )["job_id"]
        for n in range(3)
        for priority in (5, 0, 9)
    }
    claimed = [hand.claim(_strands(rows)["stand"], most=1)[0].id for _ in range(9)]
    assert claimed == [made[priority, n] for priority in (0, 5, 9) for n in range(3)]


def test_an_enqueue_left_uncommitted_delays_nobody(
    rows: Rows, hand: Hand, clock: Clock, database_url: str
) -> None:
    """While one is open, other enqueues, claims, gates, settles and dispatches of its strand go on.

    Each of them gives up after a second at a lock, so that one which had to wait would fail.
    """
    strand = _strands(rows)["deal"]
    with psycopg.connect(database_url) as conn:
        conn.execute("select tenure.enqueue('deal', 'null', key => 'mine')")
        clock.advance(30.0)
        jobs = {rows.enqueue("deal", Order(n)) for n in range(3)}
        due = claims.dispatch(
            hand.database, automations=["deal"], live=True, quarantine=False, after=0
        )
        assert [found.id for found in due] == [strand]
        claimed = hand.claim(strand)
        assert {job.id for job in claimed} == jobs
        first, second, third = claimed
        assert hand.ask(first).verdict == "admitted"
        done = ends.finish(hand.database, hand.worker, [Finish(first.id, first.fence, "succeeded")])
        assert done.done == {first.id}
        back = HandBack(second.id, second.fence, "deferral", delay=0.0)
        assert ends.hand_back(hand.database, hand.worker, [back]).done == {second.id}
        assert [job.id for job in hand.claim(strand)] == [second.id]
        assert claims.raise_bound(hand.database, due) == 1
        rows.enqueue("deal", Order(9), key="another")
        assert third.fence == 1
    [late] = hand.claim(strand, most=1)
    assert late.id not in jobs


def test_a_claim_left_uncommitted_delays_no_other_claim(
    rows: Rows, hand: Hand, database_url: str
) -> None:
    """Two workers claim from one strand at once, and no job falls to both."""
    other = Hand(database_url)
    strand = _strands(rows)["stand"]
    jobs = {rows.enqueue("stand", Order(n)) for n in range(10)}
    with hand.database.transaction():
        mine = {job.id for job in hand.claim(strand, most=6)}
        theirs = {job.id for job in other.claim(strand, most=6)}
    other.close()
    assert (len(mine), len(theirs)) == (6, 4)
    assert mine | theirs == jobs
    assert rows.broken_counts() == []
