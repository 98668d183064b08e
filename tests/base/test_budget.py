"""Budgets: the arithmetic that keeps below a limit, and declarations that cannot be kept."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.budget import Budget, reserved, scope_value, send_window, units, window
from tenure.base.errors import ConfigurationError


def test_the_declaration_reads_as_documented() -> None:
    """Limit and time are positional, all else is named and has its documented default."""
    parameters = inspect.signature(Budget).parameters
    by_place = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]
    assert by_place == ["limit", "per"]
    assert {name: one.default for name, one in parameters.items() if name != "limit"} == {
        "per": None,
        "name": None,
        "scope": "account",
        "match": None,
        "cost": 1,
        "headroom": 0.9,
        "jitter": None,
        "reset": "rolling",
        "zone": None,
        "reserve": 0.2,
    }


@pytest.mark.parametrize(
    ("budget", "counted", "seconds"),
    [
        # limit * headroom is whole: fewer units in the time as declared, and its jitter.
        (Budget(100, 10), 90, 10.25),
        (Budget(10, 1), 9, 1.1),
        (Budget(100, 1, headroom=0.29), 29, 1.1),
        (Budget(7, 2, headroom=1), 7, 2.2),
        (Budget(100, timedelta(minutes=1)), 90, 60.25),
        # It is not: the full limit in a longer time.
        (Budget(5, 1), 5, 1 / 0.9 * 1.1),
        (Budget(1, 1), 1, 1 / 0.9 * 1.1),
        (Budget(25, 60, headroom=0.5), 25, 120.25),
        # A declared jitter is taken as it is.
        (Budget(100, 10, jitter=2), 90, 12.0),
        (Budget(100, 10, jitter=timedelta(milliseconds=10)), 90, 10.01),
    ],
)
def test_units_and_window(budget: Budget, counted: int, seconds: float) -> None:
    """Headroom takes units away where that is whole, and stretches the window where it is not."""
    assert units(budget) == counted
    assert window(budget) == pytest.approx(seconds)


@given(
    limit=st.integers(1, 100_000),
    per=st.floats(0.001, 90_000),
    percent=st.integers(1, 100),
    jitter=st.none() | st.floats(0.001, 5),
)
def test_never_more_than_declared(
    limit: int, per: float, percent: int, jitter: float | None
) -> None:
    """Whatever arrives within ``per`` was admitted within one window, so it keeps below the limit.

    A request arrives at most a send window after its admission; and in the long run no more than
    the share that headroom leaves is admitted.
    """
    budget = Budget(limit, per, headroom=percent / 100, jitter=jitter)
    assert 1 <= units(budget) <= limit
    assert window(budget) >= per + send_window(budget)
    assert units(budget) / window(budget) <= limit * (percent / 100) / per * (1 + 1e-9)


@pytest.mark.parametrize(
    ("budget", "seconds"),
    [
        (Budget(10, 1), 0.1),
        (Budget(100, 10), 0.25),
        (Budget(100, 10, jitter=1), 1.0),
        (Budget(100, 10, jitter=5), 2.0),
    ],
)
def test_the_send_window_is_never_longer_than_the_jitter(budget: Budget, seconds: float) -> None:
    """A call leaves within the jitter its budget allows for, within 2 s at the latest."""
    assert send_window(budget) == pytest.approx(seconds)
    assert send_window(budget, default=0.05) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("budget", "kept"), [(Budget(100, 10), 18), (Budget(1, 1), 0), (Budget(10, 1, reserve=0), 0)]
)
def test_the_reserve(budget: Budget, kept: int) -> None:
    """The reserve is a share of the units counted, in whole units, never more than the share."""
    assert reserved(budget) == kept


@pytest.mark.parametrize(
    ("budget", "name"),
    [
        (Budget(100, 10), "100/10s"),
        (Budget(5, 0.5), "5/0.5s"),
        (Budget(5000, timedelta(hours=1)), "5000/3600s"),
        (Budget(5, 1, name="team"), "team"),
    ],
)
def test_every_budget_has_a_name(budget: Budget, name: str) -> None:
    """A budget that was given no name is called by its limit and time."""
    assert budget.name == name


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"limit": 0, "per": 1}, "limit (0)"),
        ({"limit": -5, "per": 1}, "limit (-5)"),
        ({"limit": 1.5, "per": 1}, "limit (1.5)"),
        ({"limit": True, "per": 1}, "limit (True)"),
        ({"limit": 2**31, "per": 1}, "limit (2147483648)"),
        ({"limit": 1, "per": 0}, "per (0)"),
        ({"limit": 1, "per": -1.0}, "per (-1.0)"),
        ({"limit": 1, "per": float("nan")}, "per (nan)"),
        ({"limit": 1, "per": float("inf")}, "per (inf)"),
        ({"limit": 1, "per": 10**400}, "per (1000"),
        ({"limit": 1, "per": "10s"}, "per ('10s')"),
        ({"limit": 1, "per": timedelta(0)}, "per"),
        ({"limit": 1, "per": 1, "jitter": 0}, "jitter (0)"),
        ({"limit": 1, "per": 1, "headroom": 0}, "headroom (0)"),
        ({"limit": 1, "per": 1, "headroom": True}, "headroom (True)"),
        ({"limit": 1, "per": 1, "headroom": 1.1}, "headroom (1.1)"),
        ({"limit": 1, "per": 1, "headroom": float("nan")}, "headroom (nan)"),
        ({"limit": 1, "per": 1, "reserve": 1}, "reserve (1)"),
        ({"limit": 1, "per": 1, "reserve": -0.1}, "reserve (-0.1)"),
        ({"limit": 1, "per": 1, "cost": 0}, "cost (0)"),
        ({"limit": 10, "per": 1, "cost": 10}, "cost (10)"),
        ({"limit": 1, "per": 1, "name": " "}, "name (' ')"),
        ({"limit": 1, "per": 1, "scope": "token"}, "scope ('token')"),
        ({"limit": 1, "per": 1, "scope": "path:id"}, "scope ('path:id')"),
        ({"limit": 1, "per": 1, "match": "charges"}, "'charges'"),
    ],
)
def test_what_is_no_budget(arguments: dict[str, Any], says: str) -> None:
    """What cannot be kept is refused where it is declared, with field, value and hint."""
    with pytest.raises(ConfigurationError) as caught:
        Budget(**arguments)
    assert says in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": 5},
        {"limit": 5, "per": 1, "reset": "bucket"},
        {"limit": 5, "per": 1, "reset": "calendar"},
        {"limit": 5, "per": 1, "zone": "Europe/Rome"},
    ],
)
def test_nothing_is_declared_and_then_ignored(arguments: dict[str, Any]) -> None:
    """What is not kept yet is refused in one line that says so."""
    with pytest.raises(ConfigurationError, match=r"kept yet") as caught:
        Budget(**arguments)
    assert "\n" not in str(caught.value)


def test_which_calls_draw_on_it() -> None:
    """A budget without a match is drawn on by every call, one with a match by those it names."""
    assert Budget(5, 1).matches("DELETE", "/anything")
    assert Budget(5, 1, match="POST /v1/*").matches("POST", "/v1/charges")
    assert not Budget(5, 1, match="POST /v1/*").matches("GET", "/v1/charges")


def test_one_count_for_an_account() -> None:
    """Under the scope ``account`` every operation of an account draws on one count."""
    budget = Budget(5, 1)
    assert scope_value(budget, "main", "POST", "/a", "POST /a") == "main"
    assert scope_value(budget, "main", "GET", "/b/1") == "main"


def test_one_count_for_an_operation() -> None:
    """Under the scope ``operation`` ids make no difference, methods, templates, accounts do."""
    budget = Budget(5, 1, scope="operation")
    first = scope_value(budget, "main", "GET", "/v1/charges/ch_1")
    assert first == scope_value(budget, "main", "GET", "/v1/charges/ch_2")
    assert first == "main GET /v1/charges/{}"
    assert first != scope_value(budget, "main", "POST", "/v1/charges/ch_1")
    assert first != scope_value(budget, "test", "GET", "/v1/charges/ch_1")
    declared = scope_value(budget, "main", "GET", "/v1/charges/ch_1", "GET /v1/charges/{id}")
    assert declared == "main GET /v1/charges/{id}"


def test_one_count_for_a_path_variable() -> None:
    """Under ``path:name`` calls that name the same thing share a count, whatever they do to it."""
    budget = Budget(5, 1, scope="path:base", match="/v0/{base}")
    first = scope_value(budget, "main", "GET", "/v0/app1/tasks")
    assert first == scope_value(budget, "main", "POST", "/v0/app1") == "main app1"
    assert first != scope_value(budget, "main", "GET", "/v0/app2/tasks")
