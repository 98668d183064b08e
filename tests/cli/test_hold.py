"""``tenure hold``."""

from __future__ import annotations

from pathlib import Path

from tenure.base.model import HandBack
from tenure.store import memory
from tests.cli.conftest import Row, Run, told
from tests.conftest import Clock
from tests.store.scene import Scene, question_of


def test_questions_are_listed_with_their_answers(tenure: Run, scene: Scene) -> None:
    """Each question stands with its job, the answers it takes and from when on."""
    job, _ = scene.in_doubt()
    done = tenure("hold", "list")
    assert str(job.id) in done.stdout
    assert "--happened, --did-not" in done.stdout
    [found] = told(tenure("hold", "list", "--json"), list[Row])
    assert (found["job_id"], found["in_doubt"]) == (str(job.id), True)


def test_no_question_is_no_error(tenure: Run) -> None:
    """Where nothing waits for a person, that is said."""
    done = tenure("hold", "list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "no job waits for a person\n"


def test_an_answer_too_early_is_not_taken_yet(tenure: Run, scene: Scene) -> None:
    """While the call may still leave the exit code says: not yet."""
    job, _ = scene.in_doubt()
    done = tenure("hold", "answer", question_of(scene.database, job.id), "--did-not")
    assert done.exit_code == 3
    assert "the call may still leave until" in done.stderr


def test_it_happened_with_the_response(
    tenure: Run, scene: Scene, clock: Clock, tmp_path: Path
) -> None:
    """Told by the job's id that it happened, the job goes on with status and body of the file."""
    job, call = scene.in_doubt()
    clock.advance(60)
    (tmp_path / "response.json").write_bytes(b'{"id": 7}')
    done = tenure(
        "hold", "answer", job.id, "--happened", "--status", 201, "--response", "@response.json"
    )
    assert done.exit_code == 0
    assert done.stdout == f"question 1 is answered: job {job.id} goes on\n"
    send = memory.load(scene.database, [job.id])[job.id].sends[call.step]
    assert (send.state, send.status, send.answer) == ("done", 201, b'{"id": 7}')


def test_it_happened_without_a_response_is_taken_with_a_word(
    tenure: Run, scene: Scene, clock: Clock
) -> None:
    """Where no response is given, what the handler will see is said."""
    job, _ = scene.in_doubt()
    clock.advance(60)
    done = tenure("hold", "answer", job.id, "--happened")
    assert done.exit_code == 0
    assert done.stderr == "no response was given: the handler sees an empty body\n"


def test_it_did_not_happen(tenure: Run, scene: Scene, clock: Clock) -> None:
    """Told that it did not happen, the job is ready to send again."""
    job, call = scene.in_doubt()
    clock.advance(60)
    answered = told(tenure("hold", "answer", job.id, "--did-not", "--json"), Row)
    assert answered == {"question": 1, "job_id": str(job.id), "answer": "did_not"}
    assert memory.load(scene.database, [job.id])[job.id].sends[call.step].state == "not_sent"


def test_a_plain_question_is_let_go_on(tenure: Run, scene: Scene) -> None:
    """A job that its handler held goes on, in the name that was given."""
    job = scene.running()
    scene.hand_back(HandBack(job.id, job.fence, "hold", question="Really?"))
    assert tenure("hold", "answer", job.id, "--go-on", "--as", "bob").exit_code == 0
    assert scene.row(job.id)["state"] == "ready"
    assert scene.audit(f"job:{job.id}")[0]["actor"] == "bob"


def test_the_wrong_answer_is_refused(tenure: Run, scene: Scene) -> None:
    """A call in doubt is not let go on: the exit code says: refused."""
    job, _ = scene.in_doubt()
    assert tenure("hold", "answer", job.id, "--go-on").exit_code == 4


def test_an_answer_that_says_nothing_or_too_much_is_wrong_usage(tenure: Run) -> None:
    """There is no answer by default, and a response belongs to what happened."""
    assert tenure("hold", "answer", 1).exit_code == 2
    assert tenure("hold", "answer", 1, "--did-not", "--status", 201).exit_code == 2
    assert tenure("hold", "answer", 1, "--happened", "--status", 7).exit_code == 2
    assert tenure("hold", "answer", "one", "--go-on").exit_code == 2


def test_an_unknown_question_matches_nothing(tenure: Run) -> None:
    """An answer to a question that nobody asked ends as nothing matched."""
    assert tenure("hold", "answer", 99, "--go-on").exit_code == 5
