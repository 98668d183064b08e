"""An application with three doors, behind a server of the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.doors import SECRETS, Running, application


@pytest.fixture
def running(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """The server, with every secret in its place."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    with Running(application(), database_url) as server:
        yield server
