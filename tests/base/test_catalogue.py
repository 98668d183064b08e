"""The catalogue: entries that are sound, say where they come from, and answer for operations."""

from __future__ import annotations

import itertools
import re
import uuid
from datetime import date
from importlib import resources

import pytest

from tenure.base import catalogue, keys
from tenure.base.budget import units
from tenure.base.entries import FORM_ALPHABETS, FORM_LENGTHS, Entry
from tenure.base.errors import ConfigurationError, UnknownName

NAMES = catalogue.names()

SOUND = """
title = "Acme"
as_of = 2026-10-01
source = "its documentation"
base_url = "https://api.acme.example/v1"
hosts = ["api.acme.example", "*.acme.example"]
safe = ["POST /v1/search", "/v1/read"]
unsafe = ["GET /v1/fire", "/v1/read/once"]
[[budgets]]
name = "account"
limit = 10
per = 1
[[keys]]
where = "header"
name = "Idempotency-Key"
form = "hex64"
max_length = 64
window = 3600
honors = ["POST /v1/*"]
[[keys]]
where = "header"
name = "Idempotency-Key"
form = "uuid"
max_length = 36
window = 7200
honors = ["POST /v1/refunds"]
[[answers]]
status = [429]
kind = "throttled"
budget = "account"
why = "too many"
[[hints]]
form = "retry_after"
"""


def changed(old: str, new: str) -> str:
    """The sound entry with one thing made different."""
    assert old in SOUND
    return SOUND.replace(old, new, 1)


def acme() -> Entry:
    """The sound entry, loaded."""
    return catalogue.parse("acme", SOUND)


