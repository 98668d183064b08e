"""``tenure retry``, ``tenure replay`` and ``tenure cancel``."""

from __future__ import annotations

import getpass
import uuid

from tests.cli.conftest import Row, Run, told
from tests.store.scene import Scene


def failed(scene: Scene) -> uuid.UUID:
    """A job that has failed."""
    job = scene.running()
    scene.finish(job, "failed", error_class="ValueError", error="no")
    return job.id


def test_a_failed_job_is_retried(tenure: Run, scene: Scene) -> None:
    """A retry says what the job was, and is done in the name that was given."""
    job = failed(scene)
    done = tenure("retry", job, "--as", "bob", "--reason", "mended")
    assert (done.exit_code, done.stdout) == (0, f"{job} retried (it was failed)\n")
    [row] = scene.audit(f"job:{job}")
    assert (row["actor"], row["reason"], row["origin"]) == ("bob", "mended", "cli")


def test_without_a_name_an_act_is_the_users(tenure: Run, scene: Scene) -> None:
    """Without --as, the account's own name stands in the audit row."""
    job = scene.enqueue()
    tenure("cancel", job)
    assert scene.audit(f"job:{job}")[0]["actor"] == getpass.getuser()


def test_a_job_is_cancelled_or_its_worker_asked(tenure: Run, scene: Scene) -> None:
    """A job that nobody runs is cancelled at once; of a running one it is asked."""
    running = scene.running()
    ready = scene.enqueue()
    assert tenure("cancel", ready).stdout == f"{ready} cancelled\n"
    assert tenure("cancel", running.id).stdout == f"{running.id} asked of its worker\n"


def test_a_job_is_replayed_as_a_new_one(tenure: Run, scene: Scene) -> None:
    """A replay says which job it made, and that one says what it is a replay of."""
    job = failed(scene)
    done = tenure("replay", job, "--as", "bob", "--json")
    [row] = told(done, list[Row])
    new = uuid.UUID(str(row["done"]).removeprefix("replayed as "))
    assert scene.row(new)["replay_of"] == job
    assert f"by bob as a replay of {job}" in tenure("explain", new).stdout


def test_many_are_not_acted_on_unasked(tenure: Run, scene: Scene) -> None:
    """Where nobody can be asked, an act on many says what it would do, and does nothing."""
    first, second = scene.enqueue(), scene.enqueue()
    done = tenure("cancel", first, second)
    assert done.exit_code == 2
    assert f"Cancel {first}\nCancel {second}\n" in done.stderr
    assert "There is nobody to ask: add --yes." in done.stderr
    assert scene.row(first)["state"] == "ready"


def test_many_are_acted_on_with_yes(tenure: Run, scene: Scene) -> None:
    """With --yes each is an act of its own; one named twice is acted on once."""
    first, second = scene.enqueue(), scene.enqueue()
    done = tenure("cancel", first, second, first, "--yes")
    assert done.exit_code == 0
    assert done.stdout == f"{first} cancelled\n{second} cancelled\n"
    assert len(scene.audit(f"job:{first}")) == 1


def test_what_is_refused_stops_no_other(tenure: Run, scene: Scene) -> None:
    """Of many, what can be done is done; what was refused is told, and the exit code says so."""
    first, second = failed(scene), scene.enqueue()
    done = tenure("retry", second, first, "--yes", "--json")
    assert done.exit_code == 4
    assert f"error: job {second} has not ended" in done.stderr
    assert '"done": "retried (it was failed)"' in done.stdout


def test_acts_as_json_are_json_alone(tenure: Run, scene: Scene) -> None:
    """With --json standard output holds what was done alone."""
    job = scene.enqueue()
    done = told(tenure("cancel", job, "--json"), list[Row])
    assert done == [{"job_id": str(job), "done": "cancelled"}]


def test_an_unknown_job_matches_nothing(tenure: Run) -> None:
    """An act on a job that does not exist ends as nothing matched."""
    done = tenure("retry", uuid.uuid4())
    assert done.exit_code == 5
    assert done.stderr.startswith("error: unknown job (")


