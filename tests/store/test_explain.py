"""Every job explains itself, in whatever state it is."""

from __future__ import annotations

from uuid import uuid4

from tenure.base.model import HandBack, Step
from tenure.store import budgets, controls, strands
from tenure.store.database import Database
from tests.conftest import Clock
from tests.store.scene import Scene, question_of, said


def test_a_ready_job_says_since_when_and_who_is_ahead(database: Database) -> None:
    """A ready job says since when it could be claimed, and how many are claimed before it."""
    scene = Scene(database)
    first, second = scene.enqueue(), scene.enqueue()
    assert said(database, first, "state", "wait") == (
        "Ready since T (N): a worker with a free slot claims it; none is ahead of it."
    )
    assert "; 1 job is ahead of it." in said(database, second, "state")


def test_a_running_job_says_where_and_until_when(database: Database) -> None:
    """A running job names its worker, its last heartbeat and the end of its lease."""
    scene = Scene(database)
    job = scene.running()
    assert said(database, job.id, "state", "wait") == (
        f"Running since T (N) on worker {scene.worker} (pid 4711 on host-1); last heard of at T, "
        "its lease ends at T."
    )
    assert said(database, job.id, "retry") == (
        "A retry would be refused while it runs. Were its worker to die, the next claim would run "
        "it again from its first line, under the same keys. Nothing is remembered yet."
    )


def test_a_lost_job_says_when_it_was_lost_and_who_finds_it(
    database: Database, clock: Clock
) -> None:
    """A lost job says when its lease ended, who had it, and that no living worker is there."""
    scene = Scene(database)
    job = scene.running()
    clock.advance(90)
    assert said(database, job.id, "state") == (
        f"Lost since T (N): worker {scene.worker} (pid 4711 on host-1) was last heard of at T. "
        "The next claim of a worker that knows lead finds it and runs it again."
    )
    assert said(database, job.id, "wait") == (
        f"No living worker knows lead for live jobs: the last, worker {scene.worker} (pid 4711 on "
        "host-1), was seen at T. It waits until one does; start one with: tenure worker"
    )


def test_a_job_made_for_later_says_when_and_by_whom(database: Database) -> None:
    """A job that is not due yet says until when, who made it so, and that it ends by itself."""
    scene = Scene(database)
    [row] = database.execute(
        "select job_id from tenure.enqueue('lead', at => tenure.clock() + interval '2 hours',"
        " created_by => 'ann')"
    )
    assert said(database, row["job_id"], "state") == "Waiting since T (N) until T (in 2 h)."
    assert said(database, row["job_id"], "wait") == (
        "Not due before T (in 2 h): it was made for then by ann. It ends by itself."
    )
    assert scene.row(row["job_id"])["state"] == "waiting"


def test_a_sleeping_job_says_at_which_step_and_until_when(database: Database) -> None:
    """A job that sleeps says since when, until when, and where in its handler."""
    scene = Scene(database)
    job = scene.running()
    scene.remember(job, Step("nap", "sleep", None, '"2026-12-24T09:00:00+00:00"'))
    waits = '{"why": "sleep", "until": "2026-12-24T09:00:00+00:00", "step": "nap"}'
    scene.hand_back(HandBack(job.id, job.fence, "deferral", 3600.0, waits=waits))
    assert said(database, job.id, "wait") == (
        "Waits since T (N) until T (in 1 h): the handler sleeps (step nap). It ends by itself."
    )
    assert said(database, job.id, "step") == "Sleep nap: until T, begun at T in claim 1."
    assert said(database, job.id, "attempt") == (
        f"Claim 1 by worker {scene.worker} (pid 4711 on host-1), begun at T, handed it back at T: "
        "the handler sleeps (step nap). No attempt was used."
    )


def test_a_job_parked_for_a_budget_names_it(database: Database) -> None:
    """A job parked for a budget says which is full, since when, how wide it is, and until when."""
    scene = Scene(database)
    row = budgets.ensure(
        database,
        provider="crm",
        account="",
        name="main",
        scope="",
        units=1,
        counted=10.25,
        declared='{"limit": 1, "per": 10.0}',
    )
    job = scene.running()
    scene.admit(scene.asked(job, "create-deal"), takes=((row, 1),))
    strand = strands.park(
        database, automation="lead", lane="crm", live=True, seconds=9, by="crm: main"
    )
    waits = '{"why": "budget", "budget": "main", "provider": "crm", "step": "after"}'
    scene.hand_back(HandBack(job.id, job.fence, "deferral", strand=strand, waits=waits))
    assert said(database, job.id, "state") == "Waiting since T (N) until T (in N)."
    assert said(database, job.id, "wait") == (
        "The budget main of crm had no room for step after at T: parked until T (in N). "
        "It ends by itself.\n"
        "The budget main of crm (1 per 10 s) is full, until T (in N). It has room again by itself."
    ).replace("10 s", "N")
    assert "budgets: 1 of main, policy hold." in said(database, job.id, "call")


