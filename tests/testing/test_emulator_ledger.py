"""The ledger says what came and what was done, and tests wait for what it says."""

from __future__ import annotations

import hashlib
import threading

import httpx2
import pytest

from tenure.testing.emulators import (
    Effect,
    Emulator,
    EmulatorError,
    Limit,
    NotRunning,
    NotSeen,
    fingerprint,
    generic,
)
from tests.testing.hand import Crowd, plain_client


def test_an_effect_is_entered_with_all_that_identifies_it(client: httpx2.Client) -> None:
    """Method, path, query, key, body and its digest, identity and arrival: nothing is lost."""
    with Emulator(generic()) as emulator:
        body = b'{"name": "Ada \\u00e9"}'
        headers = {"Idempotency-Key": "k", "Content-Type": "application/json", "X-Trace": "t"}
        client.get(f"{emulator.url}/deals")
        answer = client.post(f"{emulator.url}/deals?draft=1", content=body, headers=headers)
        effect = emulator.effects[0]
        arrival = emulator.arrivals[effect.arrival - 1]
        assert (effect.method, effect.path, effect.query) == ("POST", "/deals", "draft=1")
        assert (effect.key, effect.body) == ("k", body.decode())
        assert effect.body_sha256 == hashlib.sha256(body).hexdigest()
        assert effect.effect_id == answer.json()["id"] == "deal_1"
        assert (effect.header("X-Trace"), arrival.header("x-trace")) == ("t", "t")
        assert (arrival.n, arrival.status, arrival.effect) == (2, 201, 1)
        assert arrival.at <= effect.at <= (arrival.ended or 0.0)


def test_only_unsafe_requests_that_succeed_are_effects(client: httpx2.Client) -> None:
    """Reads, searches and refusals change nothing; writes do, each once."""
    with Emulator(generic()) as emulator:
        url = f"{emulator.url}/deals"
        made = client.post(url, json={"name": "a"}).json()
        one = f"{url}/{made['id']}"
        client.get(one)
        client.head(one)
        client.post(f"{url}/search", json={})
        client.post(url, content=b"{", headers={"Content-Type": "application/json"})
        client.put(one, json={"name": "b"})
        client.patch(one, json={"amount": 2})
        client.delete(one)
        assert client.delete(one).status_code == 404
        assert [effect.method for effect in emulator.effects] == ["POST", "PUT", "PATCH", "DELETE"]


def test_credentials_are_compared_and_never_kept(client: httpx2.Client) -> None:
    """The ledger can tell one credential from another and cannot tell anybody what it is."""
    with Emulator(generic()) as emulator:
        headers = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret"}
        client.post(f"{emulator.url}/deals", headers=headers)
        ledger = client.get(f"{emulator.url}/_emulator/ledger").text
        assert "s3cret" not in ledger
        assert "s3cret" not in repr(emulator.ledger)
        assert emulator.arrivals[0].header("Authorization") == fingerprint("Bearer s3cret")
        assert fingerprint("Bearer s3cret") != fingerprint("Bearer other")


def test_duplicates_are_counted_by_key_or_by_whatever_a_test_says(client: httpx2.Client) -> None:
    """Effects beyond the first of an identity are duplicates; those without one are not."""
    with Emulator(generic()) as emulator:
        for order, key in (("a", "1"), ("a", "2"), ("b", "2"), ("c", None)):
            headers = {"Idempotency-Key": key} if key else {}
            headers["X-Test-Identity"] = order
            client.post(f"{emulator.url}/orders", json={}, headers=headers)

        def by_order(effect: Effect) -> str | None:
            return effect.header("X-Test-Identity")

        assert [effect.n for effect in emulator.duplicates()] == [3]
        assert [effect.n for effect in emulator.duplicates(by=by_order)] == [2]


def test_a_test_waits_for_a_fact_of_the_ledger(client: httpx2.Client) -> None:
    """The wait ends with the change that makes the fact true, and hands over what it saw."""
    with Emulator(generic()) as emulator:
        seen: list[int] = []

        def wait() -> None:
            seen.append(len(emulator.wait_for(lambda it: len(it.effects) == 3).arrivals))

        waiting = threading.Thread(target=wait)
        waiting.start()
        for _ in range(3):
            client.post(f"{emulator.url}/deals")
        waiting.join(10.0)
        assert seen == [3]


def test_a_wait_for_nothing_ends_with_what_there_was_instead(client: httpx2.Client) -> None:
    """A fact that does not come about is an error that counts what did."""
    with Emulator(generic()) as emulator:
        client.post(f"{emulator.url}/deals")
        with pytest.raises(NotSeen, match="1 arrivals, 1 effects"):
            emulator.wait_for(lambda it: len(it.effects) == 2, timeout=0.05)
        with pytest.raises(NotSeen, match="0 of 1 requests"):
            emulator.hold("/deals").wait_arrived(timeout=0.05)


@pytest.mark.parametrize(("when", "effects"), [("before", 0), ("after", 1)])
def test_a_gate_holds_requests_before_or_after_their_effect(when: str, effects: int) -> None:
    """What stands at a gate has or has not had its effect, and none of it is answered."""
    with Emulator(generic()) as emulator, Crowd(3) as crowd:
        gate = emulator.hold("/deals", when="before" if when == "before" else "after")
        answers = [crowd.post(f"{emulator.url}/deals") for _ in range(2)]
        free = crowd.post(f"{emulator.url}/notes")
        gate.wait_arrived(2)
        assert free.result().status_code == 201
        record = emulator.ledger
        held = [effect for effect in record.effects if effect.path == "/deals"]
        assert len(held) == 2 * effects
        assert record.counts()["pending"] == gate.waiting == 2
        gate.release(1)
        emulator.wait_for(lambda it: it.counts()["pending"] == 1)
        assert gate.waiting == 1
        gate.release()
        assert [answer.result().status_code for answer in answers] == [201, 201]
        assert crowd.post(f"{emulator.url}/deals").result().status_code == 201


