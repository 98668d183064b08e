"""A source says what verifies its deliveries, and where their key is found."""

from __future__ import annotations

import pytest

from tenure.base.errors import ConfigurationError, UnknownName
from tenure.base.schemes import InBody, InHeader, preset
from tenure.base.secrets import env
from tenure.flow import source as sources


def test_the_key_is_where_the_scheme_says() -> None:
    """Nothing said, an event's key is the scheme's, and the events of one type can be named."""
    source = sources.declare("lead", scheme="standard-webhooks", secret=env("LEAD"))
    assert source.scheme == preset("standard-webhooks")
    assert source.event_key == "header:webhook-id"
    assert source.secrets == (env("LEAD"),)
    assert source["deal.won"] == "lead#deal.won"


def test_the_key_may_be_elsewhere_or_nowhere() -> None:
    """A header or path of the author's own takes the scheme's place; None: there is none."""
    for given, places in (
        ("header:X-Id", (InHeader("X-Id"),)),
        ("body:event.id", (InBody("event.id"),)),
        (None, ()),
    ):
        source = sources.declare(
            "lead", scheme="stripe", secret=[env("A"), env("B")], event_key=given
        )
        assert (source.scheme.event_id, source.event_key) == (places, given)
        assert source.scheme.signature == preset("stripe").signature


@pytest.mark.parametrize("event_key", ["id", "header:", "field:t", ""])
def test_a_key_that_is_nowhere_is_refused(event_key: str) -> None:
    """What names neither header nor path would make each delivery an event by mistake."""
    with pytest.raises(ConfigurationError, match="no place of an event's key"):
        sources.declare("lead", scheme="stripe", secret=env("A"), event_key=event_key)


@pytest.mark.parametrize("name", ["", "a/b", "a b", "ł", "a?"])
def test_a_name_that_no_address_can_hold_is_refused(name: str) -> None:
    """The name is the last part of the door's address, as it is."""
    with pytest.raises(ConfigurationError, match="part of its address"):
        sources.declare(name, scheme="stripe", secret=env("A"))


def test_there_is_no_source_that_verifies_nothing() -> None:
    """Neither a scheme that is none, nor a source without a secret, can be declared."""
    with pytest.raises(UnknownName):
        sources.declare("lead", scheme="none", secret=env("A"))
    with pytest.raises(ConfigurationError, match="no secret"):
        sources.declare("lead", scheme="stripe", secret=[])
