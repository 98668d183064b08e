"""A job that fails comes back later and later, up to the cap and no further."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.backoff import Backoff
from tenure.base.errors import ConfigurationError

rules = st.builds(
    lambda base, factor, more, jitter: Backoff(base, factor, base + more, jitter),
    st.floats(0.001, 1e6),
    st.floats(1, 1e6),
    st.floats(0, 1e9),
    st.sampled_from(["full", "none"]),
)


def test_the_default_doubles_to_an_hour() -> None:
    """5 s, 10 s, 20 s … up to 3600 s."""
    ceilings = [Backoff().ceiling(failures) for failures in (1, 2, 3, 10, 11, 10_000)]
    assert ceilings == [5, 10, 20, 2_560, 3_600, 3_600]


@given(rule=rules, failures=st.integers(1, 10_000), uniform=st.floats(0, 1))
def test_the_ceiling_never_falls_and_never_passes_the_cap(
    rule: Backoff, failures: int, uniform: float
) -> None:
    """However often a job failed, its delay is a number between nothing and the ceiling."""
    ceiling = rule.ceiling(failures)
    assert rule.base <= ceiling <= rule.ceiling(failures + 1) <= rule.cap
    delay = rule.delay(failures, uniform)
    assert delay == (ceiling * uniform if rule.jitter == "full" else ceiling)


def test_a_factor_of_one_stays_where_it_is() -> None:
    """A rule that does not grow is allowed, and does not grow."""
    rule = Backoff(base=7.0, factor=1.0)
    assert [rule.ceiling(failures) for failures in (0, 1, 10_000)] == [7, 7, 7]


@pytest.mark.parametrize(
    "rule",
    [
        {"base": 0.0},
        {"base": -1.0},
        {"factor": 0.5},
        {"cap": 1.0},
        {"cap": float("inf")},
        {"base": float("nan")},
        {"factor": float("inf")},
        {"jitter": "some"},
    ],
)
def test_a_rule_that_cannot_work_is_refused(rule: dict[str, object]) -> None:
    """A rule that shrinks, has no end or an unknown jitter is refused when it is declared."""
    with pytest.raises(ConfigurationError):
        Backoff(**rule)  # type: ignore[arg-type]  # the mistakes under test
