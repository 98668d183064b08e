"""Acts on many jobs: previewed, in chunks, passing over what changed, under one audit row."""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

import msgspec
import pytest

from tenure.base.errors import NothingMatched, Refused
from tenure.base.model import Declared, HandBack
from tenure.store import automations, explain, jobs, many
from tenure.store.database import Busy, Database
from tenure.store.jobs import Wanted
from tenure.store.many import Filter, Order, Tally
from tests.store.scene import Scene


def done(database: Database, act: many.Act, asked: Filter, *, limit: int | None = None) -> Tally:
    """What an act on many came to, bounded by its preview as every caller does."""
    until = many.preview(database, act, asked, limit=limit).until
    asked = msgspec.structs.replace(asked, until=until)
    order = Order(act, asked, "bob", "crm was down", "cli", limit)
    return list(many.carry_out(database, order))[-1]


def failed(scene: Scene, number: int, *, error_class: str = "ValueError") -> list[UUID]:
    """So many failed jobs."""
    made = []
    for _ in range(number):
        job = scene.running()
        scene.finish(job, "failed", error_class=error_class, error="no")
        made.append(job.id)
    return sorted(made)


def enqueued(scene: Scene, number: int) -> list[UUID]:
    """So many jobs, in the order of their ids, which those of one millisecond have by chance."""
    return sorted(scene.enqueue() for _ in range(number))


def states(database: Database) -> dict[str, int]:
    """How many jobs stand in which state."""
    rows = database.execute("select state, count(*)::int as n from tenure.all_jobs group by state")
    return {row["state"]: row["n"] for row in rows}


def test_many_failed_jobs_are_retried_and_say_who_did_it(database: Database) -> None:
    """All that match are back, under one audit row; each job says who it was, and why."""
    scene = Scene(database)
    retried = failed(scene, 3, error_class="Timeout")
    [other] = failed(scene, 1)
    tally = done(database, "retry", Filter(automation="lead", error_class="Timeout"))
    assert (tally.done, tally.changed, tally.refused) == (3, 0, 0)
    assert tally.became == {"failed": 3}
    assert states(database) == {"ready": 3, "failed": 1}
    assert scene.row(other)["state"] == "failed"
    [audit] = database.execute("select * from tenure.audit")
    assert (audit["actor"], audit["act"], audit["target"]) == ("bob", "job.retry", "jobs")
    assert audit["before"]["error_class"] == "Timeout"
    assert audit["after"] == {"done": 3, "changed": 0, "refused": 0}
    for job in retried:
        acts = [line.sentence for line in explain.sentences(database, job) if line.part == "act"]
        assert len(acts) == 1
        assert f"bob: retry, one of many by act {audit['id']} (crm was down)." in acts[0]


def test_a_preview_counts_and_changes_nothing(database: Database) -> None:
    """The preview tells how many of which automation and state, and the first ids."""
    scene = Scene(database)
    gone = failed(scene, 2)
    held = scene.running()
    scene.hand_back(HandBack(held.id, held.fence, "hold", question="Go on?"))
    found = many.preview(database, "retry", Filter(automation="lead"))
    assert [(each.automation, each.state, each.jobs) for each in found.counts] == [
        ("lead", "failed", 2),
        ("lead", "held", 1),
    ]
    assert (found.jobs, found.first) == (3, tuple(sorted((*gone, held.id))))
    assert states(database) == {"failed": 2, "held": 1}
    assert database.execute("select 1 from tenure.audit") == []


def test_a_preview_of_a_replay_tells_what_would_be_sent_again(database: Database) -> None:
    """Effects are counted by operation where the automation is live, and none where it is not."""
    scene = Scene(database)
    for state in ("done", "unknown", "refused"):
        job = scene.running()
        scene.called(job, "create-deal", state)
        scene.finish(job, "succeeded")
    found = many.preview(database, "replay", Filter(state="succeeded"))
    [effects] = found.effects
    assert (effects.operation, effects.provider) == ("POST /deals", "crm")
    assert (effects.again, effects.anew) == (2, 0)
    database.execute("update tenure.automations set stage = 'dry_run'")
    assert many.preview(database, "replay", Filter(state="succeeded")).effects == ()


