"""What has finished goes when its time is over, and what somebody still needs stays."""

from __future__ import annotations

import threading
from typing import Literal
from uuid import UUID, uuid4

import psycopg
import pytest

from tenure.base.defaults import Settings
from tenure.base.model import Finish, HandBack, Step
from tenure.store import chores, ends, explain
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene

DAY = 86_400.0
# Every table that is let go by the week, and the column that says whose row it is.
BESIDE = ("inputs", "steps", "calls", "outcomes", "attempts", "journal", "evidence")


@pytest.fixture
def scene(database: Database) -> Scene:
    """A live automation, and a worker."""
    return Scene(database)


def _duties(database: Database, settings: Settings | None = None) -> list[str]:
    """Do all that is due; what was done, retention once a piece."""
    done = []
    while name := chores.do_one(database, uuid4(), settings):
        done.append(name)
    return done


def _beside(database: Database, job: UUID) -> dict[str, int]:
    """How many rows lie beside a job, by table; tables without any are left out."""
    found: dict[str, int] = {}
    for table in BESIDE:
        rows = database.connect().execute(
            f"select count(*) as n from tenure.{table} where job_id = %s",  # noqa: S608 - our own names
            [job],
        )
        [row] = rows.fetchall()
        if row["n"]:
            found[table] = row["n"]
    return found


def _story(scene: Scene) -> UUID:
    """A running job with a step, a call, its outcome and evidence, and a line in its journal."""
    job = scene.running()
    scene.remember(job, Step("weigh", "step", None, "1"))
    call = scene.called(job, "create-deal", "done", 201)
    scene.database.execute(
        "insert into tenure.evidence (job_id, send_id, state, worker_id)"
        " values (%(job)s, %(send)s, 'done', %(worker)s)",
        {"job": job.id, "send": call.send_id, "worker": scene.worker},
    )
    scene.database.execute(
        "insert into tenure.journal (job_id, kind, said) values (%(job)s, 'drift', 'It drifted.')",
        {"job": job.id},
    )
    return job.id


def _ended(scene: Scene, status: Literal["succeeded", "failed"] = "succeeded") -> UUID:
    """A job with such a story that has finished at its first claim."""
    job = _story(scene)
    assert ends.finish(scene.database, scene.worker, [Finish(job, 1, status)]).done == {job}
    return job


def test_a_finished_job_is_gone_after_its_time(scene: Scene, clock: Clock) -> None:
    """It and all that lies beside it stay for thirty days, a failed one for ninety."""
    succeeded, failed = _ended(scene), _ended(scene, "failed")
    clock.advance(29 * DAY)
    _duties(scene.database)
    before = _beside(scene.database, succeeded)
    assert set(before) == set(BESIDE) - {"attempts"}
    clock.advance(9 * DAY)
    done = _duties(scene.database)
    assert done.count("retention") > len(BESIDE)
    assert _beside(scene.database, succeeded) == {}
    assert explain.sentences(scene.database, succeeded) == []
    assert explain.timeline(scene.database, succeeded) == []
    assert _beside(scene.database, failed) == {**before, "attempts": 1}
    assert scene.row(failed)["state"] == "failed"
    clock.advance(51 * DAY)
    _duties(scene.database)
    assert scene.row(failed)["state"] == "failed"
    clock.advance(2 * DAY)
    _duties(scene.database)
    assert _beside(scene.database, failed) == {}
    assert explain.sentences(scene.database, failed) == []


def test_what_has_not_finished_keeps_its_memory(scene: Scene, clock: Clock) -> None:
    """Waiting ninety days, held and lost jobs stand as they stood, and end later."""
    sleeping = _story(scene)
    scene.hand_back(HandBack(sleeping, 1, "deferral", 100 * DAY, waits='{"why": "sleep"}'))
    held, lost = _story(scene), None
    scene.hand_back(HandBack(held, 1, "hold", question="Go on?"))
    lost = _story(scene)
    known = {job: _beside(scene.database, job) for job in (sleeping, held, lost)}
    for _ in range(8):
        clock.advance(11 * DAY)
        _duties(scene.database)
    assert {job: _beside(scene.database, job) for job in known} == known
    states = {job: scene.row(job)["state"] for job in known}
    assert states == {sleeping: "waiting", held: "held", lost: "lost"}
    [question] = scene.database.execute("select job_id from tenure.holds")
    assert question["job_id"] == held
    scene.database.execute("select tenure.cancel(%(id)s)", {"id": held})
    clock.advance(29 * DAY)
    _duties(scene.database)
    assert (scene.row(held)["state"], set(_beside(scene.database, held))) == (
        "cancelled",
        set(known[held]),
    )
    clock.advance(2 * DAY)
    _duties(scene.database)
    assert explain.sentences(scene.database, held) == []
    assert _beside(scene.database, held) == {}
    assert scene.database.execute("select job_id from tenure.holds") == []


