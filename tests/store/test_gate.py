"""The gate admits no more than the budgets hold, to nobody but the current claim."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

import msgspec
import pytest

from tenure.base.model import Answered, Asked, CallState, Job
from tenure.store import budgets, gate, records
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene

Take = tuple[int, int]


def budget(database: Database, units: int, counted: float, name: str = "b") -> int:
    """A budget's row."""
    return budgets.ensure(
        database,
        provider="crm",
        account="",
        name=name,
        scope="",
        units=units,
        counted=counted,
        declared="{}",
    )


def ask(
    scene: Scene,
    calls: list[Asked],
    *takes: Take,
    reserve: float = 0.0,
    database: Database | None = None,
) -> list[Answered]:
    """The gate's answers to one batch."""
    return gate.ask(
        database or scene.database,
        worker=scene.worker,
        lease=60,
        takes=takes,
        reserve=reserve,
        calls=calls,
    )


def verdicts(answers: list[Answered]) -> list[str]:
    """The words alone."""
    return [answer.verdict for answer in answers]


def steps(scene: Scene, job: Job, count: int) -> list[Asked]:
    """So many calls of one job."""
    return [scene.asked(job, f"step-{uuid4().hex}") for _ in range(count)]


def at_once(acts: list[Callable[[], None]]) -> None:
    """Do several things in threads that begin together."""
    line = threading.Barrier(len(acts))

    def run(act: Callable[[], None]) -> None:
        line.wait()
        act()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def most_in_a_window(moments: list[datetime], seconds: float) -> int:
    """The most admissions that any window of that length holds."""
    ordered = sorted(moment.timestamp() for moment in moments)
    return max(sum(1 for x in ordered if begin <= x < begin + seconds) for begin in ordered)


@pytest.mark.parametrize("units", [5, 64, 65, 200])
def test_no_window_holds_more_than_the_limit_at_any_concurrency(
    database: Database, units: int
) -> None:
    """Eight askers without mercy: no rolling window is admitted more than its units."""
    scene = Scene(database)
    job = scene.running()
    counted = 0.5
    row = budget(database, units, counted)
    moments: list[datetime] = []

    def hammer() -> None:
        own = Database(database.url)
        while len(moments) <= 2 * units:  # however quick the machine, windows pass
            answers = ask(scene, steps(scene, job, 10), (row, 1), database=own)
            moments.extend(a.admitted_at for a in answers if a.admitted_at is not None)
        own.close()

    at_once([hammer] * 8)
    assert len(moments) > units
    assert most_in_a_window(moments, counted) <= units


def test_all_budgets_or_none(database: Database) -> None:
    """A call that one of its budgets refuses takes nothing from the others."""
    scene = Scene(database)
    job = scene.running()
    wide, narrow = budget(database, 10, 60.0, "wide"), budget(database, 1, 60.0, "narrow")
    first = ask(scene, steps(scene, job, 3), (wide, 1), (narrow, 1))
    assert verdicts(first) == ["admitted", "full", "full"]
    assert first[1].budget == narrow
    assert verdicts(ask(scene, steps(scene, job, 10), (wide, 1))) == ["admitted"] * 9 + ["full"]


def test_a_cost_takes_as_many_units(database: Database) -> None:
    """Two calls of cost five empty a budget of ten."""
    scene = Scene(database)
    row = budget(database, 10, 60.0)
    answers = ask(scene, steps(scene, scene.running(), 3), (row, 5))
    assert verdicts(answers) == ["admitted", "admitted", "full"]