def test_a_replay_of_many_never_meets_its_own_jobs(database: Database) -> None:
    """Jobs that the act makes match its filter, and are not replayed by it."""
    scene = Scene(database)
    for _ in range(5):
        scene.enqueue()
    tally = done(database, "replay", Filter(automation="lead"))
    assert (tally.done, tally.became) == (5, {"replayed": 5})
    rows = database.execute("select replay_of, created_by from tenure.jobs where replay_of <> id")
    assert {row["created_by"] for row in rows} == {"bob"}
    assert len(rows) == 5


def test_many_are_cancelled_at_once_or_asked(database: Database) -> None:
    """Of a filter's jobs the unclaimed ones end in the act, and the running one is asked."""
    scene = Scene(database)
    running = scene.running()
    waiting = scene.enqueue()
    tally = done(database, "cancel", Filter(automation="lead"))
    assert tally.became == {"asked": 1, "cancelled": 1}
    assert scene.row(running.id)["request"] == "cancel"
    [state] = [s.sentence for s in explain.sentences(database, waiting) if s.part == "state"]
    assert state.endswith("by bob: crm was down.")
    wait = " ".join(s.sentence for s in explain.sentences(database, running.id))
    assert "A cancel was asked for by bob" in wait


def test_what_somebody_holds_or_changed_is_passed_over_and_told(database: Database) -> None:
    """A row that another transaction has locked, or that no longer matches, is left as it is."""
    scene = Scene(database)
    first, second, third = enqueued(scene, 3)
    asked = Filter(
        state="ready", until=many.preview(database, "cancel", Filter(state="ready")).until
    )
    order = Order("cancel", asked, "bob")
    rival = Database(database.url)
    with rival.transaction():
        rival.execute("select 1 from tenure.jobs where id = %(id)s for update", {"id": first})
        tally = Tally()
        assert many.advance(database, order, tally, 2)
    assert (tally.done, tally.changed, tally.after) == (1, 1, second)
    assert {scene.claim().id, scene.claim().id} == {first, third}  # no longer ready
    assert not many.advance(database, order, tally, 2)
    assert (scene.row(first)["state"], scene.row(second)["state"]) == ("running", "cancelled")
    rival.close()


def test_a_refusal_among_many_is_counted_with_its_reason(database: Database) -> None:
    """A job whose key another holds, or whose call is in doubt, is told; the others are done."""
    scene = Scene(database)
    scene.enqueue(key="deal-7")
    keyed = scene.claim()
    scene.finish(keyed, "failed", error_class="ValueError", error="no")
    holder = scene.enqueue(key="deal-7")
    scene.finish(scene.claim(), "cancelled")
    holder = scene.enqueue(key="deal-7")
    scene.claim()
    doubt, _ = scene.in_doubt()
    [plain] = failed(scene, 1)
    tally = done(database, "retry", Filter(automation="lead"))
    assert (tally.done, tally.refused) == (1, 2)
    assert scene.row(plain)["state"] == "ready"
    whys = {refusal.job: refusal.why for refusal in tally.refusals}
    assert whys[keyed.id].endswith(f"its unique key (deal-7) is held by job {holder}")
    assert "is held over a call that is in doubt" in whys[doubt.id]
    [audit] = database.execute("select after from tenure.audit")
    assert audit["after"] == {"done": 1, "changed": 0, "refused": 2}


