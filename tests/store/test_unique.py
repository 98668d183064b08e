"""One job for each key that an automation makes of its inputs, whatever door they come through."""

from __future__ import annotations

from typing import LiteralString, cast
from uuid import UUID

import msgspec
import pytest

from tenure import Context, Tenure, Unique
from tenure.base import unique as uniques
from tenure.base.errors import ConfigurationError
from tenure.base.model import Declared
from tenure.flow import inputs
from tenure.store import automations, jobs
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene, said


class Lead(msgspec.Struct):
    """An input with places to name."""

    email: str
    shop: dict[str, str]


def _declare(database: Database, unique: Unique) -> None:
    declared = Declared(
        name="lead",
        version="v1",
        listens=("web",),
        unique_by=unique.by,
        unique_for=unique.seconds,
    )
    automations.declare(database, declared, by="test")


@pytest.fixture
def scene(database: Database) -> Scene:
    """A live automation that is unique by its input's address."""
    scene = Scene(database)
    _declare(database, Unique("{email}"))
    return scene


def _made(scene: Scene, given: str, key: str | None = None) -> tuple[UUID, bool]:
    made = jobs.enqueue(scene.database, jobs.wanted("lead", given, key=key))
    return made.job_id, made.created


def _accept(database: Database, body: str, content_type: str = "application/json") -> int:
    """How many jobs a delivery made."""
    text: LiteralString = (
        "select jobs from tenure.accept('web', null, null, sha256(%(body)s::bytea),"
        " %(body)s::bytea, '[]', %(type)s, null)"
    )
    [row] = database.execute(text, {"body": body.encode(), "type": content_type})
    return int(row["jobs"])


def test_a_second_job_is_the_first_one(scene: Scene) -> None:
    """It is told with its id, until it has finished; other keys are other jobs."""
    first, created = _made(scene, '{"email": "a@b"}')
    assert created
    assert _made(scene, '{"email": "a@b", "more": 1}') == (first, False)
    assert _made(scene, '{"email": "c@d"}')[1]
    scene.finish(scene.claim(), "succeeded")
    again, created = _made(scene, '{"email": "a@b"}')
    assert created
    assert again != first


def test_a_key_that_was_given_comes_first(scene: Scene) -> None:
    """It replaces the one of the input, which stays free."""
    assert _made(scene, '{"email": "a@b"}', key="mine")[1]
    assert _made(scene, '{"email": "a@b"}')[1]


@pytest.mark.parametrize(
    "given", ["{}", "null", "7", '{"email": null}', '{"email": ""}', '[{"email": "a@b"}]']
)
def test_an_input_without_the_place_is_as_unique_as_any(scene: Scene, given: str) -> None:
    """Where a path leads to nothing there is no key."""
    assert _made(scene, given)[1]
    assert _made(scene, given)[1]


def test_many_at_once_are_told_apart_by_their_inputs(scene: Scene) -> None:
    """In one call, a key that stands twice makes one job; a given one comes first there too."""
    rows = scene.database.execute(
        "select place, job_id, created from tenure.enqueue_many('lead',"
        ' \'[{"email": "a"}, {"email": "b"}, {"email": "a"}, {}]\')'
    )
    assert [row["created"] for row in rows] == [True, True, False, True]
    assert rows[2]["job_id"] == rows[0]["job_id"]
    rows = scene.database.execute(
        "select created from tenure.enqueue_many('lead',"
        ' \'[{"email": "a"}, {"email": "b"}]\', keys => array[\'own\', null])'
    )
    assert [row["created"] for row in rows] == [True, False]


def test_a_key_is_taken_within_its_time(scene: Scene, clock: Clock) -> None:
    """Whether its job has finished or not."""
    _declare(scene.database, Unique("{email}", within=3600))
    first, _ = _made(scene, '{"email": "a@b"}')
    scene.finish(scene.claim(), "succeeded")
    assert _made(scene, '{"email": "a@b"}') == (first, False)
    clock.advance(3601)
    assert _made(scene, '{"email": "a@b"}')[1]
    assert _made(scene, '{"email": "a@b"}')[1] is False


def test_a_key_is_taken_for_ever(scene: Scene, clock: Clock) -> None:
    """Long after its job has finished."""
    _declare(scene.database, Unique("{email}", for_ever=True))
    first, _ = _made(scene, '{"email": "a@b"}')
    scene.finish(scene.claim(), "succeeded")
    clock.advance(3650 * 86_400.0)
    assert _made(scene, '{"email": "a@b"}') == (first, False)


