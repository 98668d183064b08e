"""One effect has one key, and no two effects share one."""

from __future__ import annotations

import hashlib
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.errors import StepError, UnknownName
from tenure.base.keys import FORMS, STEP_NAME_LIMIT, check_step_name, child_key, wire

JOB = uuid.UUID("0199c0de-0000-7000-8000-000000000001")

# Few and confusable letters, so that names begin and end like one another.
tricky = st.text("a:1\u00e9 -", min_size=1, max_size=6)
names = tricky | st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=STEP_NAME_LIMIT
)
effects = st.tuples(
    st.sampled_from([JOB, uuid.UUID(int=0), uuid.UUID(int=1)]), names, st.integers(0, 12)
)


def test_the_key_is_what_is_written_down() -> None:
    """The rule is fixed for ever: SHA-256 of job, colon, step, and of a line feed and the epoch."""
    text = "0199c0de-0000-7000-8000-000000000001:create-deal"
    assert child_key(JOB, "create-deal") == hashlib.sha256(text.encode()).hexdigest()
    assert child_key(JOB, "create-deal", 2) == hashlib.sha256(f"{text}\n2".encode()).hexdigest()


@given(first=effects, second=effects)
def test_distinct_effects_have_distinct_keys(
    first: tuple[uuid.UUID, str, int], second: tuple[uuid.UUID, str, int]
) -> None:
    """The same job, step and epoch give the same key, and whatever differs gives another."""
    assert (child_key(*first) == child_key(*second)) == (first == second)


@given(st.lists(effects, unique=True, min_size=2, max_size=50))
def test_no_form_makes_two_keys_one(all_effects: list[tuple[uuid.UUID, str, int]]) -> None:
    """Distinct effects stay distinct in every shape that providers take."""
    for form in FORMS:
        assert len({wire(child_key(*effect), form) for effect in all_effects}) == len(all_effects)


SHAPES = {
    "hex64": r"[0-9a-f]{64}",
    "base64url43": r"[A-Za-z0-9_-]{43}",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "hex32": r"[0-9a-f]{32}",
    "hex25": r"[0-9a-f]{25}",
}


@given(effects)
def test_each_form_has_its_length_and_alphabet(effect: tuple[uuid.UUID, str, int]) -> None:
    """A provider gets exactly the shape that was declared for it."""
    assert FORMS.keys() == SHAPES.keys()
    for form, shape in SHAPES.items():
        assert re.fullmatch(shape, wire(child_key(*effect), form))


def test_forms_are_fixed_for_ever() -> None:
    """A key that was sent before an upgrade is sent again in the same shape after it."""
    key = "00112233445566778899aabbccddeeff" * 2
    assert {form: wire(key, form) for form in FORMS} == {
        "hex64": key,
        "base64url43": "ABEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v8",
        "uuid": "00112233-4455-8677-8899-aabbccddeeff",
        "hex32": "00112233445566778899aabbccddeeff",
        "hex25": "00112233445566778899aabbc",
    }
    assert uuid.UUID(wire(key, "uuid")).version == 8


def test_an_unknown_form_names_the_nearest() -> None:
    """A misspelt form is answered with the one that was probably meant."""
    with pytest.raises(UnknownName, match="Did you mean 'hex64'"):
        wire("00" * 32, "hex46")


def test_an_epoch_cannot_be_written_into_a_name() -> None:
    """A name that imitates an epoch is refused, so it cannot take another effect's key."""
    with pytest.raises(StepError, match=r"U\+000A"):
        child_key(JOB, "a\n1")
    with pytest.raises(StepError, match="below zero"):
        child_key(JOB, "a", -1)


@pytest.mark.parametrize("character", ["\0", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\udcff"])
def test_control_characters_are_refused(character: str) -> None:
    """No name holds a control character or a lone surrogate; the message says which."""
    for name in (character, f"a{character}b", f"a{character}"):
        with pytest.raises(StepError, match=rf"U\+{ord(character):04X}") as caught:
            check_step_name(name)
        assert caught.value.hint
        str(caught.value).encode()


@pytest.mark.parametrize("name", ["", "x" * (STEP_NAME_LIMIT + 1)])
def test_a_name_has_its_bounds(name: str) -> None:
    """Nothing is no name, and one character more than the limit is too long."""
    with pytest.raises(StepError, match=f"has {len(name)} characters") as caught:
        check_step_name(name)
    assert caught.value.hint


@pytest.mark.parametrize("name", [None, 1, b"step"])
def test_a_name_is_text(name: object) -> None:
    """What is no text is refused by its type."""
    with pytest.raises(StepError, match=type(name).__name__):
        check_step_name(name)  # type: ignore[arg-type]  # the mistake under test


@given(names)
def test_all_other_names_are_taken(name: str) -> None:
    """Any text of 1 to 200 characters without control characters is a name."""
    check_step_name(name)
    check_step_name("x" * STEP_NAME_LIMIT)
