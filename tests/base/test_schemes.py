"""A scheme is data: it survives as JSON, tells its grade, and refuses to verify nothing."""

from __future__ import annotations

import msgspec
import pytest

from tenure.base.errors import ConfigurationError, UnknownName
from tenure.base.schemes import (
    PRESETS,
    InField,
    InHeader,
    Key,
    Scheme,
    Signature,
    Timestamp,
    preset,
)
from tenure.base.signing import sign
from tenure.base.verification import Secret, verify
from tests.base.deliveries import (
    FOREIGN,
    HUBSPOT_V1,
    HUBSPOT_V2,
    HUBSPOT_V3,
    MAILGUN,
    SLACK,
    SQUARE,
    TOKEN,
)

WEBHOOK_URI = "https://www.example.com/webhook_uri"
HUBSPOT_KEY = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy"
HUBSPOT_BODY = b"{'example_field':'example_value'}"
SQUARE_URL = "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9"
SQUARE_BODY = (
    b'{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification",'
    b'"event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f",'
    b'"created_at":"2022-07-13T20:30:59.037339943Z",'
    b'"data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}'
)
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
    b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
    b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"
    b"%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that a sender published, with the signature it should have."""

    scheme: Scheme
    secret: str
    body: bytes
    signature: str
    url: str = ""
    event_id: str = ""
    now: float = 0.0


# Sources: the test suites of the senders' own libraries, and their documentation.
EXAMPLES = [
    Example(
        scheme=preset("standard-webhooks"),
        secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        body=b'{"test": 2432232314}',
        signature="v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        now=1_614_265_330.0,
    ),
    Example(
        scheme=preset("github"),
        secret="It's a Secret to Everybody",
        body=b"Hello, World!",
        signature="sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        event_id="72d3162e-cc78-11e3-81ab-4c9367dc0958",
    ),
    Example(
        scheme=SLACK,
        secret="8f742231b10e8888abcd99yyyzzz85a5",
        body=SLACK_BODY,
        signature="v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        now=1_531_420_618.0,
    ),
    Example(
        scheme=SQUARE,
        secret="Ibxx_5AKakO-3qeNVR61Dw",
        body=SQUARE_BODY,
        signature="GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=",
        url=SQUARE_URL,
    ),
    Example(
        scheme=HUBSPOT_V1,
        secret=HUBSPOT_KEY,
        body=HUBSPOT_BODY,
        signature="69fc6631a867edd4f9e9e627fc5c1148e3fbdd8b21837b6d2b8901c1fa57f750",
    ),
    Example(
        scheme=HUBSPOT_V2,
        secret=HUBSPOT_KEY,
        body=HUBSPOT_BODY,
        signature="4fe4e3a7d3cf09db53be39d0a58130e2aaba074ec123a9e355b876a689a1c383",
        url=WEBHOOK_URI,
    ),
    Example(
        scheme=HUBSPOT_V3,
        secret=HUBSPOT_KEY,
        body=HUBSPOT_BODY,
        signature="HPW73RUtKmcYoEDADG0s6MmGFWUzWJKAW07r8RDgcQw=",
        url=WEBHOOK_URI,
        now=15_000.0,
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.scheme.name)
def test_published_examples_are_reproduced(example: Example) -> None:
    """What senders publish as right is what is signed here, to the byte, and is accepted."""
    secret = Secret("example", example.secret)
    headers = sign(
        example.scheme,
        example.body,
        secret,
        event_id=example.event_id,
        now=example.now,
        url=example.url,
    )
    assert headers[-1][1].decode() == example.signature
    verdict = verify(
        example.scheme,
        headers=headers,
        body=example.body,
        secrets=[secret],
        now=example.now,
        url=example.url,
    )
    assert (verdict.outcome, verdict.secret) == ("ok", "example")


@pytest.mark.parametrize("scheme", [*PRESETS.values(), *FOREIGN], ids=lambda scheme: scheme.name)
def test_a_scheme_survives_as_json(scheme: Scheme) -> None:
    """Kept in a row and read again, a scheme is the same scheme."""
    assert msgspec.json.decode(msgspec.json.encode(scheme), type=Scheme) == scheme


def test_grades_tell_what_a_signature_is_worth() -> None:
    """A: body and instant.  B: the body alone.  C: a secret that proves nothing about the body."""
    grades = {name: scheme.grade for name, scheme in PRESETS.items()}
    assert grades == {"standard-webhooks": "A", "stripe": "A", "github": "B", "hmac-sha256": "B"}
    assert (SQUARE.grade, MAILGUN.grade, TOKEN.grade) == ("B", "C", "C")
    unsigned = Timestamp(place=InHeader("X-Triggered-At"))
    assert msgspec.structs.replace(preset("github"), timestamp=unsigned).grade == "B"


@pytest.mark.parametrize(
    ("signature", "says"),
    [
        (Signature(places=()), "a place"),
        (Signature(places=(InHeader("x"),), name="v1"), "a joint"),
    ],
)
def test_a_scheme_that_cannot_verify_is_refused(signature: Signature, says: str) -> None:
    """A scheme without a place, a joint or anything signed is refused when it is declared."""
    with pytest.raises(ConfigurationError, match=says):
        Scheme(name="odd", signature=signature)
    with pytest.raises(ConfigurationError, match="anything that is signed"):
        Scheme(name="odd", signature=Signature(places=(InHeader("x"),)), signed=())


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        (Key(encoding="base64"), "hush!", "not written as base64"),
        (Key(encoding="base64"), "QUJD\n", "not written as base64"),
        (Key(encoding="hex"), "0g", "not written as hex"),
        (Key(encoding="hex"), "00 11", "not written as hex"),
        (Key(), "", "has 0 bytes"),
        (Key(least=24, most=64), "hush", "24 to 64"),
        (Key(), "hush\ud800", "not written as utf8"),
    ],
)
def test_a_bad_secret_is_explained_without_being_shown(key: Key, text: str, says: str) -> None:
    """The message says what is wrong with a secret; neither it nor its causes quote the secret."""
    with pytest.raises(ConfigurationError, match=says) as caught:
        key.decode(text)
    assert "hush" not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_prefix_may_be_left_out() -> None:
    """People copy a secret with its prefix or without: the key is the same."""
    key = preset("standard-webhooks").key
    text = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert key.decode(text) == key.decode("whsec_" + text)


