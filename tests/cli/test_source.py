"""``tenure source``, and the trial behind ``source test``."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tenure.base import schemes
from tenure.base.schemes import Signature
from tenure.base.secrets import env
from tenure.cli import trial
from tenure.store import sources
from tenure.store.database import Database
from tenure.store.sources import DeclaredSource
from tests.cli.conftest import Row, Run, told

_SECRETS = {
    "standard-webhooks": "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "stripe": "whsec_" + "test",
    "github": "it is a secret",
    "hmac-sha256": "it is a secret",
}


@pytest.mark.parametrize("name", sorted(schemes.PRESETS))
def test_each_scheme_stands_its_trial(name: str) -> None:
    """Under each scheme the genuine delivery enters, and every other has its own refusal."""
    trials = trial.run(schemes.preset(name), label="env:X", value=_SECRETS[name])
    assert [(each.delivery, each.outcome) for each in trials if not each.passed] == []
    assert {each.delivery for each in trials} >= {"genuine", "unsigned", "signed by another"}


def test_a_scheme_that_signs_too_little_fails_its_trial() -> None:
    """A scheme that does not sign the body lets an altered one in, and the trial says so."""
    weak = msgspec.structs.replace(
        schemes.preset("hmac-sha256"),
        name="weak",
        signed=(schemes.Text("always the same"),),
        signature=Signature(places=(schemes.InHeader("x-signature"),)),
    )
    failed = [each for each in trial.run(weak, label="env:X", value="s") if not each.passed]
    assert [(each.delivery, each.outcome) for each in failed] == [("altered on its way", "ok")]


@pytest.fixture
def declared(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source in the database, whose secret is in the environment."""
    monkeypatch.setenv("LEAD_SECRET", _SECRETS["standard-webhooks"])
    source = DeclaredSource("lead", "standard-webhooks", (env("LEAD_SECRET"),), "header:webhook-id")
    sources.declare(database, source, by="test")


def test_sources_are_listed_with_their_grades(tenure: Run, declared: None) -> None:
    """Each source stands with its scheme, grade and state."""
    line = tenure("source", "list").stdout.splitlines()[1]
    assert line.split() == ["lead", "standard-webhooks", "A", "open", "header:webhook-id"]
    [found] = told(tenure("source", "list", "--json"), list[Row])
    assert (found["name"], found["state"]) == ("lead", "open")


def test_a_source_is_shown_without_its_secret(
    tenure: Run, declared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """References are shown, and whether they lead somewhere from here; the secret never is."""
    done = tenure("source", "show", "lead")
    assert "Secret env:LEAD_SECRET can be read from here." in done.stdout
    assert _SECRETS["standard-webhooks"] not in done.stdout
    monkeypatch.delenv("LEAD_SECRET")
    assert "env:LEAD_SECRET cannot be read from here." in tenure("source", "show", "lead").stdout


def test_a_source_of_the_database_is_tried(tenure: Run, declared: None) -> None:
    """Every trial of a good source ends as it should, and the exit code says done."""
    trials = told(tenure("source", "test", "lead", "--json"), list[trial.Trial])
    assert [each.delivery for each in trials] == [
        "genuine",
        "unsigned",
        "signed by another",
        "altered on its way",
        "sent again too late",
        "from the future",
    ]
    assert all(each.passed for each in trials)


def test_a_source_without_its_secret_is_not_tried(
    tenure: Run, declared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret that is missing here is a matter of configuration, told by its reference."""
    monkeypatch.delenv("LEAD_SECRET")
    done = tenure("source", "test", "lead")
    assert done.exit_code == 78
    assert "LEAD_SECRET" in done.stderr


def test_a_source_of_the_code_is_tried_without_a_database(
    tenure: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the application is named, its own declaration is tried, and no database is asked."""
    monkeypatch.setenv("TENURE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("SHOP_SECRET", "it is a secret")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shop_sources.py").write_text(
        "from tenure import Tenure, env\n"
        "app = Tenure()\n"
        'shop = app.source("shop", scheme="github", secret=env("SHOP_SECRET"))\n'
    )
    words = ("source", "test", "shop", "--app", "shop_sources:app")
    done = tenure(*words)
    assert done.exit_code == 0
    assert done.stdout.count("as it should be") == 4
    assert tenure("source", "test", "gone", "--app", "shop_sources:app").exit_code == 5


def test_schemes_are_listed(tenure: Run) -> None:
    """Every scheme that a source can have is listed with its grade."""
    known = told(tenure("source", "schemes", "--json"), list[Row])
    assert [each["name"] for each in known] == list(schemes.PRESETS)
    assert {str(each["grade"]) for each in known} <= {"A", "B", "C"}


def test_an_unknown_source_matches_nothing(tenure: Run) -> None:
    """A source that nobody declared ends as nothing matched."""
    assert tenure("source", "show", "gone").exit_code == 5
    assert tenure("source", "test", "gone").exit_code == 5
    assert tenure("source", "list").stderr.startswith("no source is declared")
