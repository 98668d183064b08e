"""Distance delays what passes and changes nothing else."""

from __future__ import annotations

import httpx2
import pytest

from tenure.base import clock
from tenure.testing.emulators import Distance, Emulator, NotRunning, generic
from tests.testing.hand import Crowd

_ONE_WAY = 0.15


def test_a_request_arrives_late_and_its_answer_later(client: httpx2.Client) -> None:
    """Arrival is one way after the sending, the answer two; on a new connection and a kept one."""
    with Emulator(generic()) as emulator, Distance(emulator.url, _ONE_WAY) as distance:
        for _ in range(2):
            sent = clock.now()
            assert client.post(f"{distance.url}/deals").status_code == 201
            assert clock.now() - sent >= 2 * _ONE_WAY
            assert emulator.arrivals[-1].at - sent >= _ONE_WAY
        assert emulator.connections == 1


def test_an_emulator_can_be_far_away_itself(client: httpx2.Client) -> None:
    """``distance`` puts the same relay in front, and the near address behind it stays near."""
    with Emulator(generic(), distance=_ONE_WAY) as emulator:
        sent = clock.now()
        client.post(f"{emulator.url}/deals")
        assert emulator.arrivals[0].at - sent >= _ONE_WAY
        assert client.post(f"{emulator.near_url}/deals").status_code == 201
        assert len(emulator.effects) == 2


def test_order_and_bytes_are_kept_under_jitter(client: httpx2.Client) -> None:
    """However unevenly chunks are delayed, what comes out is what went in."""
    body = bytes(range(256)) * 4_000
    with (
        Emulator(generic()) as emulator,
        Distance(emulator.url, 0.001, jitter=0.02, seed=3) as distance,
    ):
        note = {"text": body.decode("latin-1")}
        made = client.post(f"{distance.url}/notes", json=note).json()
        assert made["text"] == note["text"]
        assert client.get(f"{distance.url}/notes/{made['id']}").json() == made


def test_a_dropped_connection_is_dropped_at_a_distance_too(client: httpx2.Client) -> None:
    """The end of a connection travels as bytes do, behind the effect."""
    with Emulator(generic()) as emulator, Distance(emulator.url, 0.05) as distance:
        emulator.fault("drop_after")
        sent = clock.now()
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post(f"{distance.url}/deals")
        assert clock.now() - sent >= 0.1
        assert len(emulator.effects) == 1


def test_a_cut_cable_keeps_what_was_sent_until_it_is_mended() -> None:
    """Nobody is told of a cut; what was on its way arrives when the cable is whole again."""
    with (
        Emulator(generic()) as emulator,
        Distance(emulator.url, 0.01) as distance,
        Crowd(1) as crowd,
    ):
        distance.cut()
        answer = crowd.post(f"{distance.url}/deals")
        with pytest.raises(TimeoutError):
            answer.result(timeout=0.2)
        assert emulator.arrivals == ()
        distance.mend()
        assert answer.result().status_code == 201


def test_a_severed_connection_ends_on_both_sides() -> None:
    """The client's request ends with an error, the provider's side is told that it has left."""
    with (
        Emulator(generic()) as emulator,
        Distance(emulator.url, 0.01) as distance,
        Crowd(1) as crowd,
    ):
        fault = emulator.fault("hang")
        answer = crowd.post(f"{distance.url}/deals")
        fault.gate.wait_arrived()
        distance.sever()
        with pytest.raises(httpx2.HTTPError):
            answer.result()
        emulator.wait_for(lambda it: it.arrivals[0].outcome == "gone")
        assert emulator.effects == ()


def test_nothing_behind_a_relay_ends_the_connection(client: httpx2.Client) -> None:
    """Where the far side is down, the near connection is taken and then ends."""
    with Emulator(generic()) as emulator:
        url = emulator.url
    with Distance(url, 0.01) as distance, pytest.raises(httpx2.HTTPError):
        client.get(f"{distance.url}/deals")


def test_a_relay_that_does_not_run_says_so() -> None:
    """Cutting a cable that nobody laid is an error with a hint."""
    with pytest.raises(NotRunning):
        Distance("http://127.0.0.1:1", 0.1).cut()