def test_a_job_parked_in_its_own_lane_says_why(database: Database) -> None:
    """A job throttled by the provider of its own lane says by whom, at which step, until when."""
    scene = Scene(database, lane="crm")
    job = scene.running()
    strand = strands.park(
        database, automation="lead", lane="crm", live=True, seconds=30, by="crm: throttled"
    )
    waits = '{"why": "throttled", "provider": "crm", "step": "create-deal"}'
    scene.hand_back(HandBack(job.id, job.fence, "deferral", strand=strand, waits=waits))
    assert said(database, job.id, "wait") == (
        "Waits since T (N) until T (in N): crm asked to wait (throttled) at step create-deal. "
        "It ends by itself."
    )
    behind = scene.enqueue()
    assert said(database, behind, "wait") == (
        "Lane crm of lead is closed since T (N) until T (in N), by crm: throttled. "
        "It opens by itself."
    )


def test_a_ready_job_whose_lane_has_no_room_says_so(database: Database) -> None:
    """A job that is ready while its lane's budget is closed says who closed it and until when."""
    scene = Scene(database, lane="crm")
    row = budgets.ensure(
        database,
        provider="crm",
        account="",
        name="main",
        scope="",
        units=100,
        counted=10.25,
        declared="{}",
    )
    budgets.close(database, [row], seconds=90, by="crm: 429: too many requests")
    job = scene.enqueue()
    assert said(database, job, "wait") == (
        "The budget main of crm (100 per 10.25 s) is closed since T (N) by crm: 429: too many "
        "requests, until T (in N). It has room again by itself."
    ).replace("10.25 s", "10.N")


def test_a_closed_lane_and_a_pause_say_who_why_and_until_when(database: Database) -> None:
    """A closed lane and a paused one each have a line: by whom, why, since and until when."""
    scene = Scene(database)
    job = scene.enqueue()
    database.execute(
        "update tenure.strands set closed_since = tenure.clock(), closed_by = 'crm: down',"
        " closed_until = tenure.clock() + interval '5 minutes'"
    )
    assert said(database, job, "wait") == (
        "Lane free of lead is closed since T (N) until T (in N), by crm: down. It opens by itself."
    )
    database.execute(
        "update tenure.strands set closed_until = '-infinity' where closed_by = 'crm: down'"
    )
    database.execute("select tenure.pause('lane:free', 'audit', actor => 'bob')")
    assert said(database, job, "state") == "Waiting since T (N) until somebody ends it."
    assert said(database, job, "wait") == (
        "Lane free was paused by bob since T (N): audit. It stays so until somebody resumes it: "
        "tenure resume lane:free"
    )


def test_an_automation_that_no_worker_knows_waits_and_says_so(database: Database) -> None:
    """A job of an automation that no worker knows says so, and how to start one."""
    scene = Scene(database)
    database.execute("delete from tenure.workers")
    job = scene.enqueue()
    assert said(database, job, "wait") == (
        "No living worker knows lead for live jobs: none was ever seen. It waits until one does; "
        "start one with: tenure worker"
    )


def test_a_worker_for_other_jobs_does_not_count_as_one(database: Database) -> None:
    """A worker that runs dry-run and shadow jobs alone is no worker for live ones."""
    scene = Scene(database)
    job = scene.enqueue()
    database.execute("update tenure.workers set kind = 'not_live'")
    assert "No living worker knows lead for live jobs" in said(database, job, "wait")


