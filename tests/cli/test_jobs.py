"""``tenure jobs``, ``explain`` and ``enqueue``."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tenure.base.model import Declared, HandBack
from tenure.store import automations, events
from tenure.store.explain import Sentence
from tests.cli.conftest import Row, Run, shell, told
from tests.store.scene import Scene

_SCHEMA = (
    '{"type": "object", "required": ["name", "amount"], "properties": '
    '{"name": {"type": "string"}, "amount": {"type": "number"}}}'
)


class Explained(msgspec.Struct):
    """What ``explain --json`` prints."""

    job_id: str
    sentences: list[Sentence]


def test_a_job_by_hand_may_expire_and_have_tags(tenure: Run, scene: Scene) -> None:
    """--expires takes a moment or a length after it is due; --tag as often as there are tags."""
    words = ("enqueue", "lead", "--at", "10m", "--expires", "5m", "--tag", "a", "--tag", "b")
    job = uuid.UUID(tenure(*words).stdout.strip())
    row = scene.row(job)
    assert (row["expires_at"] - row["leased_until"], row["tags"]) == (
        timedelta(minutes=5),
        ["a", "b"],
    )
    wrong = tenure("enqueue", "lead", "--expires", "2001-01-01T00:00Z")
    assert (wrong.exit_code, "nobody could claim it" in wrong.stderr) == (4, True)


def test_jobs_are_listed_for_people(tenure: Run, scene: Scene) -> None:
    """The list has a line a job, with its whole id and its state, and no colour off a terminal."""
    job = scene.enqueue()
    done = tenure("jobs")
    head, line = done.stdout.splitlines()
    assert head.split() == ["job", "automation", "state", "why", "mode", "lane", "claims", "at"]
    assert line.split()[:5] == [str(job), "lead", "ready", "live", "free"]
    assert "\x1b" not in done.stdout


def test_jobs_as_json_are_json_alone(tenure: Run, scene: Scene) -> None:
    """With --json standard output holds the list alone, an empty one where nothing matches."""
    job = scene.enqueue()
    [found] = told(tenure("jobs", "--json"), list[Row])
    assert (found["id"], found["state"]) == (str(job), "ready")
    done = tenure("jobs", "--state", "failed", "--json")
    assert told(done, list[Row]) == []
    assert done.stderr == ""


def test_jobs_are_chosen_by_state_automation_and_lane(tenure: Run, scene: Scene) -> None:
    """Each filter chooses; what matches nothing is no error."""
    scene.enqueue()
    for words in (("--state", "held"), ("--automation", "other"), ("--lane", "crm")):
        done = tenure("jobs", *words)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "no job matches\n")
    assert tenure("jobs", "--state", "odd").exit_code == 2


def test_a_list_that_is_cut_says_so(tenure: Run, scene: Scene) -> None:
    """Where there are more jobs than are shown, standard error says how to see more."""
    scene.enqueue()
    scene.enqueue()
    done = tenure("jobs", "--limit", "1")
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == "the newest 1: ask for more with --limit\n"


def test_a_job_is_explained_with_its_state_first(tenure: Run, scene: Scene) -> None:
    """The state stands first and the way out beside it; the parts follow under their headings."""
    job, _ = scene.in_doubt()
    lines = tenure("explain", job.id).stdout.splitlines()
    assert lines[0].startswith("Held since ")
    assert "Answer it with: tenure hold answer" in lines[1]
    headings = [line for line in lines[1:] if line and not line.startswith(" ")]
    assert headings == ["The job", "Its claims", "Its calls", "A retry", "A replay"]


def test_a_job_is_explained_as_json(tenure: Run, scene: Scene) -> None:
    """With --json the sentences come with their parts and moments."""
    job = scene.enqueue()
    explained = told(tenure("explain", job, "--json"), Explained)
    assert explained.job_id == str(job)
    assert [line.part for line in explained.sentences] == ["state", "job", "retry", "replay"]
    assert explained.sentences[0].sentence.startswith("Ready since ")


def test_an_id_is_taken_whole_in_either_case(tenure: Run, scene: Scene) -> None:
    """Capital letters make no other id; a part of one is wrong usage, and no guess."""
    job = scene.enqueue()
    assert tenure("explain", str(job).upper()).exit_code == 0
    for wrong in (str(job)[:8], str(job).replace("-", ""), f"{{{job}}}", "x"):
        done = tenure("explain", wrong)
        assert done.exit_code == 2
        assert "is no job's id" in done.stderr


def test_an_unknown_job_matches_nothing(tenure: Run) -> None:
    """Explaining a job that does not exist ends as nothing matched."""
    done = tenure("explain", uuid.uuid4())
    assert done.exit_code == 5
    assert done.stderr.startswith("error: unknown job (")
    assert done.stdout == ""


def test_a_job_is_enqueued_by_hand(tenure: Run, scene: Scene) -> None:
    """The new job's id is what is printed; it is due now, in the name of who asked."""
    done = tenure("enqueue", "lead", '{"name": "ann"}', "--priority", "1", "--as", "ann")
    job = uuid.UUID(done.stdout.strip())
    row = scene.row(job)
    assert (row["state"], row["priority"], row["created_by"]) == ("ready", 1, "cli:ann")
    [kept] = scene.database.execute("select input from tenure.inputs")
    assert kept["input"] == {"name": "ann"}