@pytest.mark.parametrize("units", [3, 100])
def test_a_full_budget_says_when_it_has_room_and_then_has(
    database: Database, clock: Clock, units: int
) -> None:
    """The stated wait is enough, and not much less would have been."""
    scene = Scene(database)
    job = scene.running()
    row = budget(database, units, 10.0)
    answers = ask(scene, steps(scene, job, units + 1), (row, 1))
    assert verdicts(answers) == ["admitted"] * units + ["full"]
    wait = answers[-1].wait
    assert wait is not None
    assert 8.0 < wait <= 10.5
    clock.advance(8.0)
    assert verdicts(ask(scene, steps(scene, job, 1), (row, 1))) == ["full"]
    clock.advance(wait - 8.0)
    assert verdicts(ask(scene, steps(scene, job, 1), (row, 1))) == ["admitted"]


def test_a_closed_budget_admits_nobody_until_then(database: Database, clock: Clock) -> None:
    """A throttle closes it for all, and a later, shorter one does not open it earlier."""
    scene = Scene(database)
    job = scene.running()
    row = budget(database, 100, 1.0)
    assert budgets.close(database, [row], seconds=30, by="crm: 429") == {row}
    assert budgets.close(database, [row], seconds=5, by="crm: 429 again") == set()
    clock.advance(20)
    assert verdicts(ask(scene, steps(scene, job, 1), (row, 1))) == ["full"]
    clock.advance(11)
    assert verdicts(ask(scene, steps(scene, job, 1), (row, 1))) == ["admitted"]


def test_a_clock_that_steps_back_gives_nothing_away(database: Database, clock: Clock) -> None:
    """Admissions are counted from the last one on where the clock reads earlier."""
    scene = Scene(database)
    job = scene.running()
    row = budget(database, 2, 10.0)
    clock.advance(5)
    assert verdicts(ask(scene, steps(scene, job, 2), (row, 1))) == ["admitted"] * 2
    clock.advance(-5)
    assert verdicts(ask(scene, steps(scene, job, 1), (row, 1))) == ["full"]


def test_reads_of_dry_run_leave_a_reserve(database: Database) -> None:
    """A fifth of the units is kept from them, and others still have it."""
    scene = Scene(database)
    job = scene.running()
    row = budget(database, 10, 60.0)
    yielding = ask(scene, steps(scene, job, 10), (row, 1), reserve=0.2)
    assert verdicts(yielding) == ["admitted"] * 8 + ["full"] * 2
    assert verdicts(ask(scene, steps(scene, job, 3), (row, 1))) == ["admitted"] * 2 + ["full"]


def test_the_intent_is_on_record_before_the_answer(database: Database) -> None:
    """An admitted unsafe call stands as sending, with the time by which it must have left."""
    scene = Scene(database)
    call = scene.asked(scene.running(), "create")
    scene.admit(call)
    row = database.execute(
        "select state, key, extract(epoch from send_until - admitted_at)::float8 as within"
        " from tenure.calls"
    )[0]
    assert (row["state"], row["key"], row["within"]) == ("sending", call.key, 32.0)


def test_a_safe_call_takes_its_unit_and_writes_no_row(database: Database) -> None:
    """Only what changes something is written before it leaves."""
    scene = Scene(database)
    call = msgspec.structs.replace(scene.asked(scene.running(), "look"), safe=True, policy="safe")
    row = budget(database, 1, 60.0)
    assert verdicts(ask(scene, [call], (row, 1))) == ["admitted"]
    assert verdicts(ask(scene, [call], (row, 1))) == ["full"]
    assert database.execute("select from tenure.calls") == []


def test_a_claim_that_is_over_passes_nothing(database: Database, clock: Clock) -> None:
    """Neither an old fence, nor another worker, nor a lease that ran out is admitted."""
    scene = Scene(database)
    job = scene.running()
    call = scene.asked(job, "create")
    old = msgspec.structs.replace(call, fence=job.fence - 1)
    assert verdicts(ask(scene, [old])) == ["lost"]
    stranger, scene.worker = scene.worker, uuid4()
    assert verdicts(ask(scene, [call])) == ["lost"]
    scene.worker = stranger
    clock.advance(61)
    assert verdicts(ask(scene, [call])) == ["lost"]


