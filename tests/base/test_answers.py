"""Answers: what each means for the call, and that nothing is called unprocessed without proof."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base import catalogue
from tenure.base.answers import Answer, classify
from tenure.base.entries import Entry, Example
from tenure.base.http import Request, Response
from tenure.base.waits import LONGEST

EXAMPLES = [
    pytest.param(entry, example, id=f"{entry.name}: {example.title}")
    for entry in map(catalogue.load, catalogue.names())
    for example in entry.examples
]

MIRROR = catalogue.parse(
    "mirror",
    """
title = "Mirror"
as_of = 2026-10-01
source = "made for these tests"
[[budgets]]
name = "account"
limit = 10
per = 1
[[keys]]
where = "header"
name = "Idempotency-Key"
form = "uuid"
max_length = 36
window = 60
honors = ["POST /*"]
stores_failures = true
replay_marker = "X-Replayed: true"
in_flight = { status = [409], contains = "in use" }
mismatch = { status = [422], fields = { "errors.code" = ["reused", 7] } }
[[answers]]
status = [503, 529]
fields = { "error.type" = "overloaded_error" }
kind = "overloaded"
why = "overloaded, nothing was processed"
[[answers]]
status = [400]
fields = { flag = true }
kind = "throttled"
budget = "account"
at_least = 5
why = "flagged"
[[answers]]
status = [425]
kind = "throttled"
budget = "account"
wait = 100000
why = "too early"
""",
)


def ask(
    name: str | Entry,
    status: int,
    body: object = b"",
    *,
    method: str = "POST",
    path: str = "/v1/charges",
    key_sent: bool = False,
    headers: dict[str, str] | None = None,
    **more: str,
) -> Answer:
    """What an answer means; the names of further arguments are headers, underscores as hyphens."""
    entry = catalogue.load(name) if isinstance(name, str) else name
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = tuple(
        (key.replace("_", "-"), value) for key, value in {**(headers or {}), **more}.items()
    )
    request = Request(method, f"https://api.example.com{path}")
    return classify(entry, request, Response(status, pairs, raw), key_sent=key_sent)


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_examples_of_the_catalogue(entry: Entry, example: Example) -> None:
    """Every answer that an entry gives as an example means what the entry says it means."""
    host = entry.hosts[0] if entry.hosts else "host.example"
    request = Request(example.method, f"https://{host}{example.path}")
    response = Response(example.status, tuple(example.headers.items()), example.body.encode())
    found = classify(entry, request, response, key_sent=example.key_sent)
    assert (found.state, found.wait, found.budget) == (example.state, example.wait, example.budget)
    assert found.why.startswith(str(example.status))


@pytest.mark.parametrize(
    ("status", "unsafe", "safe"),
    [
        (0, "unknown", "unknown"),
        (101, "unknown", "unknown"),
        (200, "done", "done"),
        (202, "done", "done"),
        (204, "done", "done"),
        (301, "refused", "refused"),
        (302, "unknown", "refused"),
        (303, "unknown", "refused"),
        (304, "refused", "done"),
        (307, "refused", "refused"),
        (308, "refused", "refused"),
        (400, "refused", "refused"),
        (401, "refused", "refused"),
        (403, "refused", "refused"),
        (404, "refused", "refused"),
        (408, "unknown", "unknown"),
        (409, "refused", "refused"),
        (422, "refused", "refused"),
        (425, "refused", "refused"),
        (429, "throttled", "throttled"),
        (451, "refused", "refused"),
        (500, "unknown", "unknown"),
        (502, "unknown", "unknown"),
        (503, "unknown", "unknown"),
        (504, "unknown", "unknown"),
        (529, "unknown", "unknown"),
        (599, "unknown", "unknown"),
        (999, "unknown", "unknown"),
    ],
)
def test_what_a_status_means_by_itself(status: int, unsafe: str, safe: str) -> None:
    """Without a word from the entry only HTTP's own meaning counts, and doubt is ``unknown``."""
    assert ask("generic", status).state == unsafe
    assert ask("generic", status, method="GET").state == safe


def test_too_many_requests_closes_the_account_where_no_rule_names_a_budget() -> None:
    """A 429 that no rule of the entry speaks about is a throttle of the whole account."""
    found = ask(MIRROR, 429, Retry_After="3")
    assert (found.state, found.wait, found.budget) == ("throttled", 3.0, None)