def test_a_failure_with_attempts_left_says_when_it_is_tried_again(database: Database) -> None:
    """A job that failed says with which error, and when its next attempt is due."""
    scene = Scene(database)
    job = scene.running()
    waits = '{"why": "backoff", "error": "ValueError"}'
    scene.hand_back(
        HandBack(
            job.id,
            job.fence,
            "failure",
            40.0,
            waits=waits,
            error_class="ValueError",
            error="no such deal\n\nTraceback",
        )
    )
    assert said(database, job.id, "wait") == ("It failed at T and is tried again at T (in N).")
    assert said(database, job.id, "attempt") == (
        f"Claim 1 by worker {scene.worker} (pid 4711 on host-1), begun at T, failed at T "
        "in version v1: ValueError: no such deal. It was to go on at T."
    )


def test_a_crash_names_worker_and_last_heartbeat_and_runs_alone_next(
    database: Database, clock: Clock
) -> None:
    """A job whose worker went without a word says which one, when it was last heard of, and that
    it runs alone next.
    """
    scene = Scene(database)
    job = scene.running()
    clock.advance(90)
    dead = scene.worker
    scene.worker = uuid4()
    scene.arrive(pid=4712)
    scene.turn()
    assert said(database, job.id, "wait") == (
        "It runs alone next, in a quarantine of one slot, because a worker that ran it went "
        "without a word. A worker starts that by itself."
    )
    assert said(database, job.id, "attempt") == (
        f"Claim 1 by worker {dead} (pid 4711 on host-1), begun at T, went without a word: last "
        "heartbeat at T, lease over at T, found at T."
    )


def test_a_job_held_for_its_crashes_asks_whether_to_run_it_again(
    database: Database, clock: Clock
) -> None:
    """A job that ended its process too often is held, and says how to let it go on."""
    scene = Scene(database)
    job = scene.held_for_crashes(clock)
    number = question_of(database, job.id)
    assert said(database, job.id, "state") == "Held since T (N): it waits for a person."
    assert said(database, job.id, "wait") == (
        f"Question {number}, asked at T: Its process ended 3 times while it ran alone. Run it "
        f"again? Answer it with: tenure hold answer {number} --go-on"
    )
    assert said(database, job.id, "retry").startswith(
        "A retry would run it again from its first line, under the same keys (tenure retry "
    )


def test_a_job_in_doubt_says_what_was_sent_and_how_to_answer(
    database: Database, clock: Clock
) -> None:
    """A job in doubt says what was asked, how to answer, from when on, and that nothing is sent."""
    scene = Scene(database)
    job, call = scene.in_doubt()
    number = question_of(database, job.id)
    question = (
        f"Question {number}, asked at T: Did POST https://crm.example.com/deals happen? Nobody "
        f"knows. Answer it with: tenure hold answer {number} --happened [--status N --response "
        "@file], or --did-not"
    )
    assert said(database, job.id, "wait") == f"{question}, not before T"
    clock.advance(60)
    assert said(database, job.id, "wait") == question
    assert said(database, job.id, "call") == (
        "Call create-deal, send 1: POST /deals to crm, unknown, it may have happened: no answer "
        f"came. Key {call.key[:12]}, admitted at T, budgets: none, policy hold."
    )
    assert said(database, job.id, "retry") == (
        f"A retry would be refused until question {number} is answered. Then it runs again from "
        "its first line, under the same keys. Remembered steps, decisions and sleeps: 0; calls: 1:"
        f"\ncreate-deal (POST /deals to crm): in doubt; the answer to question {number} decides: "
        f"it happened: not sent again, it did not: sent under the same key {call.key[:12]}."
    )


def test_a_hold_of_an_author_asks_their_question(database: Database) -> None:
    """A job that its handler holds asks the author's question, and says how to let it go on."""
    scene = Scene(database)
    job = scene.running()
    scene.hand_back(HandBack(job.id, job.fence, "hold", question="Is ann really a customer?"))
    number = question_of(database, job.id)
    assert said(database, job.id, "wait") == (
        f"Question {number}, asked at T: Is ann really a customer? Answer it with: tenure hold "
        f"answer {number} --go-on"
    )


def test_what_an_operator_asked_of_a_running_job_is_told(database: Database) -> None:
    """A running job that is to be cancelled says by whom, when and why."""
    scene = Scene(database)
    job = scene.running()
    controls.cancel(database, job.id, actor="bob", reason="wrong customer")
    assert said(database, job.id, "wait") == (
        "A cancel was asked for by bob at T (wrong customer): it is taken up at the next "
        "heartbeat, call or claim."
    )
    assert said(database, job.id, "act") == "T bob: cancel (wrong customer)."
