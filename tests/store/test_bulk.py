"""Many jobs in one call: as if made one by one, in order, all or none."""

from __future__ import annotations

import threading

import psycopg
import pytest

from tenure import Context, Tenure
from tenure.base.errors import InvalidInput, TenureError, UnknownName
from tenure.store import automations, jobs, workers
from tenure.store.database import Database
from tests.kit.alchemy import AlchemyAsync, AlchemySession
from tests.kit.drivers import Asyncpg, Django, Psycopg, Psycopg2, PsycopgAsync
from tests.kit.driving import TABLE, Driver
from tests.store.scene import Scene

KINDS = [Psycopg, PsycopgAsync, Psycopg2, AlchemySession, AlchemyAsync, Asyncpg, Django]

app = Tenure()


@app.automation
async def lead(ctx: Context, n: int) -> None:
    """Takes a number."""
    del ctx, n


@app.automation
async def stranger(ctx: Context, n: int) -> None:
    """Declared nowhere."""
    del ctx, n


@pytest.fixture
def declared(database: Database) -> Database:
    """A database in which the automation is declared."""
    automations.declare(database, lead.declared, by="test")
    database.execute(TABLE)
    return database


def numbers(database: Database) -> list[int]:
    """The inputs of all jobs, in the order of their numbers."""
    rows = database.execute("select input::text as n from tenure.inputs")
    return sorted(int(row["n"]) for row in rows)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_they_are_made_in_the_callers_transaction(
    declared: Database, database_url: str, kind: type[Driver]
) -> None:
    """Rolled back, none is there; committed, all are, each under the id that was told."""
    driver = kind(database_url)
    assert len(_many(driver, list(range(50)))) == 50
    driver.rollback()
    assert numbers(declared) == []
    made = _many(driver, list(range(50)), keys=[f"k'{n}" for n in range(50)])
    driver.commit()
    driver.close()
    rows = declared.execute(
        "select j.id, j.unique_key from tenure.jobs as j join tenure.inputs as i on i.job_id = j.id"
        " order by i.input::text::integer"
    )
    assert [(row["id"], row["unique_key"]) for row in rows] == [
        (each.job_id, f"k'{n}") for n, each in enumerate(made)
    ]


def _many(driver: Driver, inputs: list[int], **more: object) -> list[jobs.Enqueued]:
    driver.write()
    if driver.awaited:
        return driver.run(lead.aenqueue_many(inputs, conn=driver.given(), **more))  # type: ignore[arg-type]  # as enqueue
    return lead.enqueue_many(inputs, conn=driver.given(), **more)  # type: ignore[arg-type]  # as enqueue


def test_each_is_as_if_it_had_been_made_alone(declared: Database, database_url: str) -> None:
    """The rows of one call and of single ones differ in nothing but ids and times."""
    terms = {"priority": 2, "tags": ["a"], "delay": 60.0, "expires": 90.0}
    with psycopg.connect(database_url) as conn:
        lead.enqueue(1, conn=conn, key="one", **terms)  # type: ignore[arg-type]  # mixed kinds
        lead.enqueue_many([1], conn=conn, keys=["many"], **terms)  # type: ignore[arg-type]  # as above
        lead.enqueue(1, conn=conn)
        lead.enqueue_many([1], conn=conn)
    rows = declared.execute(
        "select (to_jsonb(j) - array['id', 'created_at', 'leased_until', 'expires_at',"
        " 'unique_key'])::text as alike, j.expires_at - j.leased_until as lives,"
        " round(extract(epoch from j.leased_until - j.created_at)) as waits, i.input::text as input"
        " from tenure.jobs as j join tenure.inputs as i on i.job_id = j.id order by j.priority"
    )
    assert rows[0] == rows[1]
    assert rows[2] == rows[3]
    assert rows[0] != rows[2]


def test_a_key_that_is_taken_is_answered_in_its_place(
    declared: Database, database_url: str
) -> None:
    """By a job that was there, by another of the same call, or by nobody: each answer in order."""
    with psycopg.connect(database_url) as conn:
        there = lead.enqueue(0, conn=conn, key="b")
        made = lead.enqueue_many([1, 2, 3, 4, 5], conn=conn, keys=["a", None, "b", "a", None])
    assert [each.created for each in made] == [True, True, False, False, True]
    assert made[2].job_id == there.job_id
    assert made[3].job_id == made[0].job_id
    assert len({each.job_id for each in made}) == 4
    assert numbers(declared) == [0, 1, 2, 5]


def test_nothing_is_sent_where_one_does_not_fit(declared: Database, database_url: str) -> None:
    """The error says which it is; a key too long or a number of keys that differs is told too."""
    with psycopg.connect(database_url) as conn:
        for inputs, keys, says in (
            ([1, 2, "x", 4], None, "input 2: "),
            ([1, 2], ["a"], "1 keys for 2 inputs"),
            ([1, 2], ["a", "x" * 600], "600 characters"),
            ([1, 2], ["a", "\0"], "no character"),
        ):
            with pytest.raises(InvalidInput, match=says):
                lead.enqueue_many(inputs, conn=conn, keys=keys)  # type: ignore[arg-type]  # on purpose
        with pytest.raises(UnknownName):
            stranger.enqueue_many([1], conn=conn)
    assert numbers(declared) == []
    assert lead.enqueue_many([], conn=conn) == []