def test_settings_say_how_long(scene: Scene, clock: Clock) -> None:
    """Ten days for what succeeded, twenty for what failed."""
    settings = Settings(retention_finished=10 * DAY, retention_failed=20 * DAY)
    succeeded, failed = _ended(scene), _ended(scene, "failed")
    clock.advance(18 * DAY)
    _duties(scene.database, settings)
    assert explain.sentences(scene.database, succeeded) == []
    assert scene.row(failed)["state"] == "failed"
    clock.advance(10 * DAY)
    _duties(scene.database, settings)
    assert explain.sentences(scene.database, failed) == []


def test_evidence_of_shadow_stays_until_its_automation_is_live(
    database: Database, clock: Clock
) -> None:
    """A finished shadow job outlives its time, and goes when a promotion has gone by it."""
    scene = Scene(database, stage="shadow")
    _listen(database)
    event = _event(database)
    job = scene.claim()
    assert job.mode == "shadow"
    scene.finish(job, "succeeded")
    clock.advance(60 * DAY)
    _duties(database)
    assert scene.row(job.id)["state"] == "succeeded"
    assert _events(database) == [event]
    database.execute("select (tenure.promote('lead', 'live', 'seen', '{all}')).id")
    clock.advance(1 * DAY)
    _duties(database)
    assert explain.sentences(database, job.id) == []
    clock.advance(30 * DAY)
    _duties(database)
    assert _events(database) == []


def _listen(database: Database) -> None:
    database.execute(
        "insert into tenure.sources (name, scheme, secrets) values ('leads', 'hmac', '[]')"
    )
    database.execute("update tenure.automations set listens = '{leads}'")


def _event(database: Database) -> UUID:
    [row] = database.execute(
        "select event_id from tenure.accept('leads', gen_random_uuid()::text, null, sha256('x'),"
        "                                   'x', '[]', null, null)"
    )
    event: UUID = row["event_id"]
    return event


def _events(database: Database) -> list[UUID]:
    return [row["id"] for row in database.execute("select id from tenure.events")]


def test_an_event_stays_while_a_job_refers_to_it(scene: Scene, clock: Clock) -> None:
    """Of an unfinished job, of a failed one that is kept, and of a replay made much later."""
    _listen(scene.database)
    event = _event(scene.database)
    job = scene.claim()
    scene.hand_back(HandBack(job.id, job.fence, "deferral", 40 * DAY, waits='{"why": "sleep"}'))
    clock.advance(60 * DAY)
    _duties(scene.database)
    assert _events(scene.database) == [event]
    scene.finish(scene.claim(), "failed")
    scene.database.execute("select tenure.replay(%(id)s)", {"id": job.id})
    clock.advance(95 * DAY)
    _duties(scene.database)
    assert _events(scene.database) == [event]
    scene.finish(scene.claim(), "succeeded")
    clock.advance(20 * DAY)
    _duties(scene.database)
    assert _events(scene.database) == [event]
    clock.advance(30 * DAY)
    _duties(scene.database)
    assert _events(scene.database) == []
    [known] = scene.database.execute("select event_id from tenure.event_keys")
    assert known["event_id"] == event


def test_a_reader_is_not_waited_for(scene: Scene, database_url: str, clock: Clock) -> None:
    """Where somebody reads the table for long, the duty gives up and comes again in a minute."""
    job = _ended(scene)
    clock.advance(40 * DAY)
    with psycopg.connect(database_url) as reader:
        reader.execute("select count(*) from tenure.finished_jobs")
        assert "retention" in _duties(scene.database)
        assert scene.row(job)["state"] == "succeeded"
        assert _due_in(scene.database) == pytest.approx(60.0, abs=10.0)
    clock.advance(61)
    _duties(scene.database)
    assert explain.sentences(scene.database, job) == []


