"""What is printed shows no credential, whatever it is called and wherever it stands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base import redact
from tenure.base.conceal import Concealment
from tenure.base.redact import MASK

KNOWN = Concealment({"CRM": "s3cr3t-value"})

SENSITIVE = [
    "Authorization",
    "Proxy-Authorization",
    "Cookie",
    "Set-Cookie",
    "X-Api-Key",
    "apikey",
    "X-Auth-Key",
    "Ocp-Apim-Subscription-Key",
    "X-Gitlab-Token",
    "access_token",
    "accessToken",
    "X-Amz-Security-Token",
    "client_secret",
    "X-Hook-Secret",
    "Webhook-Signature",
    "Stripe-Signature",
    "X-Hub-Signature-256",
    "PAYPAL-TRANSMISSION-SIG",
    "password",
    "X-Amz-Credential",
]
HARMLESS = [
    "Accept",
    "Content-Type",
    "Idempotency-Key",
    "webhook-id",
    "webhook-timestamp",
    "X-Request-Id",
    "author",
    "max_tokens",
    "design",
    "monkey",
    "www-authenticate",
]


@pytest.mark.parametrize("name", SENSITIVE)
def test_credentials_are_known_by_their_names(name: str) -> None:
    """The value of a header named like a credential is gone, in whatever case the name is."""
    for written in (name, name.lower(), name.upper()):
        assert redact.headers([(written, "hush")]) == ((written, MASK),)


@pytest.mark.parametrize("name", HARMLESS)
def test_other_names_keep_their_values(name: str) -> None:
    """What an operator needs to read is left."""
    assert redact.headers([(name, "value")]) == ((name, "value"),)


def test_a_known_value_is_hidden_under_any_name() -> None:
    """A secret that strays into a harmless place is still found."""
    headers = [("X-Debug", "key s3cr3t-value!"), ("Accept", "*/*")]
    assert redact.headers(headers, KNOWN) == (("X-Debug", "key {secret:CRM}!"), ("Accept", "*/*"))
    assert (
        redact.url("https://a.example/s3cr3t-value/x", KNOWN) == "https://a.example/{secret:CRM}/x"
    )
    assert redact.body(b"log: s3cr3t-value", KNOWN) == "log: {secret:CRM}"
    assert redact.body(b'{"note": "s3cr3t-value"}', KNOWN) == '{"note":"{secret:CRM}"}'


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://a.example/x?q=1&page=2", "https://a.example/x?q=1&page=2"),
        (
            "https://a.example/x?access_token=hush&q=1",
            f"https://a.example/x?access_token={MASK}&q=1",
        ),
        ("https://a.example/x?q=1&key=hush", f"https://a.example/x?q=1&key={MASK}"),
        ("https://a.example/x?access%5Ftoken=hush", f"https://a.example/x?access%5Ftoken={MASK}"),
        ("https://a.example/x#id_token=hush", f"https://a.example/x#id_token={MASK}"),
        (
            "https://a.example/x?a=1#access_token=hush",
            f"https://a.example/x?a=1#access_token={MASK}",
        ),
        ("https://a.example/x?sig=hush&se=2", f"https://a.example/x?sig={MASK}&se=2"),
        ("https://user:hush@a.example/x", f"https://user:{MASK}@a.example/x"),
        ("https://user:hu@sh@a.example/x", f"https://user:{MASK}@a.example/x"),
        ("https://a.example:8443/x?to=b@c.example", "https://a.example:8443/x?to=b@c.example"),
        ("https://a.example/x?token=", "https://a.example/x?token="),
        ("https://a.example/x?token=hu;sh&q=1", f"https://a.example/x?token={MASK}&q=1"),
        ("https://a.example/x?q=1;token=hush", f"https://a.example/x?q=1;token={MASK}"),
        ("not an address", "not an address"),
    ],
)
def test_an_address_keeps_all_but_its_credentials(address: str, shown: str) -> None:
    """Passwords and credentials in the query are masked; order and encoding stay."""
    assert redact.url(address) == shown


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b'{"user":"a","password":"hush"}', f'{{"user":"a","password":"{MASK}"}}'),
        (b'[{"auth":{"api_key":["hush"]}}]', f'[{{"auth":{{"api_key":"{MASK}"}}}}]'),
        (b"grant_type=x&client_secret=hush", f"grant_type=x&client_secret={MASK}"),
        (b"{broken: token=hush", "{broken: token=hush"),
        (b"plain words", "plain words"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_a_body_is_shown_without_its_credentials(content: bytes, shown: str) -> None:
    """JSON and forms lose what is named like a credential; anything else is shown as text."""
    assert redact.body(content) == shown


@given(st.binary(max_size=60) | st.just(b"[" * 100_000))
def test_any_body_can_be_shown(content: bytes) -> None:
    """Whatever the bytes are, there is text for them that can be printed."""
    redact.body(content, KNOWN).encode("utf-8", "surrogatepass")


plain = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*HARMLESS, "token"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(plain)
def test_nothing_below_a_credential_is_left(value: object) -> None:
    """At any depth the content of a credential's field is gone, and the rest is there."""
    shown = redact.fields({"secret": value, "kept": value})
    assert isinstance(shown, dict)
    assert shown["secret"] == MASK
    assert '"token": 1' not in json.dumps(shown)
    assert redact.fields(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:hush@h:5432/db", f"postgresql://u:{MASK}@h:5432/db"),
        ("postgresql://u:hu/s@h#?@h/db", f"postgresql://u:{MASK}@h/db"),
        ("postgresql://u@h/db?password=hush&sslmode=require",
         f"postgresql://u@h/db?password={MASK}&sslmode=require"),
        ("postgresql://h:5432/db", "postgresql://h:5432/db"),
        ("postgresql:///db?host=/run/pg", "postgresql:///db?host=/run/pg"),
        ("host=h password=hush&more dbname=db", f"host=h password={MASK} dbname=db"),
        ("host=h password = 'hu \\' sh' dbname=db", f"host=h password = {MASK} dbname=db"),
        ("PASSWORD='hush", f"PASSWORD={MASK}"),
        ("sslpassword=hush", f"sslpassword={MASK}"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_database_address_shows_no_password(text: str, shown: str) -> None:
    """Both forms of address keep everything but their passwords."""
    assert redact.dsn(text) == shown