def test_an_unknown_preset_names_the_nearest() -> None:
    """A misspelt name is answered with the one that was probably meant."""
    with pytest.raises(UnknownName, match="Did you mean 'standard-webhooks'"):
        preset("standard-webhook")


@pytest.mark.parametrize(
    ("scheme", "event_id"),
    [(preset("standard-webhooks"), ""), (preset("standard-webhooks"), "a.b")],
)
def test_what_would_not_be_accepted_is_not_signed(scheme: Scheme, event_id: str) -> None:
    """A delivery that verification would refuse is refused when it is to be made."""
    secret = Secret("s", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    with pytest.raises(ConfigurationError, match="webhook-id"):
        sign(scheme, b"{}", secret, event_id=event_id, now=0.0)


@pytest.mark.parametrize(
    "scheme", [MAILGUN, msgspec.structs.replace(preset("github"), algorithm="ed25519")]
)
def test_schemes_that_can_only_be_checked_say_so(scheme: Scheme) -> None:
    """A signature within the body, or an algorithm that is not built in, cannot be made here."""
    with pytest.raises(ConfigurationError, match="cannot be made"):
        sign(scheme, b"{}", Secret("s", "hush"), event_id="1", now=0.0)


def test_a_field_is_read_from_the_signature_alone() -> None:
    """A timestamp that is a field cannot be slipped in by a header of its name."""
    scheme = Scheme(
        name="fields",
        signature=Signature(places=(InHeader("s"),), separator=",", joint="=", name="v1"),
        timestamp=Timestamp(place=InField("t")),
    )
    headers = [(b"s", b"v1=00"), (b"t", b"1")]
    verdict = verify(scheme, headers=headers, body=b"", secrets=[Secret("s", "hush")], now=1.0)
    assert (verdict.outcome, verdict.where) == ("malformed", "t")
