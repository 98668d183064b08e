"""An emulator in a process of its own can be killed, frozen and asked from outside."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tenure.testing.emulators import (
    Config,
    DetachedEmulator,
    EmulatorError,
    KeyRule,
    Limit,
    NotRunning,
    NotSeen,
    Plan,
)
from tests.testing.hand import Crowd

_LIMIT = Limit(50, per=3_600.0)


@pytest.fixture
def detached() -> Iterator[DetachedEmulator]:
    """A plain emulator with keys and a wide limit, in its own process."""
    with DetachedEmulator(Config(limits=(_LIMIT,), keys=True)) as emulator:
        yield emulator


def test_the_ledger_of_another_process_reads_like_ones_own(
    client: httpx2.Client, detached: DetachedEmulator
) -> None:
    """Arrivals, effects, duplicates, peaks, faults, limits and the clock are within reach."""
    url = f"{detached.url}/deals"
    fault = detached.fault("drop_after", "/deals", times=1)
    with pytest.raises(httpx2.RemoteProtocolError):
        client.post(url, headers={"Idempotency-Key": "k"})
    again = client.post(url, headers={"Idempotency-Key": "k"})
    assert again.headers["Idempotent-Replayed"] == "true"
    assert fault.used == 1
    assert [effect.key for effect in detached.effects] == ["k"]
    assert [arrival.outcome for arrival in detached.arrivals] == ["dropped", "answered"]
    detached.advance(86_400.0)
    client.post(url, headers={"Idempotency-Key": "k"})
    assert len(detached.duplicates()) == 1
    assert detached.duplicates(by=lambda effect: effect.effect_id) == ()
    detached.set_limits(Limit(1, per=3_600.0))
    assert [client.get(url).status_code for _ in range(2)] == [200, 429]
    assert detached.peak(_LIMIT) == 3
    assert detached.summary()["counts"] == detached.ledger.counts()
    assert detached.connections == 2


def test_facts_and_gates_are_waited_for_across_processes(detached: DetachedEmulator) -> None:
    """A gate in the other process holds requests until this one lets them go."""
    with Crowd(2) as crowd:
        gate = detached.hold("/deals", when="after")
        hung = detached.fault("hang", "/notes")
        held = crowd.post(f"{detached.url}/deals")
        note = crowd.post(f"{detached.url}/notes")
        gate.wait_arrived()
        record = detached.wait_for(lambda it: len(it.arrivals) == 2)
        assert [effect.path for effect in record.effects] == ["/deals"]
        gate.release()
        hung.release()
        assert [held.result().status_code, note.result().status_code] == [201, 201]
        with pytest.raises(NotSeen):
            gate.wait_arrived(2, timeout=0.05)
        with pytest.raises(NotSeen):
            detached.wait_for(lambda it: len(it.effects) == 3, timeout=0.05)


def test_a_killed_provider_breaks_off_and_may_come_back_empty(client: httpx2.Client) -> None:
    """``kill -9`` ends a request under way; on the same address a new one knows nothing."""
    emulator = DetachedEmulator(Config()).start()
    with Crowd(1) as crowd:
        gate = emulator.hold("/deals")
        answer = crowd.post(f"{emulator.url}/deals")
        gate.wait_arrived()
        pid, url = emulator.pid, emulator.url
        emulator.kill()
        with pytest.raises(httpx2.HTTPError):
            answer.result()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(httpx2.ConnectError):
        client.get(f"{url}/deals")
    with pytest.raises(NotRunning):
        emulator.freeze()
    with emulator.start():
        assert emulator.url == url
        assert emulator.arrivals == ()


def test_a_frozen_provider_takes_connections_and_answers_none(detached: DetachedEmulator) -> None:
    """Frozen, it neither refuses nor answers; thawed, it answers what came meanwhile."""
    with Crowd(1) as crowd:
        detached.freeze()
        answer = crowd.post(f"{detached.url}/deals")
        with pytest.raises(TimeoutError):
            answer.result(timeout=0.2)
        detached.thaw()
        assert answer.result().status_code == 201


def test_it_ends_with_whoever_started_it() -> None:
    """A provider whose starter dies, however it dies, does not stay behind."""
    source = (
        "import os, signal\n"
        "from tenure.testing.emulators import DetachedEmulator\n"
        "print(DetachedEmulator().start().pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    starter = subprocess.run([sys.executable, "-c", source], capture_output=True, check=False)
    assert starter.returncode == -signal.SIGKILL
    with suppress(ProcessLookupError):  # it may have been quicker than we
        end = os.pidfd_open(int(starter.stdout))
        assert select.select([end], [], [], 10.0)[0] == [end]
        os.close(end)


def test_a_configuration_that_cannot_work_is_told_at_the_start() -> None:
    """What the process had to say about its configuration is in the error."""
    with pytest.raises(EmulatorError, match="unknown profile"):
        DetachedEmulator(Config(profile="strip")).start()


def test_the_command_serves_a_file_of_several(client: httpx2.Client, tmp_path: Path) -> None:
    """One line of JSON says where each of them listens; SIGTERM ends them in good order."""
    config = tmp_path / "emulators.json"
    plan = {"kind": "error_before", "status": 503}
    config.write_text(
        json.dumps(
            [
                {"profile": "stripe", "limits": [{"units": 1, "per": 60.0}]},
                {"name": "crm", "keys": False, "faults": [plan], "distance": 0.001},
            ]
        )
    )
    command = [sys.executable, "-m", "tenure.testing.emulators", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        assert line["pid"] == process.pid
        assert line["url"] == line["urls"]["stripe"]
        charges = f"{line['urls']['stripe']}/v1/charges"
        assert [client.post(charges).status_code for _ in range(2)] == [200, 429]
        assert client.post(f"{line['urls']['crm']}/deals").status_code == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(10.0) == 0


@pytest.mark.parametrize("text", ['{"colour": "red"}', "{", '{"limits": [{"units": 0}]}'])
def test_the_command_refuses_what_it_does_not_understand(text: str) -> None:
    """A configuration with a mistake ends the command with 78 and a sentence."""
    command = [sys.executable, "-m", "tenure.testing.emulators", "--config", "-"]
    ended = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (78, b"")
    assert b"Traceback" not in ended.stderr
    assert len(ended.stderr) > 10


def test_a_configuration_survives_its_journey(client: httpx2.Client) -> None:
    """Limits, key rules and faults mean the same in the other process."""
    limits = (Limit(2, per=60.0, match="/deals"),)
    faults = (Plan("refuse", path="/deals", status=422),)
    config = Config(limits=limits, keys=KeyRule(window=5.0, mismatch=422), faults=faults)
    with DetachedEmulator(config) as emulator:
        url = f"{emulator.url}/deals"
        headers = {"Idempotency-Key": "k"}
        statuses = [client.post(url, headers=headers).status_code for _ in range(3)]
        assert statuses == [422, 201, 429]
        assert client.post(f"{emulator.url}/b", headers=headers).status_code == 422
