"""Acts by the control API: for those who may operate, in their name, refused as they should be."""

from __future__ import annotations

import uuid

import httpx2
import pytest

from tenure.store import tokens
from tenure.store.database import Database
from tests.web.doors import Running


@pytest.fixture
def token(database: Database) -> str:
    """A token that may operate and read, of ann."""
    return tokens.create(database, owner="ann", scopes=["operate", "read"], by="test").token


def post(running: Running, token: str, path: str, **said: object) -> httpx2.Response:
    """Ask for an act."""
    headers = {"authorization": f"Bearer {token}"}
    return running.client.post(f"/v1/{path}", json=said, headers=headers)


def enqueue(database: Database, *, failed: bool = False) -> uuid.UUID:
    """A job, which has failed where that is asked for."""
    [row] = database.execute("select job_id from tenure.enqueue('lead', '{}')")
    job: uuid.UUID = row["job_id"]
    if failed:
        database.execute("select tenure.cancel(%(job)s)", {"job": job})
        database.execute(
            "update tenure.finished_jobs set status = 'failed', error_class = 'Odd'"
            " where id = %(job)s",
            {"job": job},
        )
        database.execute("delete from tenure.audit")
    return job


def test_one_job_is_acted_on_in_the_owners_name(
    running: Running, database: Database, token: str
) -> None:
    """Retry, replay and cancel answer with what came of it, and the audit has the token's owner."""
    job = enqueue(database, failed=True)
    answer = post(running, token, f"jobs/{job}/retry", reason="mended")
    assert (answer.status_code, answer.json()) == (200, {"job": str(job), "was": "failed"})
    answer = post(running, token, f"jobs/{job}/replay")
    new = answer.json()["job"]
    assert (answer.status_code, answer.json()) == (201, {"job": new, "replay_of": str(job)})
    answer = post(running, token, f"jobs/{new}/cancel")
    assert answer.json() == {"job": new, "became": "cancelled"}
    rows = database.execute("select actor, act, reason, origin from tenure.audit order by id")
    assert [tuple(row.values()) for row in rows] == [
        ("token:ann", "job.retry", "mended", "api"),
        ("token:ann", "job.replay", None, "api"),
        ("token:ann", "job.cancel", None, "api"),
    ]


def test_what_forbids_an_act_is_told(running: Running, database: Database, token: str) -> None:
    """A 409 says why, an unknown id is a 404, and an id of another shape too."""
    job = enqueue(database)
    answer = post(running, token, f"jobs/{job}/retry")
    assert (answer.status_code, answer.json()["error"]) == (
        409,
        f"job {job} has not ended: only a failed or held job is retried",
    )
    assert answer.json()["hint"]
    for unknown in (uuid.uuid4(), "5", "%00"):
        assert post(running, token, f"jobs/{unknown}/cancel").status_code == 404


def test_many_are_previewed_and_acted_on(running: Running, database: Database, token: str) -> None:
    """A preview changes nothing; the act says what it came to, under one audit row."""
    jobs = sorted(enqueue(database, failed=True) for _ in range(3))
    enqueue(database)
    answer = post(running, token, "jobs/retry", error_class="Odd", preview=True)
    shown = answer.json()
    assert (answer.status_code, shown["jobs"]) == (200, 3)
    assert shown["counts"] == [{"automation": "lead", "state": "failed", "jobs": 3}]
    assert shown["first"] == [str(job) for job in jobs]
    assert database.execute("select 1 from tenure.audit") == []
    first = post(running, token, "jobs/retry", error_class="Odd", limit=2).json()
    assert (first["done"], first["became"], first["after"]) == (2, {"failed": 2}, str(jobs[1]))
    rest = post(running, token, "jobs/retry", error_class="Odd", after=first["after"]).json()
    assert (rest["done"], rest["after"]) == (1, None)
    rows = database.execute("select actor, act, target from tenure.audit")
    assert {tuple(row.values()) for row in rows} == {("token:ann", "job.retry", "jobs")}
    assert post(running, token, "jobs/retry", error_class="Odd").status_code == 404


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({}, 422),
        ({"preview": True}, 422),
        ({"automatoin": "lead"}, 422),
        ({"automation": "le\x00ad"}, 422),
        ({"automation": "lead", "since": "2026-01-01T00:00:00"}, 422),
        ({"automation": "lead", "limit": 0}, 422),
        ({"state": "succeeded"}, 409),
        ({"automation": "nobody"}, 404),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(
    running: Running, database: Database, token: str, said: dict[str, object], status: int
) -> None:
    """Nothing said never means everything, and what does not fit acts on nothing."""
    enqueue(database)
    answer = post(running, token, "jobs/cancel", **said)
    assert answer.status_code == status, answer.text
    assert answer.json()["hint"]
    assert len(database.execute("select 1 from tenure.jobs")) == 1


def test_something_is_paused_and_resumed(running: Running, database: Database, token: str) -> None:
    """A pause stands in the list until it is resumed, in the owner's name."""
    enqueue(database)
    answer = post(running, token, "pauses", target="automation:lead", reason="look")
    assert (answer.status_code, answer.json()["paused_by"]) == (200, "token:ann")
    headers = {"authorization": f"Bearer {token}"}
    [listed] = running.client.get("/v1/pauses", headers=headers).json()
    assert (listed["target"], listed["reason"], listed["until"]) == (
        "automation:lead",
        "look",
        None,
    )
    assert post(running, token, "pauses", target="automation:x", reason="y").status_code == 404
    assert post(running, token, "pauses", target="lead", reason="y").status_code == 409
    assert post(running, token, "pauses/resume", target="automation:lead").status_code == 200
    assert post(running, token, "pauses/resume", target="automation:lead").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "jobs/{job}/retry",
        "jobs/{job}/replay",
        "jobs/{job}/cancel",
        "jobs/retry",
        "jobs/replay",
        "jobs/cancel",
        "pauses",
        "pauses/resume",
    ],
)
def test_nobody_operates_without_the_scope(running: Running, database: Database, path: str) -> None:
    """Without a token 401, with every other scope 403, and nothing is done."""
    job = enqueue(database)
    scopes = ["read", "enqueue", "observe", "promote", "admin"]
    other = tokens.create(database, owner="eve", scopes=scopes, by="test").token
    database.execute("delete from tenure.audit")
    said = {"target": "all", "reason": "x"} if path.startswith("pauses") else {}
    where = path.format(job=job)
    assert running.client.post(f"/v1/{where}", json=said).status_code == 401
    assert post(running, other, where, **said).status_code == 403
    assert database.execute("select 1 from tenure.audit") == []
    assert len(database.execute("select 1 from tenure.jobs")) == 1
