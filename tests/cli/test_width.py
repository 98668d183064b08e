"""Every listing is readable on a terminal of eighty columns, and whole everywhere else."""

from __future__ import annotations

import pytest

from tenure.base.model import HandBack
from tenure.base.secrets import env
from tenure.base.tokens import SCOPES
from tenure.store import sources, tokens
from tenure.store.sources import DeclaredSource
from tests.cli.conftest import Run
from tests.cli.test_output import on_a_terminal
from tests.store.scene import Scene

_COMMAND = """
import sys
from tenure.cli import main
sys.argv = ["tenure", *{arguments!r}]
main()
"""
_LISTINGS = (
    ("jobs",),
    ("hold", "list"),
    ("automation", "list"),
    ("source", "list"),
    ("source", "schemes"),
    ("token", "list"),
    ("settings",),
)


@pytest.fixture
def listed(scene: Scene) -> Scene:
    """Something in every list: jobs that wait, a call in doubt, a plain question, a token."""
    scene.in_doubt()
    job = scene.running()
    question = "Is it right that this customer gets back more than was ever paid? " * 3
    scene.hand_back(HandBack(job.id, job.fence, "hold", question=question))
    job = scene.running()
    scene.hand_back(HandBack(job.id, job.fence, "deferral", 60.0, waits='{"why": "sleep"}'))
    scene.enqueue()
    tokens.create(scene.database, owner="the night shift", scopes=SCOPES, by="test", expires=60.0)
    door = DeclaredSource("leads-of-the-form", "standard-webhooks", (env("A"),), "body:data.id")
    sources.declare(scene.database, door, by="test")
    return scene


@pytest.mark.parametrize("arguments", _LISTINGS, ids=" ".join)
def test_a_listing_keeps_to_eighty_columns(
    tenure: Run, listed: Scene, database_url: str, arguments: tuple[str, ...]
) -> None:
    """No line is left for the terminal to break, and every id can be copied whole."""
    script = _COMMAND.format(arguments=arguments)
    printed = on_a_terminal(script, 80, NO_COLOR="1", TENURE_DATABASE_URL=database_url)
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80, printed
    whole = tenure(*arguments).stdout.splitlines()
    assert len(whole) > 1
    ids = [word for line in whole for word in line.split() if len(word) == 36]
    assert [word for line in lines for word in line.split() if word in ids] == ids


def test_jobs_show_at_eighty_columns_what_they_wait_for(listed: Scene, database_url: str) -> None:
    """State and cause are the last to go: they are why somebody looks."""
    script = _COMMAND.format(arguments=("jobs",))
    printed = on_a_terminal(script, 80, NO_COLOR="1", TENURE_DATABASE_URL=database_url)
    assert printed.split()[:4] == ["job", "automation", "state", "why"]
    assert "waiting  sleep" in printed