def test_what_ships() -> None:
    """The catalogue ships the entries it is documented to ship, the generic one among them."""
    assert {"generic", "github", "hubspot", "resend", "slack", "stripe"} <= set(NAMES)
    assert sorted(NAMES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_sound(name: str) -> None:
    """Every entry loads and carries its date, its source, budgets and examples."""
    entry = catalogue.load(name)
    assert entry.name == name
    assert entry.as_of >= date(2026, 1, 1)
    assert entry.source
    assert entry.budgets
    states = {example.state for example in entry.examples}
    assert "throttled" in states
    assert "refused" in states or "unknown" in states


def test_every_file_is_an_entry() -> None:
    """Nothing lies in the folder of the catalogue that is not an entry."""
    files = {one.name for one in resources.files("tenure").joinpath("catalogue").iterdir()}
    assert files == {f"{name}.toml" for name in NAMES}


def test_no_host_has_two_providers() -> None:
    """A host belongs to one entry, so that a credential can belong to one host."""
    hosts = [host for name in NAMES for host in catalogue.load(name).hosts]
    for one, other in itertools.combinations(hosts, 2):
        assert one != other


def test_key_forms_are_as_long_as_they_are_made() -> None:
    """The lengths that entries are checked with are those of the keys that leave."""
    key = keys.child_key(uuid.UUID(int=7), "charge")
    assert {form: len(keys.wire(key, form)) for form in FORM_LENGTHS} == FORM_LENGTHS


def test_key_forms_are_made_of_the_characters_they_are_said_to_be_made_of() -> None:
    """The alphabets that entries are checked with are those of the keys that leave."""
    known = {
        "url": r"[A-Za-z0-9_-]+",
        "alphanumeric": r"[A-Za-z0-9]+",
        "hex": r"[0-9a-f]+",
        "uuid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        "any": r".+",
    }
    # A key whose forms use every character that they can.
    key = "fb" * 16 + "0123456789abcdef" * 2
    found = {
        form: {name for name, text in known.items() if re.fullmatch(text, keys.wire(key, form))}
        for form in FORM_ALPHABETS
    }
    assert found == FORM_ALPHABETS


@pytest.mark.parametrize(
    ("where", "name"), [("body", "meta.key"), ("body", "nonce"), ("query", "requestid")]
)
def test_a_key_may_stand_in_the_body_or_the_query(where: str, name: str) -> None:
    """An entry says where its provider looks for keys, operation by operation."""
    text = changed(
        'where = "header"\nname = "Idempotency-Key"\nform = "uuid"',
        f'where = "{where}"\nname = "{name}"\nform = "uuid"',
    )
    entry = catalogue.parse("acme", text)
    rule = catalogue.honors(entry, "POST", "/v1/refunds")
    assert rule is not None
    assert (rule.where, rule.name) == (where, name)
    other = catalogue.honors(entry, "POST", "/v1/charges")
    assert other is not None
    assert other.where == "header"


def test_an_unknown_provider_names_the_nearest() -> None:
    """A misspelt provider is an error that offers the real one; a path is no name."""
    with pytest.raises(UnknownName) as caught:
        catalogue.load("stirpe")
    assert "'stripe'" in caught.value.hint
    with pytest.raises(UnknownName):
        catalogue.load("../catalogue/stripe")


@pytest.mark.parametrize(
    ("text", "field", "nearest"),
    [
        (changed("base_url", "base_ulr"), "base_ulr", "base_url"),
        (changed("limit = 10", "limit = 10\nheadrom = 1"), "headrom", "headroom"),
        (changed("max_length", "max_lenght"), "max_lenght", "max_length"),
        (changed("kind", "kinds"), "kinds", "kind"),
        (changed('form = "retry_after"', 'from = "retry_after"'), "from", "form"),
        (SOUND + "[sandbox]\nbaseurl = 'x'\n", "baseurl", "base_url"),
        (changed('why = "too many"', 'why = "x"\nfeilds = {}'), "feilds", "fields"),
    ],
)
def test_a_misspelt_field_names_the_nearest(text: str, field: str, nearest: str) -> None:
    """A field that no entry has is an error at any depth, with the field that was meant."""
    with pytest.raises(UnknownName) as caught:
        catalogue.parse("acme", text)
    assert repr(field) in caught.value.message
    assert "acme" in caught.value.message
    assert repr(nearest) in caught.value.hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = ", "cannot be read"),
        (changed("as_of = 2026-10-01\n", ""), "as_of"),
        (changed('source = "its documentation"\n', ""), "source"),
        (changed('"its documentation"', '" "'), "source"),
        (changed("max_length = 64", 'max_length = 64\nalphabet = "uuid"'), "'uuid' has not"),
        (changed('where = "header"', 'where = "trailer"'), "where"),
        (changed('"header"\nname = "Idempotency-Key"', '"body"\nname = "a..b"'), "name"),
        (changed('"header"\nname = "Idempotency-Key"', '"query"\nname = ""'), "name"),
        (changed("as_of = 2026-10-01", 'as_of = "lately"'), "as_of"),
        (changed("max_length = 64", "max_length = 63"), "64 characters exceed the 63"),
        (changed('form = "hex64"', 'form = "hex65"'), "hex65"),
        (changed("window = 3600", "window = 0"), "window (0.0)"),
        (changed('honors = ["POST /v1/*"]', "honors = []"), "honors"),
        (changed('honors = ["POST /v1/*"]', 'honors = ["POST v1"]'), "'POST v1'"),
        (changed('name = "Idempotency-Key"', 'name = "Idempotency Key"'), "Idempotency Key"),
        (changed("limit = 10", "limit = 0"), "limit (0)"),
        (changed("per = 1\n", ""), "kept yet"),
        (changed("per = 1", 'per = 1\nreset = "calendar"'), "kept yet"),
        (changed('budget = "account"', 'budget = "acount"'), "'acount'"),
        (changed('kind = "throttled"', 'kind = "refused"'), "closes none"),
        (changed("status = [429]", "status = []"), "status"),
        (changed("status = [429]", "status = [42]"), "status"),
        (changed("status = [429]", "status = [429]\nat_least = -1"), "at_least (-1.0)"),
        (changed("status = [429]", 'status = [429]\ncontains = ""'), "contains"),
        (changed('form = "retry_after"', 'form = "epoch"'), "header"),
        (changed('form = "retry_after"', 'form = "fixed"'), "seconds"),
        (changed('form = "retry_after"', 'form = "retry_after"\nseconds = 1'), "seconds"),
        (changed("https://", "http://"), "base_url"),
        (changed("https://api.acme", "https://api.other"), "base_url"),
        (changed('"api.acme.example"', '"https://api.acme.example"'), "hosts"),
        (changed('"/v1/read"', '"read"'), "'read'"),
        (SOUND + '[[budgets]]\nname = "account"\nlimit = 1\nper = 9\n', "two budgets"),
        ('name = "apex"\n' + SOUND, "'apex'"),
    ],
)
def test_an_unsound_entry_is_refused_when_loaded(text: str, says: str) -> None:
    """What contradicts the provider, itself or this release is an error before any call is made."""
    with pytest.raises(ConfigurationError) as caught:
        catalogue.parse("acme", text)
    assert says in str(caught.value)
    assert "acme" in caught.value.message