def test_an_input_comes_from_a_file_or_standard_input(
    tenure: Run, scene: Scene, tmp_path: Path
) -> None:
    """``@FILE`` is a file's content and ``-`` is standard input's."""
    (tmp_path / "input.json").write_text('{"from": "file"}')
    tenure("enqueue", "lead", "@input.json")
    tenure("enqueue", "lead", "-", stdin=b'{"from": "stdin"}')
    rows = scene.database.execute("select input from tenure.inputs order by job_id")
    assert [row["input"]["from"] for row in rows] == ["file", "stdin"]
    assert tenure("enqueue", "lead", "@gone.json").exit_code == 2


def test_an_input_that_is_no_json_is_wrong_usage(tenure: Run, scene: Scene) -> None:
    """What is no JSON makes no job."""
    for wrong in ("{name: ann}", "", "NaN", "{} {}"):
        assert tenure("enqueue", "lead", wrong).exit_code == 2
    assert scene.database.execute("select 1 from tenure.jobs") == []


def test_a_key_that_is_taken_answers_with_its_job(tenure: Run, scene: Scene) -> None:
    """The second enqueue under a key prints the first one's job, and says so beside it."""
    first = tenure("enqueue", "lead", "{}", "--key", "deal-7")
    second = tenure("enqueue", "lead", "{}", "--key", "deal-7")
    assert second.stdout == first.stdout
    assert second.stderr == "the key is taken: this job holds it (deal-7)\n"
    again = told(tenure("enqueue", "lead", "{}", "--key", "deal-7", "--json"), Row)
    assert again == {"job_id": first.stdout.strip(), "created": False}


@pytest.mark.parametrize("at", ["2h", "2 h"])
def test_a_job_is_made_for_later(tenure: Run, scene: Scene, at: str) -> None:
    """A length of time counts from the database's clock."""
    job = uuid.UUID(tenure("enqueue", "lead", "--at", at).stdout.strip())
    due = scene.row(job)["leased_until"] - events.clock(scene.database)
    assert timedelta(hours=1, minutes=59) < due <= timedelta(hours=2)


def test_a_moment_needs_its_zone(tenure: Run, scene: Scene) -> None:
    """A moment with a zone is taken as it is; one without names no moment."""
    job = uuid.UUID(tenure("enqueue", "lead", "--at", "2099-12-24T09:00+01:00").stdout.strip())
    assert scene.row(job)["leased_until"].isoformat() == "2099-12-24T08:00:00+00:00"
    assert tenure("enqueue", "lead", "--at", "2099-12-24T09:00").exit_code == 2


def test_an_unknown_automation_matches_nothing(tenure: Run) -> None:
    """A name that nobody declared ends as nothing matched."""
    done = tenure("enqueue", "nobody", "{}")
    assert done.exit_code == 5
    assert done.stderr.startswith("error: unknown automation (nobody)")


def test_the_command_itself_prints_json_alone(database_url: str, scene: Scene) -> None:
    """Run as a user runs it, the list on standard output is JSON and standard error is silent."""
    job = scene.running()
    waits = '{"why": "sleep"}'
    scene.hand_back(HandBack(job.id, job.fence, "deferral", 60.0, waits=waits))
    done = shell("jobs", "--json", environment={"TENURE_DATABASE_URL": database_url})
    assert (done.returncode, done.stderr) == (0, "")
    assert f'"id": "{job.id}"' in done.stdout
    assert '"why": "sleep"' in done.stdout


def test_an_input_that_does_not_fit_is_refused_by_what_was_declared(
    tenure: Run, scene: Scene
) -> None:
    """Without the code at hand the declared schema decides, and no job is made."""
    declared = Declared(name="lead", version="v2", lane="free", input_schema=_SCHEMA)
    automations.declare(scene.database, declared, by="test")
    done = tenure("enqueue", "lead", '{"name": "ann", "amount": "a lot"}')
    assert (done.exit_code, done.stdout) == (4, "")
    error, hint = done.stderr.splitlines()
    assert error == (
        "error: the input does not fit (Expected number, got string - at `$.amount`, value 'a lot')"
    )
    assert hint == "Compare the value at that path with the automation's declared type."
    assert tenure("enqueue", "lead", "{}").exit_code == 4
    assert scene.database.execute("select 1 from tenure.jobs") == []
    assert tenure("enqueue", "lead", '{"name": "ann", "amount": 1}').exit_code == 0
