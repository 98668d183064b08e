"""Each profile speaks as its provider does where an automation can tell the difference."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import httpx2
import pytest

from tenure.base.errors import UnknownName
from tenure.testing.emulators import (
    Emulator,
    Limit,
    Profile,
    generic,
    github,
    hubspot,
    profile_named,
    resend,
    slack,
    stripe,
)
from tests.testing.hand import Hand

_ONE = Limit(1, per=60.0)
_MAIL = {"from": "a@example.com", "to": "b@example.com"}


def _throttled(client: httpx2.Client, profile: Profile, path: str, hand: Hand) -> httpx2.Response:
    """The answer to the second request of a profile that takes one a minute, a second later."""
    with Emulator(profile, clock=hand) as emulator:
        client.post(f"{emulator.url}{path}", json=_MAIL | {"channel": "C1"})
        hand.at += 1.5
        answer = client.post(f"{emulator.url}{path}", json=_MAIL | {"channel": "C1"})
        assert len(emulator.effects) == 1
        return answer


def test_stripe_throttles_without_a_hint(client: httpx2.Client, hand: Hand) -> None:
    """Stripe: 429, code ``rate_limit``, no Retry-After."""
    answer = _throttled(client, stripe(_ONE), "/v1/charges", hand)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limit")
    assert "Retry-After" not in answer.headers


def test_stripe_takes_forms_and_makes_typed_objects(client: httpx2.Client) -> None:
    """Stripe: nested form fields in, an object with its kind and a prefixed identity out."""
    with Emulator(stripe()) as emulator:
        form = {"amount": "5", "metadata[order]": "7"}
        charge = client.post(f"{emulator.url}/v1/charges", data=form).json()
        assert charge["id"] == "ch_1"
        assert (charge["object"], charge["metadata"]) == ("charge", {"order": "7"})
        url = f"{emulator.url}/v1/charges/ch_1"
        assert client.post(url, data={"description": "x"}).json()["amount"] == "5"
        assert client.get(url).json()["description"] == "x"
        assert client.get(f"{emulator.url}/v1/charges").json()["object"] == "list"
        assert client.get(f"{emulator.url}/v1/charges/ch_9").status_code == 404
        assert client.delete(url).json() == {"id": "ch_1", "deleted": True}


def test_hubspot_names_the_limit_in_the_body(client: httpx2.Client, hand: Hand) -> None:
    """HubSpot: 429 with a policy, no Retry-After, and what is left in headers of its own."""
    path = "/crm/v3/objects/deals"
    answer = _throttled(client, hubspot(Limit(1, per=10.0)), path, hand)
    assert (answer.status_code, answer.json()["policyName"]) == (429, "TEN_SECONDLY_ROLLING")
    assert "Retry-After" not in answer.headers
    assert answer.headers["X-HubSpot-RateLimit-Interval-Milliseconds"] == "10000"
    assert answer.headers["X-HubSpot-RateLimit-Remaining"] == "0"
    daily = _throttled(client, hubspot(Limit(1, per=86_400.0)), path, hand)
    assert daily.json()["policyName"] == "DAILY"
    assert daily.headers["X-HubSpot-RateLimit-Daily-Remaining"] == "0"


def test_hubspot_keeps_properties(client: httpx2.Client) -> None:
    """HubSpot: a numeric identity beside the properties, found again."""
    with Emulator(hubspot()) as emulator:
        url = f"{emulator.url}/crm/v3/objects/deals"
        deal = client.post(url, json={"properties": {"dealname": "a"}})
        assert (deal.status_code, deal.json()["id"]) == (201, "1")
        assert client.get(f"{url}/1").json()["properties"] == {"dealname": "a"}
        assert client.post(f"{url}/search", json={}).json()["results"][0]["id"] == "1"


def test_slack_throttles_with_429_or_hides_it_in_a_200(client: httpx2.Client, hand: Hand) -> None:
    """Slack: Retry-After with 429; quiet, only the body tells that nothing was done."""
    path = "/api/chat.postMessage"
    loud = _throttled(client, slack(_ONE), path, hand)
    assert (loud.status_code, loud.headers["Retry-After"]) == (429, "59")
    quiet = _throttled(client, slack(_ONE, quiet=True), path, hand)
    assert (quiet.status_code, quiet.json()) == (200, {"ok": False, "error": "ratelimited"})
    assert "Retry-After" not in quiet.headers


def test_slack_posts_messages(client: httpx2.Client) -> None:
    """Slack: a message has a ``ts``, a mistake is a 200 that is not ok, a question no effect."""
    with Emulator(slack(Limit(100, per=1.0))) as emulator:
        url = f"{emulator.url}/api/chat.postMessage"
        sent = client.post(url, json={"channel": "C1", "text": "hi"}).json()
        assert (sent["ok"], sent["ts"]) == (True, "1700000000.000001")
        wrong = client.post(url, json={"text": "hi"})
        assert (wrong.status_code, wrong.json()["ok"]) == (200, False)
        history = client.post(f"{emulator.url}/api/conversations.history", json={"channel": "C1"})
        assert [message["text"] for message in history.json()["messages"]] == ["hi"]
        assert len(emulator.effects) == 1


def test_github_tells_its_two_kinds_of_limit_apart(client: httpx2.Client, hand: Hand) -> None:
    """GitHub: both are 403; the hour's has remaining 0 and a reset, a secondary one Retry-After."""
    path = "/repos/o/r/issues"
    hour = Limit(1, per=3_600.0, kind="fixed", name="core")
    primary = _throttled(client, github(hour), path, hand)
    assert (primary.status_code, primary.headers["x-ratelimit-remaining"]) == (403, "0")
    assert "Retry-After" not in primary.headers
    told = parsedate_to_datetime(primary.headers["Date"]).timestamp()
    assert 3_590 <= int(primary.headers["x-ratelimit-reset"]) - told <= 3_600
    secondary = _throttled(client, github(Limit(1, per=60.0, name="content")), path, hand)
    assert (secondary.status_code, secondary.headers["Retry-After"]) == (403, "59")
    assert "secondary rate limit" in secondary.json()["message"]
    assert "x-ratelimit-remaining" not in secondary.headers


