"""Limits are enforced when a request arrives, as providers do it."""

from __future__ import annotations

import httpx2
import pytest

from tenure.base.errors import ConfigurationError
from tenure.testing.emulators import Emulator, Limit, generic
from tests.testing.hand import Crowd, Hand


def _statuses(client: httpx2.Client, url: str, count: int) -> list[int]:
    return [client.post(url, json={}).status_code for _ in range(count)]


def test_a_rolling_limit_admits_its_units_in_every_window(
    client: httpx2.Client, hand: Hand
) -> None:
    """In no window of its length, wherever it begins, are more units admitted than the limit."""
    with Emulator(generic(Limit(3, per=10.0)), clock=hand) as emulator:
        url = f"{emulator.url}/deals"
        hand.at = 1_009.0
        assert _statuses(client, url, 2) == [201, 201]
        hand.at = 1_011.0
        assert _statuses(client, url, 2) == [201, 429]
        hand.at = 1_018.9
        assert _statuses(client, url, 1) == [429]
        hand.at = 1_019.0
        assert _statuses(client, url, 3) == [201, 201, 429]
        assert len(emulator.effects) == 5


def test_a_fixed_limit_begins_anew_at_each_multiple(client: httpx2.Client, hand: Hand) -> None:
    """Around the edge of a fixed window twice the limit passes, which a rolling window shows."""
    with Emulator(generic(Limit(3, per=10.0, kind="fixed")), clock=hand) as emulator:
        url = f"{emulator.url}/deals"
        hand.at = 1_009.5
        assert _statuses(client, url, 4) == [201, 201, 201, 429]
        hand.at = 1_010.0
        assert _statuses(client, url, 4) == [201, 201, 201, 429]
        assert emulator.peak() == 4
        assert emulator.peak(Limit(3, per=10.0)) == 8


def test_a_refused_request_is_no_effect_and_takes_no_unit(
    client: httpx2.Client, hand: Hand
) -> None:
    """What was refused changed nothing and delays nothing, yet the ledger and the peak have it."""
    with Emulator(generic(Limit(1, per=10.0)), clock=hand) as emulator:
        assert _statuses(client, f"{emulator.url}/deals", 3) == [201, 429, 429]
        hand.at += 10.0
        assert _statuses(client, f"{emulator.url}/deals", 1) == [201]
        assert [arrival.refused for arrival in emulator.arrivals] == [False, True, True, False]
        assert [arrival.limit for arrival in emulator.arrivals[1:3]] == ["1 per 10 s"] * 2
        assert len(emulator.effects) == 2
        assert emulator.peak() == 3


def test_refused_requests_count_where_the_provider_counts_them(
    client: httpx2.Client, hand: Hand
) -> None:
    """A provider that counts refusals stays closed as long as it is asked."""
    with Emulator(generic(Limit(1, per=10.0, counts_refused=True)), clock=hand) as emulator:
        assert _statuses(client, f"{emulator.url}/deals", 1) == [201]
        hand.at += 9.0
        assert _statuses(client, f"{emulator.url}/deals", 1) == [429]
        hand.at += 9.0
        assert _statuses(client, f"{emulator.url}/deals", 1) == [429]
        hand.at += 10.0
        assert _statuses(client, f"{emulator.url}/deals", 1) == [201]


def test_what_one_limit_refuses_the_others_do_not_take(client: httpx2.Client, hand: Hand) -> None:
    """A request passes all limits that concern it or takes from none of them."""
    wide, narrow = Limit(3, per=10.0), Limit(1, per=10.0, match="/deals")
    with Emulator(generic(wide, narrow), clock=hand) as emulator:
        assert _statuses(client, f"{emulator.url}/deals", 5) == [201, 429, 429, 429, 429]
        assert _statuses(client, f"{emulator.url}/notes", 3) == [201, 201, 429]
        assert emulator.peak(narrow) == 5


def test_scopes_and_methods_are_counted_apart(client: httpx2.Client, hand: Hand) -> None:
    """Each credential has a count of its own, and what a limit does not concern is free."""
    limit = Limit(1, per=10.0, methods=("POST",), scope="account")
    with Emulator(generic(limit), clock=hand) as emulator:
        url = f"{emulator.url}/deals"
        for token in ("one", "two"):
            headers = {"Authorization": f"Bearer {token}"}
            answers = [client.post(url, headers=headers).status_code for _ in range(2)]
            assert answers == [201, 429]
            assert client.get(url, headers=headers).status_code == 200
        assert emulator.peak() == 2


def test_an_unsafe_request_can_cost_more(client: httpx2.Client, hand: Hand) -> None:
    """Points are taken by cost, and a request that no longer fits takes none."""
    with Emulator(generic(Limit(7, per=60.0, unsafe_cost=5)), clock=hand) as emulator:
        assert client.post(f"{emulator.url}/deals").status_code == 201
        assert client.post(f"{emulator.url}/deals").status_code == 429
        answers = [client.get(f"{emulator.url}/deals").status_code for _ in range(3)]
        assert answers == [200, 200, 429]


def test_units_at_once_are_freed_by_answers(client: httpx2.Client) -> None:
    """As many requests as the limit says are let in at once, and each answer makes room."""
    limit = Limit(2)
    with Emulator(generic(limit)) as emulator, Crowd(2) as crowd:
        with emulator.hold("/deals") as gate:
            waiting = [crowd.post(f"{emulator.url}/deals") for _ in range(2)]
            gate.wait_arrived(2)
            assert client.get(f"{emulator.url}/notes").status_code == 429
        assert [answer.result().status_code for answer in waiting] == [201, 201]
        assert client.get(f"{emulator.url}/notes").status_code == 200
        assert emulator.peak(limit) == 3


def test_limits_change_while_it_runs(client: httpx2.Client) -> None:
    """A provider may lower its limit on any day; the next arrival meets the new one."""
    with Emulator(generic(Limit(100, per=60.0))) as emulator:
        assert _statuses(client, f"{emulator.url}/deals", 2) == [201, 201]
        emulator.set_limits(Limit(1, per=60.0))
        assert _statuses(client, f"{emulator.url}/deals", 2) == [201, 429]


def test_the_clock_can_be_moved_ahead(client: httpx2.Client) -> None:
    """A test of long windows moves the emulator's own clock and waits for nothing."""
    with Emulator(generic(Limit(1, per=86_400.0))) as emulator:
        assert _statuses(client, f"{emulator.url}/deals", 2) == [201, 429]
        emulator.advance(86_400.0)
        assert _statuses(client, f"{emulator.url}/deals", 1) == [201]


def test_a_limit_is_exact_under_a_crowd() -> None:
    """Of forty requests at once exactly the limit's units take effect."""
    with Emulator(generic(Limit(15, per=3_600.0))) as emulator, Crowd(8) as crowd:
        answers = [crowd.post(f"{emulator.url}/deals", json={}) for _ in range(40)]
        statuses = sorted(answer.result().status_code for answer in answers)
        assert statuses == [201] * 15 + [429] * 25
        assert len(emulator.effects) == 15
        assert emulator.peak() == 40


@pytest.mark.parametrize(
    ("units", "per", "cost"), [(0, 1.0, 1), (4, 1.0, 5), (1, 0.0, 1), (1, float("inf"), 1)]
)
def test_a_limit_that_nothing_can_pass_is_refused(units: int, per: float, cost: int) -> None:
    """A limit without room or without length is an error where it is declared."""
    with pytest.raises(ConfigurationError):
        Limit(units, per=per, unsafe_cost=cost)
