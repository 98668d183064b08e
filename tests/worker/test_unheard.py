"""An admission that was not heard of for certain is used by nobody, and asked for again."""

from __future__ import annotations

from uuid import UUID

from tenure.testing.emulators import Emulator
from tests.kit.automations import Order
from tests.kit.pgproxy import Proxy, drop
from tests.kit.rows import Rows
from tests.stories.conftest import Start

# As a server answers whose wait for its synchronous standby was cancelled.
_WARN_ONCE = """
    create sequence tenure.warned;
    create function tenure.warn_once() returns trigger language plpgsql as $$
        begin
            if nextval('tenure.warned') = 1 then
                raise warning 'canceling wait for synchronous replication due to user request';
            end if;
            return new;
        end $$;
    create trigger warn_once before insert on tenure.calls
        for each row execute function tenure.warn_once();
"""


def _sends(rows: Rows, job: UUID) -> list[tuple[str, int, str]]:
    return [(call["step"], call["send"], call["state"]) for call in rows.calls(job)]


_AGAIN = [("deal", 1, "not_sent"), ("deal", 2, "done"), ("note", 1, "done")]


def test_an_admission_whose_answer_was_lost_is_not_used(
    start: Start, rows: Rows, proxy: Proxy, crm: Emulator
) -> None:
    """Committed, and the connection gone before its answer: nothing leaves on it."""
    trap = proxy.at("gate/gate", "after", act=drop)
    job = rows.enqueue("deal", Order(1))
    start(proxy.url)
    trap.wait_met()
    ended = rows.until(job, "succeeded", "held")
    assert (ended["state"], ended["failure_count"]) == ("succeeded", 0)
    assert _sends(rows, job) == _AGAIN
    assert [arrival.path for arrival in crm.arrivals] == ["/deals", "/notes"]


def test_an_admission_whose_commit_came_with_a_warning_is_not_used(
    start: Start, rows: Rows, crm: Emulator
) -> None:
    """Whether such a commit lasts is not known, so nothing is sent on it; it is asked for again."""
    rows.database.execute(_WARN_ONCE)
    job = rows.enqueue("deal", Order(1))
    start()
    ended = rows.until(job, "succeeded", "held")
    assert (ended["state"], ended["failure_count"]) == ("succeeded", 0)
    assert _sends(rows, job) == _AGAIN
    assert [arrival.path for arrival in crm.arrivals] == ["/deals", "/notes"]