def test_the_gate_renews_the_lease_to_its_full_length(database: Database, clock: Clock) -> None:
    """Whoever is admitted has a whole lease before it."""
    scene = Scene(database)
    job = scene.running()
    clock.advance(50)
    scene.admit(scene.asked(job, "create"))
    clock.advance(50)
    assert verdicts(ask(scene, [scene.asked(job, "next")])) == ["admitted"]


@pytest.mark.parametrize("request_", ["cancel", "hold"])
def test_what_an_operator_asked_for_is_answered_first(database: Database, request_: str) -> None:
    """A call of a job that is to stop is not admitted."""
    scene = Scene(database)
    job = scene.running()
    database.execute("update tenure.jobs set request = %(r)s", {"r": request_})
    assert verdicts(ask(scene, [scene.asked(job, "create")])) == [request_]


def test_an_admission_is_given_once(database: Database) -> None:
    """Asked again by the same send, the gate says that it was admitted, and takes nothing."""
    scene = Scene(database)
    job = scene.running()
    call = scene.asked(job, "create")
    row = budget(database, 2, 60.0)
    assert verdicts(ask(scene, [call], (row, 1))) == ["admitted"]
    assert verdicts(ask(scene, [call], (row, 1))) == ["found"]
    assert verdicts(ask(scene, steps(scene, job, 2), (row, 1))) == ["admitted", "full"]


def test_what_is_done_is_not_admitted_again(database: Database) -> None:
    """A finished step is known, whatever number its next send would have."""
    scene = Scene(database)
    job = scene.running()
    scene.called(job, "create", "done", 200)
    assert verdicts(ask(scene, [scene.asked(job, "create", send=2)])) == ["known"]


@pytest.mark.parametrize("state", ["not_sent", "throttled", "overloaded"])
def test_what_was_proved_unsent_or_unprocessed_goes_again(
    database: Database, state: CallState
) -> None:
    """The next number is admitted, and no other."""
    scene = Scene(database)
    job = scene.running()
    scene.called(job, "create", state)
    assert verdicts(ask(scene, [scene.asked(job, "create", send=3)])) == ["known"]
    assert verdicts(ask(scene, [scene.asked(job, "create", send=2)])) == ["admitted"]


def test_a_send_without_an_outcome_waits_until_it_can_no_longer_leave(
    database: Database, clock: Clock
) -> None:
    """A later claim may ask again after send_until, and not before."""
    scene = Scene(database)
    scene.called(scene.running(), "create", "sending")
    clock.advance(61)
    scene.worker = uuid4()
    scene.turn()
    job = scene.claim(quarantine=True)
    again = scene.asked(job, "create", policy="resend", send=2)
    assert verdicts(ask(scene, [again])) == ["admitted"]


def test_evidence_comes_before_any_repeat(database: Database, clock: Clock) -> None:
    """What a worker saw after its claim was over is told to whoever would send again."""
    scene = Scene(database)
    job = scene.running()
    call = scene.called(job, "create", "sending")
    clock.advance(61)
    scene.worker = uuid4()
    scene.turn()
    job = scene.claim(quarantine=True)
    seen = scene.outcome(call, "done", 200)
    assert records.outcomes(database, uuid4(), [seen]) == set()
    assert records.testify(database, uuid4(), [seen]) == {call.send_id}
    assert verdicts(ask(scene, [scene.asked(job, "create", send=2)])) == ["evidence"]


def test_calls_of_one_batch_are_judged_one_by_one(database: Database) -> None:
    """A refused call takes no unit from its neighbour."""
    scene = Scene(database)
    job = scene.running()
    row = budget(database, 2, 60.0)
    old = msgspec.structs.replace(scene.asked(job, "old"), fence=0)
    answers = ask(scene, [old, *steps(scene, job, 2)], (row, 1))
    assert verdicts(answers) == ["lost", "admitted", "admitted"]
