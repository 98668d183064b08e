"""A source's row: what code declares, what a person decides, what was refused."""

from __future__ import annotations

import pytest

from tenure.base.errors import UnknownName
from tenure.base.secrets import env, file
from tenure.store import sources
from tenure.store.database import Database, Row
from tenure.store.sources import DeclaredSource, Labelled
from tests.conftest import Clock

LEAD = DeclaredSource("lead", "standard-webhooks", (env("LEAD"),), "header:webhook-id")


def audited(database: Database) -> list[Row]:
    """The audit, oldest first."""
    return list(database.execute("select * from tenure.audit order by id"))


def test_a_declaration_holds_references_and_no_secret(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row says where each secret is, under the label it goes by, never what it is."""
    monkeypatch.setenv("LEAD", "hunter22")
    declared = DeclaredSource("lead", "github", (env("LEAD"), file("/run/lead")), None)
    assert sources.declare(database, declared, by="ann") == "open"
    [row] = sources.listed(database)
    assert row.secrets == (
        Labelled("env:LEAD", "env:LEAD"),
        Labelled("file:/run/lead", "file:/run/lead"),
    )
    assert (row.scheme, row.event_key, row.state) == ("github", None, "open")
    [text] = database.execute(
        "select s::text || a::text as all from tenure.sources s, tenure.audit a"
    )
    assert "hunter22" not in text["all"]


def test_only_a_change_of_the_door_is_audited(database: Database) -> None:
    """A new door and a changed one leave a row with before and after, the same again none."""
    other = DeclaredSource("lead", "stripe", (env("LEAD"),), "body:id")
    for declared in (LEAD, LEAD, other):
        sources.declare(database, declared, by="ann", origin="server")
    new, changed = audited(database)
    assert (new["act"], new["target"], new["actor"], new["origin"]) == (
        *("source.declare", "source:lead", "ann", "server"),
    )
    assert (new["before"], new["after"]["scheme"]) == (None, "standard-webhooks")
    assert (changed["before"]["scheme"], changed["after"]["scheme"]) == (
        "standard-webhooks",
        "stripe",
    )


def test_a_declaration_never_opens_a_disabled_source(database: Database) -> None:
    """What a person disabled stays disabled, however often a server starts."""
    sources.declare(database, LEAD, by="ann")
    assert sources.set_state(database, "lead", "disabled", by="bob", reason="leak") == "open"
    assert sources.declare(database, LEAD, by="ann") == "disabled"
    [row] = sources.listed(database)
    assert row.state == "disabled"


def test_a_change_of_state_is_audited_once(database: Database) -> None:
    """Disabling twice is one act, with who, why and from where."""
    sources.declare(database, LEAD, by="ann")
    for former in ("open", "disabled"):
        told = sources.set_state(
            database, "lead", "disabled", by="bob", reason="leak", origin="cli"
        )
        assert told == former
    [_, act] = audited(database)
    assert (act["actor"], act["act"], act["reason"], act["origin"]) == (
        *("bob", "source.set_state", "leak", "cli"),
    )
    assert (act["before"], act["after"]) == ({"state": "open"}, {"state": "disabled"})


def test_an_unknown_source_is_told_with_the_nearest(database: Database) -> None:
    """Nothing is changed, and the name that was meant is named."""
    sources.declare(database, LEAD, by="ann")
    with pytest.raises(UnknownName, match="Did you mean 'lead'"):
        sources.set_state(database, "laed", "disabled", by="bob")


def test_rejections_are_counted_by_source_reason_and_minute(
    database: Database, clock: Clock
) -> None:
    """However many there are, a minute has one row for each source and reason."""
    sources.reject(database, {("lead", "stale"): 2, ("lead", "bad_signature"): 1})
    sources.reject(database, {("lead", "bad_signature"): 3})
    clock.advance(120)
    sources.reject(database, {("lead", "stale"): 1})
    rows = database.execute(
        "select reason, sum(count)::int as count, count(*)::int as rows from tenure.rejections"
        " group by reason order by reason"
    )
    # The minute may turn between the first two statements.
    assert [(row["reason"], row["count"]) for row in rows] == [("bad_signature", 4), ("stale", 3)]
    assert rows[1]["rows"] == 2
    assert rows[0]["rows"] <= 2
