"""The demo's plan: what is delivered, and what must come of it."""

from __future__ import annotations

from collections import Counter

import pytest

from tenure.base import json
from tenure.cli.demo.automations import app
from tenure.cli.demo.events import Delivery, plan
from tenure.flow import inputs

_NOW = 1_800_000_000
_SOURCES = {
    "checkout.session.completed": "order",
    "charge.refunded": "refund",
    "customer.created": "digest",
    "invoice.payment_failed": "digest",
    "lead": "lead",
}


def test_the_same_seed_is_the_same_plan() -> None:
    """A demo that failed can be run again with the very events that it had."""
    assert plan(5.0, 7, _NOW) == plan(5.0, 7, _NOW)
    assert plan(5.0, 7, _NOW) != plan(5.0, 8, _NOW)


@pytest.mark.parametrize("seconds", [2.0, 6.0, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_plan_fits_what_the_providers_take(seconds: float, seed: int) -> None:
    """Mails and CRM calls together stay below the limits over the time, so that all of it ends."""
    effects = Counter(
        name.partition(" ")[0]
        for delivery in plan(seconds, seed, _NOW).genuine.values()
        for name in delivery.effects
    )
    mails = effects["resend/emails"]
    crm = sum(count for name, count in effects.items() if name.startswith("hubspot/"))
    assert mails <= 4.2 * seconds + 5
    assert crm <= 9.0 * seconds + 100


def test_deliveries_come_twice_early_and_wrongly_signed() -> None:
    """There is something to be found out about: repeats, repeats at once, overtakers, forgeries."""
    replay = plan(20.0, 1, _NOW)
    times: dict[str, list[float]] = {}
    for delivery in replay.deliveries:
        if delivery.genuine:
            times.setdefault(delivery.event, []).append(delivery.at)
    twice = [at for at in times.values() if len(at) == 2]
    assert 0.05 < len(twice) / len(times) < 0.12
    assert {first == second for first, second in twice} == {True, False}
    assert replay.overtaken > 0
    forged = [delivery for delivery in replay.deliveries if not delivery.genuine]
    assert {it.signed for it in forged} == {
        "right", "wrong_secret", "altered", "aged", "unsigned", "garbled",
    }  # fmt: skip
    assert not {it.event for it in forged} & set(times)
    assert not any(it.effects for it in forged)


def test_the_victim_comes_once_and_is_called_by_a_path_of_its_own() -> None:
    """The call that is kept waiting is one event's alone, whatever the seed and the length."""
    for seed in range(20):
        replay = plan(2.0 + seed, seed, _NOW)
        of_it = [it for it in replay.deliveries if it.event == replay.victim.event]
        assert [it.type for it in of_it] == ["charge.refunded"]
        charge = replay.victim.path.rpartition("/")[2].encode()
        refunds = [it for it in replay.deliveries if it.type == "charge.refunded" and it.genuine]
        assert [it.event for it in refunds if charge in it.body] == [replay.victim.event]


def _automation(delivery: Delivery) -> str:
    return _SOURCES[delivery.type]


def test_every_body_is_one_that_its_automation_reads() -> None:
    """What is delivered has the shape that the automations declare, and names its own event."""
    for delivery in plan(10.0, 3, _NOW).genuine.values():
        inputs.decode(delivery.body, app.automations[_automation(delivery)].input_type)
        if delivery.source == "stripe":
            event = json.convert(json.decode(delivery.body), dict[str, object])
            assert event["id"] == delivery.event
            assert {"api_version", "created", "livemode", "data", "type"} <= event.keys()