def test_a_name_that_cannot_be_printed_is_refused(tenure: Run, scene: Scene) -> None:
    """A name with control characters would deceive whoever reads the audit."""
    job = scene.enqueue()
    assert tenure("cancel", job, "--as", "bob\x1b[2J").exit_code == 2
    assert scene.row(job)["state"] == "ready"


def test_a_filters_jobs_are_told_before_anything_is_done(tenure: Run, scene: Scene) -> None:
    """Without --yes and without a terminal, the act says what it would do, and ends as usage."""
    first, second = sorted((failed(scene), failed(scene)))
    done = tenure("retry", "--automation", "lead", "--state", "failed")
    assert done.exit_code == 2
    assert done.stderr.startswith(
        f"Retry 2 jobs:\n  lead, failed: 2\nThe first: {first}, {second}\n"
        "They run under the same keys: what is done is remembered and not sent again.\n"
    )
    assert "Retry 2 jobs? There is nobody to ask: add --yes." in done.stderr
    assert scene.row(first)["state"] == "failed"


def test_a_filters_jobs_are_acted_on_with_yes(tenure: Run, scene: Scene) -> None:
    """With --yes all that match are one act, and what it came to is one line."""
    failed(scene)
    failed(scene)
    done = tenure("retry", "--error-class", "ValueError", "--since", "1h", "--yes", "--as", "bob")
    assert (done.exit_code, done.stdout) == (0, "2 jobs done (2 failed)\n")
    [row] = scene.audit("jobs")
    assert (row["actor"], row["origin"], row["after"]["done"]) == ("bob", "cli", 2)


def test_a_preview_changes_nothing_and_can_be_json(tenure: Run, scene: Scene) -> None:
    """With --preview the act is told and not done; a replay tells what would be sent again."""
    job = scene.running()
    scene.called(job, "create-deal", "done", 201)
    scene.finish(job, "succeeded")
    done = tenure("replay", "--state", "succeeded", "--preview")
    assert done.exit_code == 0
    assert done.stdout.endswith(
        "New jobs with new keys: sent again: POST /deals to crm, 1 times.\n"
    )
    shown = told(tenure("replay", "--state", "succeeded", "--preview", "--json"), Row)
    assert (shown["jobs"], shown["first"]) == (1, [str(job.id)])
    assert len(scene.database.execute("select 1 from tenure.jobs")) == 0


def test_what_is_refused_among_many_is_told(tenure: Run, scene: Scene) -> None:
    """What was refused is said with its reason; the exit code is that of a refusal."""
    doubt, _ = scene.in_doubt()
    failed(scene)
    done = tenure("retry", "--automation", "lead", "--yes", "--json")
    assert done.exit_code == 4
    assert f"refused: job {doubt.id} is held over a call that is in doubt" in done.stderr
    assert '"refused": 1' in done.stdout


def test_nothing_that_matches_is_said(tenure: Run, scene: Scene) -> None:
    """A filter that matches nothing ends as nothing matched."""
    done = tenure("cancel", "--tag", "none", "--yes")
    assert done.exit_code == 5
    assert done.stderr.startswith("error: no job matches: there is nothing to cancel\n")


def test_a_state_that_an_act_cannot_be_on_is_refused(tenure: Run, scene: Scene) -> None:
    """To retry what has succeeded is refused in one line that says what can be."""
    done = tenure("retry", "--state", "succeeded", "--yes")
    assert done.exit_code == 4
    assert "A retry is on jobs that are failed, held." in done.stderr


def test_ids_and_filters_are_not_mixed_and_one_is_needed(tenure: Run, scene: Scene) -> None:
    """Naming nothing never means everything; naming both is a usage error."""
    job = scene.enqueue()
    assert "all of them are never meant" in tenure("cancel", "--yes").stderr
    mixed = tenure("cancel", job, "--error-class", "X", "--yes")
    assert (mixed.exit_code, scene.row(job)["state"]) == (2, "ready")
    assert "--error-class goes with a filter" in mixed.stderr
