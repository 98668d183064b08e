"""What goes wrong goes wrong as planned: for these requests, so many times, with that effect."""

from __future__ import annotations

import random

import httpx2
import pytest

from tenure.base import clock
from tenure.testing.emulators import Emulator, KeyRule, Limit, Plan, generic, hubspot, slack
from tests.testing.hand import Crowd


def test_a_connection_dropped_after_the_effect_leaves_the_effect(client: httpx2.Client) -> None:
    """The client knows nothing, the provider has done the work, and the key finds it again."""
    with Emulator(generic(keys=KeyRule())) as emulator:
        fault = emulator.fault("drop_after", path="/deals")
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post(f"{emulator.url}/deals", headers={"Idempotency-Key": "k"})
        assert (fault.used, len(emulator.effects)) == (1, 1)
        assert emulator.arrivals[0].outcome == "dropped"
        assert emulator.arrivals[0].status is None
        again = client.post(f"{emulator.url}/deals", headers={"Idempotency-Key": "k"})
        assert again.json()["id"] == emulator.effects[0].effect_id
        assert len(emulator.effects) == 1


def test_a_connection_dropped_before_the_effect_leaves_nothing(client: httpx2.Client) -> None:
    """The request arrived and that was all: not even its key is known."""
    with Emulator(generic(keys=KeyRule())) as emulator:
        emulator.fault("drop_before", path="/deals")
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post(f"{emulator.url}/deals", headers={"Idempotency-Key": "k"})
        assert emulator.effects == ()
        again = client.post(f"{emulator.url}/deals", headers={"Idempotency-Key": "k"})
        assert (again.status_code, emulator.arrivals[1].replayed) == (201, False)


@pytest.mark.parametrize(("kind", "effects"), [("drop_before", 0), ("drop_after", 1)])
def test_a_connection_can_end_with_a_reset(client: httpx2.Client, kind: str, effects: int) -> None:
    """A reset reaches the client as the error of a broken connection, not of a closed one."""
    plan = Plan("drop_before" if kind == "drop_before" else "drop_after", reset=True)
    with Emulator(generic(), faults=(plan,)) as emulator:
        with pytest.raises(httpx2.ReadError):
            client.post(f"{emulator.url}/deals")
        assert len(emulator.effects) == effects


@pytest.mark.parametrize(("kind", "effects"), [("error_before", 0), ("error_after", 1)])
def test_an_error_says_nothing_about_its_effect(
    client: httpx2.Client, kind: str, effects: int
) -> None:
    """The same 503 stands before nothing and after everything."""
    plan = Plan(
        "error_before" if kind == "error_before" else "error_after",
        status=503,
        retry_after=7.0,
        body="no",
    )
    with Emulator(generic(), faults=(plan,)) as emulator:
        answer = client.post(f"{emulator.url}/deals")
        assert (answer.status_code, answer.text) == (503, "no")
        assert answer.headers["Retry-After"] == "7"
        assert len(emulator.effects) == effects


def test_an_error_after_the_effect_does_not_make_a_keyed_repeat_do_it_twice(
    client: httpx2.Client,
) -> None:
    """Where failures are not stored, the key keeps the success that the error hid."""
    with Emulator(generic(keys=KeyRule(stores_failures=False))) as emulator:
        emulator.fault("error_after")
        headers = {"Idempotency-Key": "k"}
        statuses = [
            client.post(f"{emulator.url}/deals", headers=headers).status_code for _ in range(2)
        ]
        assert statuses == [500, 201]
        assert len(emulator.effects) == 1


def test_a_fault_meets_so_many_requests_and_no_others(client: httpx2.Client) -> None:
    """Path, method, how many to skip and how many to meet are counted, in order of arrival."""
    with Emulator(generic()) as emulator:
        fault = emulator.fault("error_before", path="/deals", method="POST", times=2, skip=1)
        url = f"{emulator.url}/deals"
        assert client.get(url).status_code == 200
        assert client.post(f"{emulator.url}/notes").status_code == 201
        assert [client.post(url).status_code for _ in range(4)] == [201, 500, 500, 201]
        assert fault.used == 2
        assert [arrival.fault for arrival in emulator.arrivals].count("error_before") == 2


def test_a_fault_without_end_lasts_until_cleared(client: httpx2.Client) -> None:
    """An outage lasts as long as the test wants it to."""
    with Emulator(generic()) as emulator:
        emulator.fault("error_before", path="/deals*", times=None, status=502)
        statuses = [client.post(f"{emulator.url}/deals").status_code for _ in range(5)]
        emulator.clear_faults()
        statuses.append(client.post(f"{emulator.url}/deals").status_code)
        assert statuses == [502] * 5 + [201]


