"""What is told of an error: its words, and the lines it came from, the author's marked."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenure.base.errors import Misused
from tenure.flow.signals import seconds
from tenure.worker import trace
from tenure.worker.trace import TRACEBACK_LIMIT, told

_HERE = "tests/worker/test_trace.py"


def _raised(act: Callable[[], object]) -> Exception:
    try:
        act()
    except Exception as error:  # noqa: BLE001 - whichever it is
        return error
    raise AssertionError("nothing was raised")


def _own(traceback: str | None) -> list[str]:
    """The lines with the author's mark."""
    return [line for line in (traceback or "").splitlines() if line.lstrip(" |+").startswith(">")]


def _inner(value: object) -> object:
    return json.dumps(value)


def _outer(value: object) -> object:
    try:
        return _inner(value)
    except TypeError as error:
        raise ValueError("it cannot be kept") from error


def test_words_and_lines_are_told_apart() -> None:
    """The error's own words stand alone; the lines tell the way there, and through a cause."""
    found = told(_raised(lambda: _outer(object())))
    assert (found.error_class, found.error) == ("ValueError", "it cannot be kept")
    assert found.traceback is not None
    assert "The above exception was the direct cause" in found.traceback
    assert found.traceback.endswith("ValueError: it cannot be kept")
    lines = [line for line in _own(found.traceback) if "File" not in line]
    assert lines[:2] == [">   return _inner(value)", ">   return json.dumps(value)"]
    assert lines[-1] == '>   raise ValueError("it cannot be kept") from error'
    assert f'> File "{_HERE}", line' in found.traceback
    assert '  File "' in found.traceback  # a library's line, without a mark


def test_lines_of_tenure_are_not_the_authors() -> None:
    """What leads into Tenure is marked, and what lies within is not."""
    nothing: Any = None
    error = _raised(lambda: seconds(nothing))
    assert isinstance(error, Misused)
    lines = told(error).traceback or ""
    assert "> File" in lines
    assert "tenure/flow/signals.py" in lines
    assert not any("signals.py" in line for line in _own(lines))


def test_of_a_long_way_the_authors_last_lines_are_kept() -> None:
    """Recursion through a library: its lines go first, then the oldest; the last one stays."""

    def descend(n: int) -> object:
        step: Callable[[int], object] = descend if n else _fail
        return json.loads("[1]", object_hook=None, parse_int=lambda _: step(n - 1))

    def _fail(n: int) -> object:
        raise LookupError(f"at the bottom {n}")

    found = told(_raised(lambda: descend(100))).traceback or ""
    assert len(found.encode()) <= TRACEBACK_LIMIT
    assert found.startswith("[cut: ")
    assert found.endswith("LookupError: at the bottom -1")
    assert _own(found)[-1] == '>   raise LookupError(f"at the bottom {n}")'
    assert "json/decoder.py" not in found


def test_endless_recursion_is_told_in_a_few_lines() -> None:
    """A line that repeats is told once, with how often."""

    def endless() -> object:
        return endless()

    found = told(_raised(endless)).traceback or ""
    assert "times]" in found
    assert len(found.splitlines()) < 20


def test_a_group_tells_each_of_its_errors() -> None:
    """What a task group gathered is told one by one, with the author's lines marked."""

    async def each(n: int) -> None:
        raise ValueError(f"number {n}")

    async def gathered() -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(3):
                group.create_task(each(n))

    found = told(_raised(lambda: asyncio.run(gathered()))).traceback or ""
    assert all(f"ValueError: number {n}" in found for n in range(3))
    assert sum("raise ValueError" in line for line in _own(found)) == 3


def test_secrets_are_taken_out_before_anything_is_cut() -> None:
    """No part of a secret is left, wherever the cut falls."""
    secret = "sesame-" * 10

    def hide(text: str) -> str:
        return text.replace(secret, "{secret:S}")

    for before in range(63_900, 64_000, 7):
        words = "x" * before + secret
        found = told(_raised(functools.partial(_say, words)), hide)
        assert "sesame" not in found.error
        assert "sesame" not in (found.traceback or "")


def _say(words: str) -> object:
    raise ValueError(words)


class Odd(Exception):
    """An error whose words cannot be had."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


def test_an_error_without_words_is_told_by_its_class() -> None:
    """Whatever its words raise, the error has a class and a way there."""

    def act() -> object:
        raise Odd

    found = told(_raised(act))
    assert (found.error_class, found.error) == (
        "Odd",
        "Odd cannot be printed (KeyboardInterrupt)",
    )
    assert "raise Odd" in (found.traceback or "")


@given(words=st.text(max_size=3_000), times=st.integers(1, 30))
def test_whatever_an_error_says_can_be_stored(words: str, times: int) -> None:
    """No NUL and no lone surrogate is left, and nothing is longer than its limit."""
    found = told(_raised(lambda: _say(words * times)))
    for said, limit in ((found.error, trace.ERROR_LIMIT), (found.traceback, TRACEBACK_LIMIT)):
        assert said is not None
        assert "\0" not in said
        assert len(said.encode()) <= limit