def test_a_large_batch_goes_in_parts_of_one_transaction(
    declared: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts by number and by size; all rows are of one transaction, in the order of the inputs."""
    monkeypatch.setattr(jobs, "_PART_JOBS", 3)
    monkeypatch.setattr(jobs, "_PART_BYTES", 6)
    alike = jobs.wanted("lead", "")
    texts = ["1", "2", "3", "44444", "55555", "6", "7", "8", "9"]
    batch = jobs.batch(alike, texts, [f"k{n}" for n in texts])
    assert [part.input for part in batch.parts] == [*("[1,2,3]", "[44444]", "[55555,6]", "[7,8,9]")]
    made = jobs.enqueue_many(declared, batch)
    rows = declared.execute("select id, unique_key, xmin::text as made_by from tenure.jobs")
    assert len({row["made_by"] for row in rows}) == 1
    assert {row["id"]: row["unique_key"] for row in rows} == {
        each.job_id: f"k{n}" for n, each in zip(texts, made, strict=True)
    }


def test_two_calls_that_share_keys_wait_for_each_other_and_no_more(
    declared: Database, database_url: str
) -> None:
    """Whatever the order in which they name them: there is one job a key, and no deadlock."""
    keys = [f"k{n}" for n in range(300)]
    failed: list[BaseException] = []

    def call(named: list[str]) -> None:
        try:
            with psycopg.connect(database_url) as conn:
                lead.enqueue_many(range(300), conn=conn, keys=named)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    threads = [threading.Thread(target=call, args=(keys[:: 1 if n % 2 else -1],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    [row] = declared.execute(
        "select count(*) as jobs, count(distinct unique_key) as keys from tenure.jobs"
    )
    assert (row["jobs"], row["keys"]) == (300, 300)


def test_all_idle_workers_are_woken_for_many(database: Database, database_url: str) -> None:
    """One call, and whoever is idle comes; each is called once."""
    scene = Scene(database)
    workers.rest(database, scene.worker, idle=True)
    with psycopg.connect(database_url, autocommit=True) as ear:
        ear.execute("listen tenure")
        database.execute("select from tenure.enqueue_many('lead', '[1, 2, 3]')")
        [called] = ear.notifies(timeout=30, stop_after=1)
    assert called.payload == str(scene.worker)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (r'["a", "\u0000"]', r"input 2 holds NUL"),
        (r'["a", {"\ud83d": 1}]', "input 2 holds half of a surrogate pair"),
        ("[1, " + "[" * 201 + "]" * 201 + "]", "input 2 is nested more than 200 deep"),
        ("[1, " + "[" * 5_000 + "]" * 5_000 + "]", "input 2 is nested more than 200 deep"),
        ('[1, "' + "x" * 999_999 + '"]', "input 2 has 1000001 bytes, and 1000000 are taken"),
        ('{"a": 1}', "no array"),
    ],
)
def test_callers_in_sql_are_told_the_same(database: Database, given: str, says: str) -> None:
    """What an input cannot hold, and where it stands."""
    Scene(database)
    with pytest.raises(InvalidInput, match=says):
        database.execute(
            "select from tenure.enqueue_many('lead', %(given)s::json)", {"given": given}
        )
    [row] = database.execute("select count(*) as n from tenure.jobs")
    assert row["n"] == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (r'{"a": "\u0000"}', r"the input holds NUL"),
        (r'"\uDE00\ud83d"', "half of a surrogate pair"),
        ("[" * 201 + "]" * 201, "nested more than 200 deep"),
        ('"' + "x" * 1_000_000 + '"', "1000002 bytes"),
    ],
)
def test_one_job_in_sql_is_asked_the_same(database: Database, given: str, says: str) -> None:
    """By the function that any language calls."""
    Scene(database)
    with pytest.raises(TenureError, match=says):
        database.execute("select from tenure.enqueue('lead', %(given)s::json)", {"given": given})


def test_what_is_long_or_only_looks_odd_is_kept_as_written(database: Database) -> None:
    """Integers of thirty digits, escapes that are text, whole pairs, order and spacing of keys."""
    Scene(database)
    given = [
        *("123456789012345678901234567890", r'"\\u0000"', r'"\ud83d\ude00"', "1e400000"),
        *('{"b" : 1,  "a":2, "a":3}', "[" * 200 + "]" * 200, "null"),
    ]
    database.execute(
        "select from tenure.enqueue_many('lead', %(given)s::json)",
        {"given": f"[{','.join(given)}]"},
    )
    rows = database.execute("select input::text as input from tenure.inputs")
    assert sorted(row["input"] for row in rows) == sorted(given)


def test_the_limit_is_what_the_application_says(database: Database) -> None:
    """An application that takes longer inputs declares so, and SQL follows."""
    Scene(database)
    automations.declare(database, lead.declared, by="test", input_limit=10)
    with pytest.raises(InvalidInput, match="12 bytes, and 10 are taken"):
        database.execute("select from tenure.enqueue('lead', '\"1234567890\"')")