def test_an_event_that_makes_no_second_job_says_so(scene: Scene) -> None:
    """It is accepted and kept, and the job that stood there already names it."""
    assert _accept(scene.database, '{"email": "a@b"}') == 1
    assert _accept(scene.database, '{"email": "a@b", "again": true}') == 0
    [row] = scene.database.execute("select count(*)::int as n from tenure.events")
    assert row["n"] == 2
    [job] = scene.database.execute("select id, unique_key from tenure.jobs")
    assert job["unique_key"] == "a@b"
    assert "of web made no second job: this one has the unique key a@b." in said(
        scene.database, job["id"], "journal"
    )
    assert _made(scene, '{"email": "a@b"}') == (job["id"], False)


def test_a_form_is_read_as_its_fields(scene: Scene) -> None:
    """As senders of forms escape it, and as JSON writes the same."""
    form = "application/x-www-form-urlencoded; charset=utf-8"
    assert _accept(scene.database, "x=1&email=J%C3%BCrgen+a%40b&y", form) == 1
    assert _accept(scene.database, "email=J%c3%bcrgen%20a@b", form) == 0
    assert _accept(scene.database, '{"email": "Jürgen a@b"}') == 0


@pytest.mark.parametrize("body", ["{", "", '{"email": "a\\u0000b"}', '{"email": "\\ud800"}', "[[["])
def test_a_body_that_gives_no_key_makes_its_job(scene: Scene, body: str) -> None:
    """Acceptance fails for no body; what is odd about it is its job's affair."""
    assert _accept(scene.database, body) == 1
    assert _accept(scene.database, body) == 1


def test_paths_lead_into_the_input(database: Database) -> None:
    """Objects and arrays, more than one, with text between; a long key by its digest."""
    text: LiteralString = "select tenure.unique_key(%(by)s, %(given)s::json) as key"

    def key(by: str, given: str) -> str | None:
        found = database.execute(text, {"by": by, "given": given})[0]["key"]
        return None if found is None else str(found)

    given = '{"a": {"b": [{"c": 7}, {"c": "x"}]}, "d": true}'
    assert key("{a.b.0.c}/{a.b.1.c}#{d}", given) == "7/x#true"
    assert key("is {a.b.5.c}", given) is None
    assert key("{d}", '{"d": "' + "x" * 600 + '"}').startswith("sha256:")  # type: ignore[union-attr]  # it is a text


async def _idle(ctx: Context, lead: Lead) -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("unique", "said"),
    [
        ("email", "unique by 'email': it names no place"),
        ("", "unique by ''"),
        ("{}", "unique by '{}'"),
        ("{email", "unique by '{email'"),
        ("{emial}", "the input has no field 'emial'"),
        (7, "unique is 7"),
        (lambda: Unique("{email}", within=0), "unique is 0"),
        (lambda: Unique("{email}", within=5, for_ever=True), "a key is taken in one way"),
        (lambda: Unique("{email}", until="now"), "a key is taken in one way"),  # type: ignore[arg-type]  # as authors err
        ("{email}" + "x" * 300, "a template of 307 characters"),
    ],
)
def test_what_gives_no_key_is_refused_where_it_is_declared(unique: object, said: str) -> None:
    """In one line, with what was given."""
    with pytest.raises(ConfigurationError, match=said) as refused:
        _declared(unique)
    assert "\n" not in refused.value.message


def _declared(unique: object) -> None:
    given = unique() if callable(unique) else unique
    uniques.declared(cast("Unique", given), inputs.schema(Lead))


def test_what_is_declared_is_what_the_row_says(database: Database) -> None:
    """A template alone means: until its job has finished."""
    asked: dict[str, Unique | str] = {
        "plain": "{email}",
        "hour": Unique("{shop.id}", within=3600),
        "ever": Unique("{email}/{shop.id}", for_ever=True),
    }
    for name, unique in asked.items():
        app = Tenure()
        app.automation(name=name, unique=unique)(_idle)
        declared = app.automations[name].declared
        automations.declare(database, declared, by="test")
    rows = database.execute(
        "select name, unique_by, unique_for from tenure.automations order by name"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("ever", "{email}/{shop.id}", float("inf")),
        ("hour", "{shop.id}", 3600.0),
        ("plain", "{email}", None),
    ]