def test_overload_only_where_it_is_documented_as_not_processed() -> None:
    """The same status is an overload with the documented body, and an open question without it."""
    documented = {"error": {"type": "overloaded_error"}}
    assert ask(MIRROR, 529, documented, Retry_After="4").state == "overloaded"
    assert ask(MIRROR, 529, documented, Retry_After="4").wait == 4.0
    assert ask(MIRROR, 529, {"error": {"type": "api_error"}}).state == "unknown"
    assert ask("stripe", 503, documented).state == "unknown"


def test_a_key_in_flight() -> None:
    """A conflict over the key means that the call is at work, if the key was sent and honoured."""
    body = {"error": {"code": "idempotency_key_in_use"}}
    assert ask("stripe", 409, body, key_sent=True).state == "in_flight"
    assert ask("stripe", 409, body, key_sent=True, Retry_After="2").wait == 2.0
    assert ask("stripe", 409, body, key_sent=False).state == "refused"
    assert ask("stripe", 409, body, key_sent=True, method="DELETE").state == "refused"
    assert ask("stripe", 409, {"error": {"code": "other"}}, key_sent=True).state == "refused"


def test_a_stored_failure() -> None:
    """A failure given back under its key is told from a fresh one: repeating the key is no use."""
    fresh = ask("stripe", 500, key_sent=True)
    stored = ask("stripe", 500, key_sent=True, Idempotent_Replayed="true")
    assert (fresh.state, fresh.stored) == ("unknown", False)
    assert (stored.state, stored.stored) == ("unknown", True)
    assert not ask("stripe", 500, key_sent=True, Idempotent_Replayed="false").stored
    assert not ask("stripe", 500, key_sent=False, Idempotent_Replayed="true").stored
    assert not ask("resend", 500, key_sent=True, Idempotent_Replayed="true").stored


def test_a_stored_answer_that_is_no_failure() -> None:
    """A success or a refusal given back under its key means what it meant the first time."""
    assert ask("stripe", 200, key_sent=True, Idempotent_Replayed="true").state == "done"
    refused = ask("stripe", 402, key_sent=True, Idempotent_Replayed="true")
    assert (refused.state, refused.stored) == ("refused", True)


def test_a_key_used_for_another_request() -> None:
    """A mismatch is marked, as it proves that a request under this key was received before."""
    found = ask("stripe", 400, {"error": {"type": "idempotency_error"}}, key_sent=True)
    assert (found.state, found.mismatch) == ("refused", True)
    plain = ask("stripe", 400, {"error": {"type": "invalid_request_error"}}, key_sent=True)
    assert (plain.state, plain.mismatch) == ("refused", False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"errors": [{"code": "other"}, {"code": "REUSED"}]}, True),
        ({"errors": {"code": 7}}, True),
        ({"errors": {"code": 7.0}}, True),
        ({"errors": {"code": "7"}}, False),
        ({"errors": [{"code": "other"}]}, False),
        ({"errors": [[{"code": "reused"}]]}, False),
        ({"errors": "reused"}, False),
        ({"code": "reused"}, False),
        ([{"errors": {"code": "reused"}}], True),
        (b"reused", False),
        (b"", False),
        (b"\xff\xfe", False),
        (b"[" * 200_000, False),
        (b'{"errors":' * 50_000, False),
        (b"9" * 10_000, False),
    ],
)
def test_a_field_condition(body: object, *, expected: bool) -> None:
    """A field is found by its path, through lists, in any case; what is no JSON has none."""
    assert ask(MIRROR, 422, body, key_sent=True).mismatch is expected


@pytest.mark.parametrize(("flag", "state"), [(True, "throttled"), (1, "refused"), (0, "refused")])
def test_true_is_not_one(flag: object, state: str) -> None:
    """A condition on true is not met by the number 1."""
    assert ask(MIRROR, 400, {"flag": flag}).state == state


def test_text_conditions_ignore_case_and_bytes_that_are_no_text() -> None:
    """A text is found in any case, beside bytes that are no text."""
    assert ask(MIRROR, 409, b"\xff Key IN Use \xfe", key_sent=True).state == "in_flight"


def test_waits_of_a_rule() -> None:
    """A rule's wait fills in where the answer gives none, its least wait and a day bound it."""
    flagged = {"flag": True}
    assert ask(MIRROR, 400, flagged).wait == 5.0
    assert ask(MIRROR, 400, flagged, Retry_After="2").wait == 5.0
    assert ask(MIRROR, 400, flagged, Retry_After="9").wait == 9.0
    assert ask(MIRROR, 425, Retry_After="9").wait == 9.0
    cut = ask(MIRROR, 425)
    assert cut.wait == LONGEST
    assert "cut to 24 h" in cut.why


