"""How a claim is dealt out over lanes: in turn, the free lane first among equals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenure.base.model import Strand
from tenure.worker.dispatch import FREE, shares

_ROOMS = st.none() | st.integers(0, 30)
_LANES = st.sampled_from([FREE, FREE, "crm", "stripe", "github"])
_STRANDS = st.lists(st.tuples(_LANES, _ROOMS), min_size=1, max_size=12).map(
    lambda drawn: [Strand(n, lane, "", room) for n, (lane, room) in enumerate(drawn)]
)


def test_a_crowded_lane_leaves_the_others_their_turn() -> None:
    """Every lane may be crowded: each of four is asked for as many as the next."""
    strands = [Strand(n, lane, "", None) for n, lane in enumerate(["a", "b", "c", "d"])]
    assert shares(strands, 100) == {0: 25, 1: 25, 2: 25, 3: 25}
    assert sorted(shares(strands, 6).values()) == [1, 1, 2, 2]


def test_the_free_lane_has_half_and_what_nobody_can_take_goes_round() -> None:
    """Laned strands share the other half; where they cannot take it, the free lane does."""
    free, crm, stripe = Strand(1, FREE, "", None), Strand(2, "crm", "", 3), Strand(3, "s", "", None)
    assert shares([free, crm], 10) == {1: 7, 2: 3}
    assert shares([free, crm, stripe], 20) == {1: 10, 2: 3, 3: 7}
    assert shares([crm], 10) == {2: 3}


@given(_STRANDS, st.integers(0, 100))
def test_no_more_is_asked_for_than_there_is_room(strands: list[Strand], room: int) -> None:
    """Neither the process's room nor a lane's is exceeded, and nothing that fits is left."""
    quotas = shares(strands, room)
    taken = sum(quotas.values())
    able = [room if strand.room is None else strand.room for strand in strands]
    assert taken == min(room, sum(able))
    for strand in strands:
        assert strand.room is None or quotas.get(strand.id, 0) <= strand.room


@given(_STRANDS, st.integers(1, 100))
def test_laned_strands_differ_only_by_their_room(strands: list[Strand], room: int) -> None:
    """Of two laned strands with room left, neither is asked for two more than the other."""
    quotas = shares(strands, room)
    open_ = [
        quotas.get(strand.id, 0)
        for strand in strands
        if strand.lane != FREE and (strand.room is None or quotas.get(strand.id, 0) < strand.room)
    ]
    assert not open_ or max(open_) - min(open_) <= 1
