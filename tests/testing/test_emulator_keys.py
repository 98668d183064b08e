"""Keys are remembered, compared and forgotten by the provider's own rules."""

from __future__ import annotations

import httpx2
import pytest

from tenure.testing.emulators import Emulator, KeyRule, Limit, generic, hubspot, resend, stripe
from tests.testing.hand import Crowd, Hand

_MAIL = {"from": "a@example.com", "to": "b@example.com"}


def _key(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_a_repeat_gets_the_first_answer_and_no_second_effect(client: httpx2.Client) -> None:
    """The same request under the same key is answered alike, marked, and changes nothing."""
    with Emulator(stripe()) as emulator:
        url = f"{emulator.url}/v1/charges"
        first = client.post(url, data={"amount": "5"}, headers=_key("k1"))
        again = client.post(url, data={"amount": "5"}, headers=_key("k1"))
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert "Idempotent-Replayed" not in first.headers
        assert again.headers["Idempotent-Replayed"] == "true"
        assert [effect.key for effect in emulator.effects] == ["k1"]
        assert [arrival.replayed for arrival in emulator.arrivals] == [False, True]
        assert emulator.duplicates() == ()


def test_a_key_with_another_body_is_a_mismatch(client: httpx2.Client) -> None:
    """A key reused for another request is refused in the provider's own words."""
    with Emulator(stripe()) as emulator:
        url = f"{emulator.url}/v1/charges"
        client.post(url, data={"amount": "5"}, headers=_key("k1"))
        other = client.post(url, data={"amount": "6"}, headers=_key("k1"))
        assert other.status_code == 400
        assert other.json()["error"]["type"] == "idempotency_error"
        assert len(emulator.effects) == 1


def test_a_key_with_another_path_is_a_mismatch(client: httpx2.Client) -> None:
    """The path is part of what a key was first used for."""
    with Emulator(generic(keys=KeyRule(mismatch=422))) as emulator:
        client.post(f"{emulator.url}/deals", headers=_key("k1"))
        assert client.post(f"{emulator.url}/notes", headers=_key("k1")).status_code == 422


def test_a_key_in_flight_is_told_so_until_the_first_is_answered(client: httpx2.Client) -> None:
    """While the first request is at work a second gets 409, and a replay once it is done."""
    with Emulator(stripe()) as emulator, Crowd(1) as crowd:
        url = f"{emulator.url}/v1/charges"
        with emulator.hold("/v1/charges", when="before") as gate:
            first = crowd.post(url, key="k1")
            gate.wait_arrived()
            busy = client.post(url, headers=_key("k1"))
            assert busy.status_code == 409
            assert busy.json()["error"]["code"] == "idempotency_key_in_use"
        answer = first.result()
        assert client.post(url, headers=_key("k1")).content == answer.content
        assert len(emulator.effects) == 1


def test_a_key_is_forgotten_after_its_window(client: httpx2.Client, hand: Hand) -> None:
    """Beyond the window the same key is executed anew, and the ledger calls that a duplicate."""
    with Emulator(generic(keys=KeyRule(window=60.0)), clock=hand) as emulator:
        url = f"{emulator.url}/deals"
        client.post(url, headers=_key("k1"))
        hand.at += 59.9
        assert "Idempotent-Replayed" in client.post(url, headers=_key("k1")).headers
        hand.at += 0.1
        assert "Idempotent-Replayed" not in client.post(url, headers=_key("k1")).headers
        assert [effect.n for effect in emulator.duplicates()] == [2]


def test_stripe_stores_a_failure_under_its_key(client: httpx2.Client) -> None:
    """A stored 500 comes back for ever: only another key gets the work done."""
    with Emulator(stripe()) as emulator:
        emulator.fault("error_before", path="/v1/charges")
        url = f"{emulator.url}/v1/charges"
        statuses = [client.post(url, headers=_key("k1")).status_code for _ in range(2)]
        assert statuses == [500, 500]
        assert emulator.arrivals[1].replayed
        assert client.post(url, headers=_key("k2")).status_code == 200
        assert len(emulator.effects) == 1


@pytest.mark.parametrize("kind", ["refuse", "throttle"])
def test_stripe_stores_no_refusal_and_no_throttle(client: httpx2.Client, kind: str) -> None:
    """After a validation failure or a throttle the same key does the work."""
    with Emulator(stripe()) as emulator:
        emulator.fault("refuse" if kind == "refuse" else "throttle", path="/v1/charges")
        url = f"{emulator.url}/v1/charges"
        statuses = [client.post(url, headers=_key("k1")).status_code for _ in range(2)]
        assert statuses == [400 if kind == "refuse" else 429, 200]
        assert len(emulator.effects) == 1


def test_the_limit_stands_before_the_key(client: httpx2.Client, hand: Hand) -> None:
    """A repeat is refused by a full window like any request, and replayed once there is room."""
    with Emulator(stripe(Limit(1, per=1.0)), clock=hand) as emulator:
        url = f"{emulator.url}/v1/charges"
        statuses = [client.post(url, headers=_key("k1")).status_code for _ in range(2)]
        hand.at += 1.0
        statuses.append(client.post(url, headers=_key("k1")).status_code)
        assert statuses == [200, 429, 200]
        assert emulator.arrivals[2].replayed


def test_resend_keeps_successes_only_and_only_for_emails(client: httpx2.Client) -> None:
    """A failed e-mail may be sent again under its key; elsewhere a key means nothing."""
    with Emulator(resend(Limit(100, per=1.0))) as emulator:
        emulator.fault("error_before", path="/emails")
        url = f"{emulator.url}/emails"
        answers = [client.post(url, json=_MAIL, headers=_key("k1")) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [500, 200, 200]
        assert answers[1].json() == answers[2].json()
        other = client.post(url, json=_MAIL | {"subject": "x"}, headers=_key("k1"))
        assert (other.status_code, other.json()["name"]) == (409, "invalid_idempotent_request")
        for _ in range(2):
            client.post(f"{emulator.url}/domains", json={}, headers=_key("k2"))
        assert [effect.path for effect in emulator.duplicates()] == ["/domains"]


def test_a_provider_without_keys_repeats_the_work(client: httpx2.Client) -> None:
    """Where no key is honoured each repeat is a second effect, which the ledger can name."""
    with Emulator(hubspot()) as emulator:
        url = f"{emulator.url}/crm/v3/objects/deals"
        for _ in range(2):
            client.post(url, json={"properties": {"name": "a"}}, headers=_key("k1"))
        assert [effect.effect_id for effect in emulator.duplicates()] == ["2"]


def test_a_key_is_found_in_the_body_or_the_query(client: httpx2.Client) -> None:
    """Providers that take keys elsewhere than in a header are emulated too."""
    with Emulator(generic(keys=KeyRule(field="meta.key"))) as emulator:
        bodies = [client.post(f"{emulator.url}/a", json={"meta": {"key": "k"}}) for _ in range(2)]
        assert bodies[0].json() == bodies[1].json()
        assert emulator.arrivals[1].key == "k"
    with Emulator(generic(keys=KeyRule(query="requestid"))) as emulator:
        for _ in range(2):
            client.post(f"{emulator.url}/a?requestid=k")
        assert len(emulator.effects) == 1


def test_a_key_can_belong_to_a_credential(client: httpx2.Client) -> None:
    """Where keys are kept per credential, a renewed one executes the same key again."""
    with Emulator(generic(keys=KeyRule(per_account=True))) as emulator:
        for token in ("old", "old", "new"):
            headers = _key("k1") | {"Authorization": f"Bearer {token}"}
            client.post(f"{emulator.url}/deals", headers=headers)
        assert len(emulator.effects) == 2


def test_a_key_of_the_wrong_length_is_refused(client: httpx2.Client) -> None:
    """A key longer than the provider takes is an error and no effect."""
    with Emulator(generic(keys=KeyRule(max_length=4))) as emulator:
        answers = [
            client.post(f"{emulator.url}/deals", headers=_key(key)).status_code
            for key in ("1234", "12345")
        ]
        assert answers == [201, 400]
        assert len(emulator.effects) == 1


def test_a_crowd_under_one_key_has_one_effect() -> None:
    """However many repeat a request at once, the work is done once."""
    with Emulator(generic(keys=KeyRule())) as emulator, Crowd(8) as crowd:
        answers = [crowd.post(f"{emulator.url}/deals", key="k1") for _ in range(24)]
        assert {answer.result().status_code for answer in answers} <= {201, 409}
        assert len(emulator.effects) == 1


def test_a_key_may_stand_in_a_form(client: httpx2.Client) -> None:
    """The field of a form is where the rule says the key is."""
    with Emulator(generic(keys=KeyRule(field="key"))) as emulator:
        for _ in range(2):
            client.post(f"{emulator.url}/forms", data={"n": "1", "key": "k1"})
        assert [arrival.key for arrival in emulator.arrivals] == ["k1", "k1"]
        assert len(emulator.effects) == 1
