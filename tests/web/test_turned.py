"""Whatever is turned away is a line in the log, and a flood of it is not many."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from tenure.base.clock import now
from tenure.store import sources
from tenure.store.database import Database
from tests.web.doors import LIMIT, SECRETS, Running, application, until

_ONE = re.compile(r"refused a delivery to (.+) from 127\.0\.0\.1: (\w+)")
_MORE = re.compile(r"refused (\d+) more deliveries to (.+), the last from 127\.0\.0\.1: (\w+)")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the door writes down for its operator."""
    with caplog.at_level(logging.WARNING, "tenure.web"):
        yield caplog


def test_each_refusal_is_told_with_source_reason_and_address(
    running: Running,
    database: Database,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operator reads what was refused and why, and nothing of what a stranger has sent."""
    body = b'{"id":"hunter23"}'
    running.deliver("lead", body + b" ", running.signed("lead", body))
    running.deliver("lead", body, [])
    running.deliver("lead", body, age=400)
    running.deliver("pay", b"x" * (LIMIT + 1), [])
    running.client.post("/hooks/hunter23?secret=hunter23", content=body)
    sources.set_state(database, "plain", "disabled", by="test")
    running.deliver("plain", body)
    monkeypatch.delenv("PAY")
    running.deliver("pay", body)
    told = [found.groups() for line in log.messages if (found := _ONE.fullmatch(line))]
    assert told == [
        ("lead", "bad_signature"),
        ("lead", "missing_header"),
        ("lead", "stale"),
        ("pay", "too_large"),
        ("a source that is not declared", "unknown_source"),
        ("plain", "disabled"),
        ("pay", "no_secret"),
    ]
    assert running.deliver("lead", body).status_code == 200
    assert len([line for line in log.messages if line.startswith("refused")]) == len(told)
    for secret in ("hunter23", *SECRETS.values()):
        assert secret not in log.text


def test_a_flood_is_a_line_a_second_that_counts_what_it_leaves_out(
    running: Running, log: pytest.LogCaptureFixture
) -> None:
    """Nothing is lost from the count, and the log grows with the time, not with the flood."""
    began = now()
    for _ in range(300):
        running.client.post("/hooks/plain", content=b"")
    running.client.post("/hooks/lead", content=b"")

    def counted() -> bool:
        more = [found for line in log.messages if (found := _MORE.fullmatch(line))]
        return sum(int(found[1]) for found in more) == 299

    until(counted)
    lines = [line for line in log.messages if line.startswith("refused")]
    assert len(lines) <= now() - began + 3
    assert {found.groups() for line in lines if (found := _ONE.fullmatch(line))} == {
        ("plain", "missing_header"),
        ("lead", "missing_header"),
    }


def test_what_is_left_is_told_at_the_end(
    database_url: str, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that stops tells what it had not told yet."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    with Running(application(), database_url) as server:
        for _ in range(5):
            server.client.post("/hooks/plain", content=b"")
    more = [found for line in log.messages if (found := _MORE.fullmatch(line))]
    ones = [line for line in log.messages if _ONE.fullmatch(line)]
    assert sum(int(found[1]) for found in more) + len(ones) == 5