def test_a_client_that_gives_up_does_not_take_its_effect_away(client: httpx2.Client) -> None:
    """A slow provider finishes the work of a client that has left: the effect comes later."""
    with Emulator(generic()) as emulator:
        with emulator.hold("/deals") as gate:
            with pytest.raises(httpx2.ReadTimeout):
                client.post(f"{emulator.url}/deals", timeout=httpx2.Timeout(10.0, read=0.05))
            gate.wait_arrived()
            assert emulator.effects == ()
        emulator.wait_for(lambda it: len(it.effects) == 1)


def test_a_stopped_provider_comes_back_with_all_it_knew(client: httpx2.Client) -> None:
    """An outage ends connections and refuses new ones; the address, ledger and objects stay."""
    emulator = Emulator(generic()).start()
    url = emulator.url
    made = client.post(f"{url}/deals", json={"name": "a"}).json()
    emulator.stop()
    with pytest.raises(httpx2.ConnectError):
        client.get(f"{url}/deals")
    with emulator.start():
        assert emulator.url == url
        assert client.get(f"{url}/deals/{made['id']}").json() == made
        assert len(emulator.effects) == 1


def test_starting_twice_is_an_error_that_says_so() -> None:
    """A running emulator is not started again, but may be entered, which ends it at the end."""
    with Emulator(generic()) as emulator:
        with pytest.raises(EmulatorError, match="running already"):
            emulator.start()
        with emulator as same:
            assert same is emulator


def test_stopping_ends_what_is_held(client: httpx2.Client) -> None:
    """No request keeps a stopping provider, and its client is told by the end of the connection."""
    with Crowd(1) as crowd:
        emulator = Emulator(generic()).start()
        gate = emulator.hold("/deals")
        answer = crowd.post(f"{emulator.url}/deals")
        gate.wait_arrived()
        emulator.stop()
        with pytest.raises(httpx2.RemoteProtocolError):
            answer.result()
        assert emulator.arrivals[0].outcome == "dropped"
        with pytest.raises(NotRunning):
            emulator.close_idle()


def test_connections_are_counted_and_idle_ones_can_be_closed(client: httpx2.Client) -> None:
    """Requests share a connection until the provider ends it between two of them."""
    with Emulator(generic()) as emulator:
        for _ in range(3):
            client.get(f"{emulator.url}/deals")
        assert emulator.connections == 1
        emulator.close_idle()
        with plain_client() as other:
            other.get(f"{emulator.url}/deals")
        client.get(f"{emulator.url}/deals")
        assert emulator.connections == 3


def test_objects_can_be_seeded_and_looked_at(client: httpx2.Client) -> None:
    """A test gives the provider a past and reads what became of it."""
    with Emulator(generic()) as emulator:
        emulator.seed("/deals/7", {"id": "7", "name": "old"})
        assert client.get(f"{emulator.url}/deals?name=old").json()["results"][0]["id"] == "7"
        assert client.get(f"{emulator.url}/deals?name=new").json()["results"] == []
        client.patch(f"{emulator.url}/deals/7", json={"name": "new"})
        assert emulator.object("/deals/7") == {"id": "7", "name": "new"}
        assert client.get(f"{emulator.url}/deals/8").status_code == 404


def test_the_ledger_is_read_over_http_and_does_not_see_itself_read(client: httpx2.Client) -> None:
    """Control requests are neither recorded nor limited, and faults planned there are met."""
    limit = Limit(1, per=3_600.0)
    with Emulator(generic(limit)) as emulator:
        control = f"{emulator.url}/_emulator"
        planned = client.post(f"{control}/faults", json=[{"kind": "error_before", "status": 502}])
        assert planned.json() == {"numbers": [0]}
        assert client.post(f"{emulator.url}/deals").status_code == 502
        assert client.post(f"{emulator.url}/deals").status_code == 429
        summary = client.get(f"{control}/summary").json()
        assert summary["counts"]["arrivals"] == 2
        assert summary["counts"]["refused"] == 1
        assert summary["faults"] == [1]
        assert [it["peak"] for it in summary["limits"]] == [2]
        ledger = client.get(f"{control}/ledger").json()
        assert [arrival["status"] for arrival in ledger["arrivals"]] == [502, 429]


@pytest.mark.parametrize(
    ("method", "what", "body", "status"),
    [
        ("POST", "faults", '{"kind": "fire"}', 400),
        ("POST", "faults", '{"kind": "slow", "colour": 1}', 400),
        ("POST", "faults", "{", 400),
        ("POST", "limits", '[{"units": 0}]', 400),
        ("POST", "holds/3/release", "", 400),
        ("GET", "wait?after=x", "", 400),
        ("GET", "nowhere", "", 404),
        ("PUT", "ledger", "", 404),
    ],
)
def test_a_control_request_that_cannot_work_says_so(
    client: httpx2.Client, method: str, what: str, body: str, status: int
) -> None:
    """A mistake in a control request is answered, with a sentence, and breaks nothing."""
    with Emulator(generic()) as emulator:
        answer = client.request(method, f"{emulator.url}/_emulator/{what}", content=body)
        assert answer.status_code == status
        assert answer.json()["error"]
        assert client.get(f"{emulator.url}/deals").status_code == 200
