"""A client as plain as can be, and a clock that stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from tests.testing.hand import Hand, plain_client


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    """A client of this test alone."""
    with plain_client() as client:
        yield client


@pytest.fixture
def hand() -> Hand:
    """A clock at 1,000 seconds."""
    return Hand()