def test_a_day_long_wait_is_kept_and_a_longer_one_remarked() -> None:
    """A daily limit's wait of hours passes as it is; one beyond a day is cut, and says so."""
    assert ask("generic", 429, Retry_After="81000").wait == 81_000.0
    assert "24 h" not in ask("generic", 429, Retry_After="81000").why
    assert "24 h" in ask("generic", 429, Retry_After="999999").why


def test_an_unreadable_wait_is_remarked_without_being_repeated() -> None:
    """A hint that cannot be read is mentioned by the name of its header, not by its text."""
    found = ask("generic", 429, Retry_After="<script>")
    assert found.wait is None
    assert "retry-after" in found.why
    assert "script" not in found.why


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"x_ratelimit_remaining": "0"}, "", ("throttled", 60.0, "core")),
        ({"Retry_After": "30"}, "", ("throttled", 30.0, None)),
        ({}, "secondary rate limit", ("throttled", 60.0, None)),
        ({"Retry_After": "30"}, "Secondary Rate Limit", ("throttled", 60.0, None)),
        ({}, "Bad credentials", ("refused", None, None)),
        ({"x_ratelimit_remaining": "1"}, "", ("refused", None, None)),
    ],
)
def test_forbidden_at_github(
    headers: dict[str, str], body: str, expected: tuple[str, float | None, str | None]
) -> None:
    """A 403 is a throttle in its three documented forms, and a refusal in every other."""
    found = ask("github", 403, {"message": body}, headers=headers)
    assert (found.state, found.wait, found.budget) == expected


@pytest.mark.parametrize("name", catalogue.names())
@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
def test_no_failure_of_an_unsafe_call_is_taken_for_not_processed(name: str, status: int) -> None:
    """No shipped entry documents a 5xx as not processed, so each leaves the outcome unknown."""
    assert ask(name, status, path="/api/chat.postMessage", Retry_After="1").state == "unknown"


HEADERS = st.sampled_from(
    [
        "Retry-After",
        "Date",
        "X-RateLimit-Reset",
        "ratelimit-reset",
        "x-ratelimit-remaining",
        "Idempotent-Replayed",
        "X-Replayed",
        "Stripe-Rate-Limited-Reason",
    ]
)
VALUES = st.sampled_from(["0", "true", "endpoint-rate"]) | st.text() | st.integers().map(str)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
WORDS = st.sampled_from(["ok", "error", "errors", "code", "type", "name", "policyName", "flag"])
TREES = st.recursive(
    LEAVES | st.sampled_from(["ratelimited", "DAILY", "lock_timeout", "idempotency_error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
ENTRIES = [MIRROR, *map(catalogue.load, catalogue.names())]


@given(
    entry=st.sampled_from(ENTRIES),
    method=st.sampled_from(["GET", "POST", "PATCH"]) | st.text(max_size=5),
    url=st.sampled_from(["https://slack.com/api/chat.postMessage", "https://x/v1/a"]) | st.text(),
    status=st.integers(-1, 1000) | st.sampled_from([200, 400, 403, 409, 422, 429, 500, 529]),
    headers=st.lists(st.tuples(HEADERS | st.text(), VALUES), max_size=5),
    body=st.binary() | TREES.map(lambda tree: json.dumps(tree).encode()),
    key_sent=st.booleans(),
)
def test_nothing_a_provider_sends_raises(
    *,
    entry: Entry,
    method: str,
    url: str,
    status: int,
    headers: list[tuple[str, str]],
    body: bytes,
    key_sent: bool,
) -> None:
    """Any answer at all has a meaning, a wait within a day and a budget that the entry has."""
    response = Response(status, tuple(headers), body)
    found = classify(entry, Request(method, url), response, key_sent=key_sent)
    assert found.why
    assert found.wait is None or 0 <= found.wait <= LONGEST
    assert found.budget is None or found.budget in {budget.name for budget in entry.budgets}
    if found.budget is not None:
        assert found.state in ("throttled", "overloaded")
    if not key_sent:
        assert found.state != "in_flight"
        assert not found.stored
        assert not found.mismatch
    if status >= 500 and entry is not MIRROR:
        assert found.state == "unknown"


def test_the_meaning_is_the_same_every_time() -> None:
    """An answer read twice means the same, so evidence read after a crash decides alike."""
    for status, sent in itertools.product((200, 409, 429, 500), (True, False)):
        assert ask("stripe", status, key_sent=sent) == ask("stripe", status, key_sent=sent)
