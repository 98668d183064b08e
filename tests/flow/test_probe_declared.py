"""Probes as they are declared: by operation, one each, and part of what an automation does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure.base.errors import ConfigurationError
from tenure.flow import provider
from tenure.flow.call import Body, build
from tests.flow.test_version import of

SOURCE = """
from tenure import Tenure

app = Tenure()
crm = app.provider("crm", base_url="https://crm.example.com")

@crm.probe("POST /deals")
async def look(ctx, sent):
    return 1

async def lead(ctx, amount):
    await ctx.http(crm).post("/deals", step="deal")
"""


def test_a_probe_is_part_of_the_version(tmp_path: Path) -> None:
    """What is asked of a call in doubt decides what is sent: another probe, another version."""
    assert of(tmp_path, SOURCE) == of(tmp_path, SOURCE.replace("return 1", "return 1  # one"))
    assert of(tmp_path, SOURCE) != of(tmp_path, SOURCE.replace("return 1", "return 2"))


def test_the_narrowest_probe_is_asked_and_makes_the_policy() -> None:
    """By method and path, as budgets and keys are matched; a safe call needs none."""
    crm = provider.declare("crm", base_url="https://crm.example.com")

    @crm.probe("/deals")
    async def wide(ctx: object, sent: object) -> None: ...

    @crm.probe("POST /deals/{id}")
    async def narrow(ctx: object, sent: object) -> None: ...

    assert crm.probe_of("POST", "/deals/7") is narrow
    assert crm.probe_of("PUT", "/deals/7") is wide
    assert crm.probe_of("POST", "/notes") is None
    policies = [
        build(crm, method, path, body=Body(), step="x").policy
        for method, path in (("POST", "/deals/7"), ("GET", "/deals/7"), ("POST", "/notes"))
    ]
    assert policies == ["probe", "safe", "hold"]


def test_two_probes_for_one_operation_are_refused() -> None:
    """One of them would never be asked; and what is no operation names none."""
    crm = provider.declare("crm", base_url="https://crm.example.com", settle=1.5)
    assert crm.entry.settle == 1.5
    crm.probe("POST /deals")(print)
    with pytest.raises(ConfigurationError, match="two probes"):
        crm.probe("POST /deals")(print)
    with pytest.raises(ConfigurationError):
        crm.probe("the deals")
    with pytest.raises(ConfigurationError, match="settle"):
        provider.declare("crm", base_url="https://crm.example.com", settle=-1.0)