def test_a_refused_request_spends_no_fault(client: httpx2.Client) -> None:
    """Faults are for requests that the limits let in, so that a test can count on them."""
    with Emulator(generic(Limit(1, per=3_600.0))) as emulator:
        client.post(f"{emulator.url}/deals")
        fault = emulator.fault("drop_after")
        assert client.post(f"{emulator.url}/deals").status_code == 429
        assert fault.used == 0


def test_a_throttle_comes_when_told_in_the_providers_words(client: httpx2.Client) -> None:
    """A throttle needs no full window, says how long where the provider does, and does nothing."""
    with Emulator(generic()) as emulator:
        emulator.fault("throttle", retry_after=31.0)
        answer = client.post(f"{emulator.url}/deals")
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "31")
        assert emulator.arrivals[0].refused
        assert emulator.effects == ()
    with Emulator(hubspot()) as emulator:
        emulator.fault("throttle")
        answer = client.post(f"{emulator.url}/crm/v3/objects/deals", json={})
        assert answer.json()["policyName"] == "TEN_SECONDLY_ROLLING"
    with Emulator(slack(quiet=True)) as emulator:
        emulator.fault("throttle")
        answer = client.post(f"{emulator.url}/api/chat.postMessage", json={"channel": "C1"})
        assert (answer.status_code, answer.json()["ok"]) == (200, False)


def test_a_hanging_request_is_answered_when_released() -> None:
    """A provider that hangs has done nothing yet; released, it goes on as if nothing had been."""
    with Emulator(generic()) as emulator, Crowd(1) as crowd:
        fault = emulator.fault("hang", path="/deals")
        answer = crowd.post(f"{emulator.url}/deals")
        fault.gate.wait_arrived()
        assert (emulator.effects, answer.done()) == ((), False)
        fault.release()
        assert answer.result().status_code == 201


@pytest.mark.parametrize(("kind", "effects"), [("hang", 0), ("hang_after", 1)])
def test_a_client_that_leaves_a_hanging_provider_is_seen_to_leave(
    client: httpx2.Client, kind: str, effects: int
) -> None:
    """The client's timeout ends the request; whether it had its effect is what the kind says."""
    with Emulator(generic()) as emulator:
        emulator.fault("hang" if kind == "hang" else "hang_after")
        with pytest.raises(httpx2.ReadTimeout):
            client.post(f"{emulator.url}/deals", timeout=httpx2.Timeout(10.0, read=0.05))
        record = emulator.wait_for(lambda it: it.arrivals[0].outcome == "gone")
        assert len(record.effects) == effects


def test_a_slow_answer_is_late_and_the_effect_is_not(client: httpx2.Client) -> None:
    """The work is done at once, and the answer takes its time."""
    with Emulator(generic()) as emulator:
        emulator.fault("slow", delay=0.15)
        before = clock.now()
        assert client.post(f"{emulator.url}/deals").status_code == 201
        assert clock.now() - before >= 0.15
        assert emulator.effects[0].at - emulator.arrivals[0].at < 0.15


def test_garbage_and_half_an_answer_are_no_answers(client: httpx2.Client) -> None:
    """Neither can be read as an answer, and both come after the effect."""
    with Emulator(generic()) as emulator:
        emulator.fault("garbage")
        emulator.fault("half_answer")
        for _ in range(2):
            with pytest.raises(httpx2.RemoteProtocolError):
                client.post(f"{emulator.url}/deals")
        assert [arrival.outcome for arrival in emulator.arrivals] == ["dropped", "dropped"]
        assert len(emulator.effects) == 2


def test_latency_and_jitter_delay_every_answer(client: httpx2.Client) -> None:
    """An answer takes the latency and what the seed's lot adds, in order of arrival."""
    lot = random.Random(7)  # noqa: S311 - the same lot as the emulator draws
    least = [0.02 + lot.uniform(0.0, 0.1) for _ in range(3)]
    with Emulator(generic(), latency=0.02, jitter=0.1, seed=7) as emulator:
        for _ in least:
            client.get(f"{emulator.url}/deals")
        took = [(arrival.ended or 0.0) - arrival.at for arrival in emulator.arrivals]
    # A timer may fire early by the resolution of the loop's clock, never by a millisecond.
    assert all(real >= drawn - 0.001 for real, drawn in zip(took, least, strict=True))