@pytest.mark.parametrize(
    ("name", "method", "path", "window"),
    [
        ("stripe", "POST", "/v1/charges", 86_400),
        ("stripe", "POST", "/v2/core/accounts", 2_592_000),
        ("stripe", "GET", "/v1/charges", None),
        ("stripe", "DELETE", "/v1/customers/cus_1", None),
        ("resend", "POST", "/emails", 86_400),
        ("resend", "POST", "/emails/batch", 86_400),
        ("resend", "POST", "/emails/49a3999c/cancel", None),
        ("resend", "POST", "/domains", None),
        ("slack", "POST", "/api/chat.postMessage", None),
        ("hubspot", "POST", "/crm/v3/objects/contacts", None),
        ("github", "POST", "/repos/o/r/issues", None),
        ("generic", "POST", "/", None),
    ],
)
def test_where_a_repeat_is_absorbed(
    name: str, method: str, path: str, window: float | None
) -> None:
    """A key counts only on the operations that honour it, for as long as the provider says."""
    rule = catalogue.honors(catalogue.load(name), method, path)
    assert (rule.window if rule else None) == window


def test_the_narrower_key_rule_counts() -> None:
    """Where two key rules speak about an operation, the one that names it more closely counts."""
    refunds = catalogue.honors(acme(), "POST", "/v1/refunds")
    charges = catalogue.honors(acme(), "POST", "/v1/charges")
    assert refunds is not None
    assert charges is not None
    assert (refunds.form, charges.form) == ("uuid", "hex64")


@pytest.mark.parametrize(
    ("method", "path", "declared", "safe"),
    [
        ("GET", "/v1/charges", None, True),
        ("head", "/v1/charges", None, True),
        ("OPTIONS", "/v1/charges", None, True),
        ("POST", "/v1/charges", None, False),
        ("DELETE", "/v1/charges", None, False),
        ("TRACE", "/v1/charges", None, False),
        ("POST", "/v1/search", True, True),
        ("POST", "/v1/search/../charges", None, False),
        ("GET", "/v1/fire", False, False),
        ("GET", "/v1/%66ire/", False, False),
        ("POST", "/v1/read/all", True, True),
        ("GET", "/v1/read/once", False, False),
    ],
)
def test_what_is_safe(method: str, path: str, *, declared: bool | None, safe: bool) -> None:
    """The entry's word counts over the method's, the narrower over the wider."""
    assert catalogue.declared_safe(acme(), method, path) is declared
    assert catalogue.is_safe(acme(), method, path) is safe


def test_among_equals_unsafe_counts() -> None:
    """An operation that is called both safe and unsafe is unsafe."""
    entry = catalogue.parse("acme", changed('"GET /v1/fire"', '"POST /v1/search"'))
    assert not catalogue.is_safe(entry, "POST", "/v1/search")


@pytest.mark.parametrize(
    ("method", "path", "safe"),
    [
        ("GET", "/api/chat.postMessage", False),
        ("HEAD", "/api/chat.postMessage", False),
        ("POST", "/api/conversations.history", True),
        ("GET", "/api/users.list", True),
        ("GET", "/api/files.getUploadURLExternal", False),
    ],
)
def test_a_get_that_acts_is_unsafe(method: str, path: str, *, safe: bool) -> None:
    """Where a provider lets a GET act, no GET is safe that is not known to read."""
    assert catalogue.is_safe(catalogue.load("slack"), method, path) is safe


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.stripe.com", "stripe"),
        ("API.Stripe.com.", "stripe"),
        ("slack.com", "slack"),
        ("evil-slack.com", None),
        ("stripe.com", None),
        ("example.com", None),
    ],
)
def test_whose_host_it_is(host: str, name: str | None) -> None:
    """A host is told by its whole name, in any case; what is nobody's is nobody's."""
    entry = catalogue.of_host(host)
    assert (entry.name if entry else None) == name


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("api.acme.example", True),
        ("eu.acme.example", True),
        ("a.b.acme.example", True),
        ("test.acme.dev", True),
        ("acme.example", False),
        ("evilacme.example", False),
        ("acme.example.evil.com", False),
        ("", False),
    ],
)
def test_a_wildcard_host(host: str, *, expected: bool) -> None:
    """A wildcard stands for names below a domain, never for a domain that merely ends alike."""
    entry = catalogue.parse("acme", SOUND + '[sandbox]\nhosts = ["test.acme.dev"]\n')
    assert catalogue.serves(entry, host) is expected


def test_the_generic_entry_is_caution() -> None:
    """A host nobody declared gets one request a second, no key, and no host of its own."""
    entry = catalogue.load(catalogue.GENERIC)
    assert [(units(one), one.per) for one in entry.budgets] == [(1, 1.0)]
    assert entry.keys == ()
    assert entry.hosts == ()
    assert entry.base_url is None