def test_github_numbers_what_is_made(client: httpx2.Client) -> None:
    """GitHub: 201 with a number, found under it, in a bare array; comments below an issue."""
    with Emulator(github()) as emulator:
        url = f"{emulator.url}/repos/o/r/issues"
        assert client.post(url, json={"title": "a"}).json()["number"] == 1
        assert client.get(f"{url}/1").json()["title"] == "a"
        assert [issue["number"] for issue in client.get(url).json()] == [1]
        assert client.post(f"{url}/1/comments", json={"body": "b"}).status_code == 201


def test_resend_throttles_with_everything(client: httpx2.Client, hand: Hand) -> None:
    """Resend: 429 by name, Retry-After and the reset in seconds from now."""
    answer = _throttled(client, resend(_ONE), "/emails", hand)
    assert (answer.status_code, answer.json()["name"]) == (429, "rate_limit_exceeded")
    assert answer.headers["Retry-After"] == answer.headers["ratelimit-reset"] == "59"
    assert answer.headers["ratelimit-limit"] == "1"


def test_resend_sends_emails(client: httpx2.Client) -> None:
    """Resend: the answer is an identity alone, an e-mail without a sender is refused."""
    with Emulator(resend(Limit(100, per=1.0))) as emulator:
        sent = client.post(f"{emulator.url}/emails", json=_MAIL).json()
        assert list(sent) == ["id"]
        assert client.get(f"{emulator.url}/emails/{sent['id']}").json()["to"] == _MAIL["to"]
        batch = client.post(f"{emulator.url}/emails/batch", json=[_MAIL, _MAIL]).json()["data"]
        assert len({email["id"] for email in batch}) == 2
        assert client.post(f"{emulator.url}/emails", json={}).status_code == 422
        assert len(emulator.effects) == 2


def test_the_plain_one_gives_its_wait_in_any_form(client: httpx2.Client, hand: Hand) -> None:
    """The same wait in seconds, milliseconds, as a date, as an epoch, in the body, or unsaid."""

    def throttled(hint: str) -> httpx2.Response:
        profile = generic(_ONE, hint=hint)  # type: ignore[arg-type]  # one of those below
        return _throttled(client, profile, "/deals", hand)

    assert throttled("seconds").headers["Retry-After"] == "59"
    assert throttled("decimal").headers["Retry-After"] == "58.500"
    assert throttled("milliseconds").headers["retry-after-ms"] == "58500"
    assert throttled("body").json()["retry_after"] == 58.5
    assert not {"retry-after", "retry-after-ms"} & set(throttled("none").headers)
    for name, answer in (("date", throttled("date")), ("reset", throttled("reset"))):
        told = parsedate_to_datetime(answer.headers["Date"]).timestamp()
        until = (
            parsedate_to_datetime(answer.headers["Retry-After"]).timestamp()
            if name == "date"
            else float(answer.headers["x-ratelimit-reset"])
        )
        assert 57 <= until - told <= 60


def test_a_wrong_wall_clock_is_told_consistently(client: httpx2.Client, hand: Hand) -> None:
    """A provider whose clock is ahead says so in Date and in every date it gives."""
    with Emulator(generic(_ONE, hint="date"), clock=hand, skew=600.0) as emulator:
        first = client.post(f"{emulator.url}/deals")
        second = client.post(f"{emulator.url}/deals")
        with Emulator(generic()) as right:
            true = parsedate_to_datetime(client.get(f"{right.url}/a").headers["Date"]).timestamp()
        told = parsedate_to_datetime(first.headers["Date"]).timestamp()
        assert 590 <= told - true <= 601
        until = parsedate_to_datetime(second.headers["Retry-After"]).timestamp()
        assert 55 <= until - told <= 62


@pytest.mark.parametrize("name", ["generic", "stripe", "hubspot", "slack", "github", "resend"])
def test_every_profile_is_found_by_its_name(client: httpx2.Client, name: str) -> None:
    """A configuration names a profile, which refuses with its own words when it is full."""
    profile = profile_named(name, limits=(_ONE,))
    assert profile.name == name
    with Emulator(profile) as emulator:
        answers = [client.get(f"{emulator.url}/a").status_code for _ in range(2)]
        assert answers[1] in {403, 429}


def test_an_unknown_profile_is_named_with_the_nearest() -> None:
    """A misspelt profile is an error that knows the right spelling."""
    with pytest.raises(UnknownName, match="'stripe'"):
        profile_named("strip")