_TAG: LiteralString = "update tenure.jobs set tags = '{big}' where id = %(id)s"
_PARK: LiteralString = """
    update tenure.jobs set strand = (
        select id from tenure.strands where lane = 'crm/acme' and live and not quarantine)
     where id = %(id)s"""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (_TAG, Filter(tag="big")),
        (_PARK, Filter(lane="crm/acme")),
        (_PARK, Filter(provider="crm")),
        (
            "update tenure.jobs set created_by = 'source:door' where id = %(id)s",
            Filter(source="door"),
        ),
        (
            "update tenure.jobs set leased_until = 'tomorrow' where id = %(id)s",
            Filter(state="waiting"),
        ),
    ],
)
def test_jobs_are_found_by_what_is_asked(
    database: Database, text: LiteralString, asked: Filter
) -> None:
    """Tag, lane, provider, source and state each find the one job, and no other."""
    scene = Scene(database)
    database.execute("select tenure.open_lane('lead', 'crm/acme')")
    scene.enqueue()
    wanted = scene.enqueue()
    scene.enqueue()
    database.execute(text, {"id": wanted})
    assert many.preview(database, "cancel", asked).first == (wanted,)


def test_jobs_are_found_by_when_they_were_made(database: Database) -> None:
    """Filters since and until bound the time of making, by the ids that carry it."""
    scene = Scene(database)
    first = scene.enqueue()
    [middle] = database.execute("select tenure.clock() + interval '2 ms' as at")
    while database.execute("select tenure.clock() as at")[0]["at"] < middle["at"]:
        pass
    second = scene.enqueue()
    assert many.preview(database, "cancel", Filter(since=middle["at"])).first == (second,)
    assert many.preview(database, "cancel", Filter(until=middle["at"])).first == (first,)


def test_an_act_without_jobs_or_on_a_wrong_state_says_so(database: Database) -> None:
    """Nothing that matches is one error; a state that the act cannot be on is another."""
    Scene(database)
    with pytest.raises(NothingMatched, match="no job matches: there is nothing to cancel"):
        many.preview(database, "cancel", Filter(automation="nobody"))
    with pytest.raises(Refused, match="no succeeded job can be the subject of a retry"):
        many.preview(database, "retry", Filter(state="succeeded"))


def test_a_limit_takes_the_oldest(database: Database) -> None:
    """So many at most, oldest first; the tally tells where to go on."""
    scene = Scene(database)
    made = enqueued(scene, 4)
    tally = done(database, "cancel", Filter(automation="lead"), limit=3)
    assert (tally.done, tally.after) == (3, made[2])
    assert scene.row(made[3])["state"] == "ready"


def test_thousands_go_in_chunks_each_committed(database: Database) -> None:
    """An act on more than a chunk is several transactions, counted up in its one audit row."""
    Scene(database)
    database.execute("select tenure.enqueue('lead') from generate_series(1, 1200)")
    order = Order("cancel", Filter(automation="lead"), "bob")
    seen = [
        (tally.done, states(database).get("cancelled")) for tally in many.carry_out(database, order)
    ]
    assert seen == [(500, 500), (1000, 1000), (1200, 1200)]
    [audit] = database.execute("select after from tenure.audit")
    assert audit["after"]["done"] == 1200


def test_a_lock_that_is_not_to_be_had_ends_the_act_where_it_is(database: Database) -> None:
    """A key that an open transaction is about to take keeps one job waiting, and no other."""
    scene = Scene(database)
    scene.enqueue(key="deal-7")
    keyed = scene.claim()
    scene.finish(keyed, "failed", error_class="ValueError", error="no")
    failed(scene, 3)
    asked = Filter(
        state="failed", until=many.preview(database, "retry", Filter(state="failed")).until
    )
    rival = Database(database.url)
    tallies = many.carry_out(database, Order("retry", asked, "bob"))
    with rival.transaction():
        jobs.enqueue(rival, Wanted("lead", "{}", key="deal-7"))
        with pytest.raises(Busy):
            next(tallies)
    assert list(many.carry_out(database, Order("retry", asked, "bob")))[-1].refused == 1
    rival.close()


def test_other_automations_are_left_alone(database: Database) -> None:
    """A filter by automation touches no job of another."""
    scene = Scene(database)
    automations.declare(database, Declared(name="other", version="v1"), by="test")
    other = jobs.enqueue(database, Wanted("other", "{}")).job_id
    scene.enqueue()
    assert done(database, "cancel", Filter(automation="lead")).done == 1
    assert scene.row(other)["state"] == "ready"