def _due_in(database: Database) -> float:
    [row] = database.execute(
        "select extract(epoch from due - tenure.clock())::float8 as seconds"
        "  from tenure.chores where name = 'retention'"
    )
    seconds: float = row["seconds"]
    return seconds


def test_two_workers_race_for_it(scene: Scene, database_url: str, clock: Clock) -> None:
    """Both look at once, again and again: each row goes once, and nothing that is needed goes."""
    gone = [_ended(scene) for _ in range(20)]
    kept = [_ended(scene, "failed") for _ in range(20)]
    clock.advance(40 * DAY)
    failures: list[BaseException] = []

    def work() -> None:
        database = Database(database_url)
        try:
            _duties(database)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _duties(scene.database)
    assert failures == []
    left = {row["id"] for row in scene.database.execute("select id from tenure.all_jobs")}
    assert left == set(kept)
    assert all(_beside(scene.database, job) == {} for job in gone)


def test_a_crash_in_the_middle_changes_nothing(
    scene: Scene, database_url: str, clock: Clock
) -> None:
    """A turn that is cut off before its commit leaves all partitions and rows; the next does it."""
    job, failed = _ended(scene), _ended(scene, "failed")
    clock.advance(40 * DAY)
    names = "select name from tenure.weeks() order by 1"
    before = scene.database.execute(names)
    cut = psycopg.connect(database_url)
    cut.execute("select tenure.let_go('30 d', '90 d', 1000)")
    pid = cut.info.backend_pid
    scene.database.execute("select pg_terminate_backend(%(pid)s, 10000)", {"pid": pid})
    with pytest.raises(psycopg.OperationalError):
        cut.commit()
    cut.close()
    assert scene.database.execute(names) == before
    assert scene.row(job)["state"] == "succeeded"
    _duties(scene.database)
    assert explain.sentences(scene.database, job) == []
    assert scene.row(failed)["state"] == "failed"


def test_what_is_no_jobs_goes_too(scene: Scene, clock: Clock) -> None:
    """Refusals, processes long ended and keys whose interval is over; the audit stays."""
    scene.database.execute(
        "insert into tenure.rejections (source, reason, minute)"
        " values ('leads', 'signature', tenure.clock())"
    )
    scene.database.execute(
        "insert into tenure.unique_keys (automation, key, job_id, until) values"
        " ('lead', 'over', gen_random_uuid(), tenure.clock() + interval '1 hour'),"
        " ('lead', 'for ever', gen_random_uuid(), 'infinity'),"
        " ('lead', 'its job decides', gen_random_uuid(), null)"
    )
    scene.database.execute("select tenure.note_act('test', 'test', null, null, 'test', null, null)")
    scene.running()
    former, scene.worker = scene.worker, uuid4()
    scene.arrive()
    scene.arrive(stopped := uuid4())
    clock.advance(40 * DAY)
    scene.arrive(present := uuid4())
    _duties(scene.database)
    read = scene.database.execute
    assert read("select * from tenure.rejections") == []
    assert [row["key"] for row in read("select key from tenure.unique_keys order by key")] == [
        "for ever",
        "its job decides",
    ]
    known = {row["id"] for row in read("select id from tenure.workers")}
    assert known == {former, present}
    assert stopped not in known
    assert len(read("select * from tenure.audit where act = 'test'")) == 1


def test_partitions_are_made_ahead_and_let_go(scene: Scene, clock: Clock) -> None:
    """After half a year there are the weeks of a retention and of a month ahead, and no more."""
    for _ in range(13):
        clock.advance(14 * DAY)
        _duties(scene.database)
    rows = scene.database.execute(
        "select count(*) as weeks, extract(epoch from tenure.now() - min(week)) / 604800 as old,"
        "       extract(epoch from max(week) - tenure.now()) / 604800 as ahead"
        "  from tenure.weeks() where parent = 'jobs' or parent = 'inputs'"
    )
    [row] = rows
    assert 10 <= row["weeks"] <= 12
    assert 30 / 7 <= row["old"] <= 30 / 7 + 1
    assert 4 <= row["ahead"] <= 5
