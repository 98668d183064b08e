"""Only genuine deliveries are let in, and nothing that is sent can make verification stumble."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.delivery import HEADER_LIMIT, SIGNATURE_LIMIT, Outcome
from tenure.base.schemes import PRESETS, Scheme, preset
from tenure.base.signing import sign
from tenure.base.verification import Secret, Verdict, verify
from tests.base.deliveries import BOX, FOREIGN, HUBSPOT_V3, LINEAR, MAILGUN, TOKEN

NOW = 1_614_265_330.0
STANDARD, STRIPE, GITHUB, PLAIN = PRESETS.values()
KEY = "whsec_" + base64.b64encode(bytes(range(32))).decode()
SECRET = Secret("current", KEY)
HEX = Secret("current", "00ff" * 16)
BODY = b'{"id": "evt_1", "event_id": "e1", "webhookTimestamp": 1614265330000}'
OUTCOMES = set(get_args(Outcome))

Headers = list[tuple[bytes, bytes]]


def secret_for(scheme: Scheme) -> Secret:
    """A secret written as the scheme takes it."""
    return HEX if scheme.key.encoding == "hex" else SECRET


def signed(scheme: Scheme, body: bytes = BODY, *, now: float = NOW) -> Headers:
    """The headers of a genuine delivery."""
    return sign(scheme, body, secret_for(scheme), event_id="msg_1", now=now)


def judge(scheme: Scheme, headers: Headers, body: bytes = BODY, *, now: float = NOW) -> Verdict:
    """The verdict under the scheme's one secret."""
    return verify(scheme, headers=headers, body=body, secrets=[secret_for(scheme)], now=now)


SIGNABLE = [*PRESETS.values(), *(scheme for scheme in FOREIGN if scheme is not MAILGUN)]
by_name = pytest.mark.parametrize("scheme", SIGNABLE, ids=lambda scheme: scheme.name)


@by_name
def test_what_is_signed_is_accepted(scheme: Scheme) -> None:
    """A genuine delivery is accepted under every scheme, and says which secret matched."""
    verdict = judge(scheme, signed(scheme))
    assert (verdict.outcome, verdict.secret) == ("ok", "current")
    assert verdict.timestamp == (NOW if scheme.timestamp else None)


@by_name
@given(body=st.binary(max_size=64), id_=st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True))
def test_any_body_can_be_signed(scheme: Scheme, body: bytes, id_: str) -> None:
    """Bytes that are no text and no JSON are accepted as they are, where they need not be read."""
    if scheme is LINEAR:
        return
    headers = sign(scheme, body, secret_for(scheme), event_id=id_, now=NOW)
    assert judge(scheme, headers, body).outcome == "ok"


@by_name
def test_no_flipped_bit_is_accepted(scheme: Scheme) -> None:
    """Whichever bit of the body, the signature or the timestamp is turned, the delivery is out."""
    headers = signed(scheme)
    covered = {place.name for place in scheme.signature.places if hasattr(place, "name")}
    covered |= {part.name for part in scheme.signed if hasattr(part, "name")}
    for index, (name, value) in enumerate(headers):
        for turned in flips(value) if name.decode() in covered else ():
            forged = [*headers[:index], (name, turned), *headers[index + 1 :]]
            assert judge(scheme, forged).outcome != "ok", (name, turned)
    for turned in flips(BODY) if scheme is not TOKEN else ():
        assert judge(scheme, headers, turned).outcome == "bad_signature" or scheme is LINEAR
        assert judge(scheme, headers, turned).outcome != "ok"


def flips(content: bytes) -> list[bytes]:
    """The bytes with one bit turned, once for each bit."""
    whole = int.from_bytes(content)
    return [(whole ^ (1 << bit)).to_bytes(len(content)) for bit in range(8 * len(content))]


@pytest.mark.parametrize("scheme", [*PRESETS.values(), *FOREIGN], ids=lambda scheme: scheme.name)
@given(data=st.data())
def test_nothing_that_is_sent_makes_it_stumble(scheme: Scheme, data: st.DataObject) -> None:
    """Random bytes in every header and the body end in an outcome of the closed list, never ok."""
    names = [place.name for place in scheme.signature.places if hasattr(place, "name")]
    names += [part.name for part in (*scheme.signed, *scheme.event_id) if hasattr(part, "name")]
    raw = st.binary(max_size=40) | st.sampled_from([b"v1,", b"t=1,v1=", b"NaN", b"1e9", b"9" * 30])
    odd = raw | st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass"))
    pairs = st.tuples(st.sampled_from([name.encode() for name in names] or [b"x"]), odd)
    headers = data.draw(st.lists(pairs, max_size=6))
    body = data.draw(st.binary(max_size=40) | st.just(b"[" * 100_000) | st.just(BODY))
    now = data.draw(st.floats())
    verdict = judge(scheme, headers, body, now=now)
    assert verdict.outcome in OUTCOMES - {"ok"}
    assert verdict.event_key is None


STAMPS = [
    (b"", "malformed"),
    (b"NaN", "malformed"),
    (b"inf", "malformed"),
    (b"-1614265330", "malformed"),
    (b"+1614265330", "malformed"),
    (b"1614265330.5", "malformed"),
    (b"1_614_265_330", "malformed"),
    (b" 1614265330", "malformed"),
    ("١٦١٤٢٦٥٣٣٠".encode(), "malformed"),
    (b"9" * 400, "malformed"),
    (b"9" * (HEADER_LIMIT + 1), "too_large"),
    (b"9999999999999999", "future"),
    (b"0", "stale"),
]


@pytest.mark.parametrize(("stamp", "outcome"), STAMPS)
def test_a_timestamp_is_digits_or_nothing(stamp: bytes, outcome: Outcome) -> None:
    """An odd timestamp is refused even where it is signed, and a far one is stale or future."""
    text = b"msg_1." + stamp + b"." + BODY
    digest = hmac.digest(bytes(range(32)), text, "sha256")
    headers = [
        (b"webhook-id", b"msg_1"),
        (b"webhook-timestamp", stamp),
        (b"webhook-signature", b"v1," + base64.b64encode(digest)),
    ]
    assert judge(STANDARD, headers).outcome == outcome


@pytest.mark.parametrize(
    ("scheme", "past", "future"), [(STANDARD, 300, 300), (STRIPE, 300, 60), (HUBSPOT_V3, 300, 300)]
)
def test_both_bounds_of_time_hold(scheme: Scheme, past: int, future: int) -> None:
    """To the second of its tolerance a delivery is fresh; one second more and it is not."""
    headers = signed(scheme)
    for now, outcome in (
        (NOW + past, "ok"),
        (NOW + past + 1, "stale"),
        (NOW - future, "ok"),
        (NOW - future - 1, "future"),
        (float("nan"), "stale"),
        (float("inf"), "stale"),
        (float("-inf"), "future"),
    ):
        verdict = judge(scheme, headers, now=now)
        assert (now, verdict.outcome) == (now, outcome)
        assert verdict.secret == "current"


@by_name
def test_a_header_that_is_missing_or_there_twice_is_refused(scheme: Scheme) -> None:
    """Nothing is guessed: each header that matters must be there, once, in whatever case."""
    headers = signed(scheme)
    needed = {place.name for place in scheme.signature.places if hasattr(place, "name")}
    needed |= {part.name for part in scheme.signed if hasattr(part, "name")}
    for index, (name, value) in enumerate(headers):
        rest = [*headers[:index], *headers[index + 1 :]]
        if name.decode() not in needed:
            continue
        assert judge(scheme, rest) == Verdict("missing_header", where=name.decode())
        assert judge(scheme, [*headers, (name.upper(), value)]).outcome == "malformed"
        assert judge(scheme, [*rest, (name.swapcase(), value)]).outcome == "ok"
        assert judge(scheme, [*rest, (name, b"v1," * HEADER_LIMIT)]).outcome == "too_large"


@pytest.mark.parametrize(
    "value", [b"", b"garbage", b"v1", b"v1,", b"v1a,AAAA", b",", b" ", b"v1,\xff", b"v1,a\x00"]
)
def test_a_signature_that_is_none_is_malformed(value: bytes) -> None:
    """A header in which nothing of the scheme's kind stands is malformed, not merely wrong."""
    headers = [pair for pair in signed(STANDARD) if pair[0] != b"webhook-signature"]
    verdict = judge(STANDARD, [*headers, (b"webhook-signature", value)])
    assert verdict == Verdict("malformed", where="webhook-signature")


def test_one_good_signature_among_many_is_enough() -> None:
    """While a secret is rotated, senders sign with both: the right one is found wherever it is."""
    headers = dict(signed(STANDARD))
    good = headers[b"webhook-signature"]
    for value in (b"v1,AAAA v1a,xyz " + good, good + b" v1,AAAA", b"garbage  " + good):
        headers[b"webhook-signature"] = value
        assert judge(STANDARD, list(headers.items())).outcome == "ok"
    headers[b"webhook-signature"] = b" ".join([b"v1,A"] * SIGNATURE_LIMIT + [good])
    assert judge(STANDARD, list(headers.items())).outcome == "too_large"


def test_every_active_secret_is_tried() -> None:
    """The label of the secret that matched is given, in whatever order the secrets stand."""
    old = Secret("old", "whsec_" + base64.b64encode(b"o" * 24).decode())
    broken = Secret("broken", "whsec_!")
    for scheme in (STANDARD, STRIPE):
        headers = sign(scheme, BODY, old, event_id="msg_1", now=NOW)
        for secrets in ([old, SECRET, broken], [broken, SECRET, old]):
            verdict = verify(scheme, headers=headers, body=BODY, secrets=secrets, now=NOW)
            assert (verdict.outcome, verdict.secret) == ("ok", "old")
        verdict = verify(scheme, headers=headers, body=BODY, secrets=[SECRET], now=NOW)
        assert (verdict.outcome, verdict.secret) == ("bad_signature", None)


@pytest.mark.parametrize(
    "value",
    ["", "whsec_", "whsec_c2hvcnQ=", "whsec_" + "A" * 88, "whsec_A", "not base64 at all", "\ud800"],
)
def test_a_secret_that_makes_no_key_opens_nothing(value: str) -> None:
    """Empty, short, long and garbled secrets count as none, for an empty key signs for anybody."""
    secrets = [Secret("bad", value)]
    verdict = verify(STANDARD, headers=signed(STANDARD), body=BODY, secrets=secrets, now=NOW)
    assert verdict == Verdict("no_secret")
    empty = [Secret("empty", "")]
    forged = [(b"x-signature", hmac.digest(b"", BODY, "sha256").hex().encode())]
    verdict = verify(PLAIN, headers=forged, body=BODY, secrets=empty, now=NOW)
    assert verdict == Verdict("no_secret")
    assert verify(PLAIN, headers=forged, body=BODY, secrets=[], now=NOW) == Verdict("no_secret")


def test_an_id_cannot_run_on_into_the_next_part() -> None:
    """A signed text read with its parts parted elsewhere is refused, though its signature fits."""
    headers = dict(signed(STANDARD, b"1614265330.{}"))
    headers[b"webhook-id"] += b"." + headers[b"webhook-timestamp"]
    verdict = judge(STANDARD, list(headers.items()), b"{}")
    assert verdict == Verdict("malformed", where="webhook-id")


def test_stripe_takes_any_v1_and_no_v0() -> None:
    """Every v1 counts, v0 never does, and one timestamp must be named, once."""
    [(name, value)] = signed(STRIPE)
    stamp, _, good = value.partition(b",v1=")
    for written, outcome in (
        (b"%b,v1=bad,v1=%b" % (stamp, good), "ok"),
        (b"v1=%b,v0=bad,%b,v1=bad" % (good, stamp), "ok"),
        (b"%b,v0=%b" % (stamp, good), "malformed"),
        (b"v1=%b" % good, "malformed"),
        (b"%b,%b,v1=%b" % (stamp, stamp, good), "malformed"),
        (b"t=,v1=%b" % good, "malformed"),
        (b"%b, v1=%b" % (stamp, good), "malformed"),
    ):
        assert (written, judge(STRIPE, [(name, written)]).outcome) == (written, outcome)


def test_stripe_uses_the_secret_as_it_is_written() -> None:
    """The key is the secret's own text, whsec_ and all: an independent reckoning agrees."""
    mac = hmac.new(b"whsec_test_secret", b"1614265330." + BODY, hashlib.sha256).hexdigest()
    headers = [(b"Stripe-Signature", b"t=1614265330,v1=" + mac.encode())]
    secrets = [Secret("test", "whsec_test_secret")]
    verdict = verify(STRIPE, headers=headers, body=BODY, secrets=secrets, now=NOW)
    assert verdict == Verdict("ok", secret="test", event_key="evt_1", timestamp=NOW)


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b'{"id": "evt_1"}', "evt_1"),
        (b'{"id": 12345678901234567890123}', "12345678901234567890123"),
        (b'{"id": "\xc3\xa9"}', "é"),
        (b'{"id": ""}', None),
        (b'{"id": null}', None),
        (b'{"id": true}', None),
        (b'{"id": 1.5}', None),
        (b'{"id": ["evt_1"]}', None),
        (b'{"id": {"id": "evt_1"}}', None),
        (b'["id"]', None),
        (b"not JSON", None),
        (b"", None),
        (b"\xff\xfe", None),
        (b'{"id": ' + b"9" * 5_000 + b"}", None),
        (b'{"id": "x", "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", None),
        (b'{"id": "a\\u0000b"}', "sha256:" + hashlib.sha256(b"a\0b").hexdigest()),
        (b'{"id": "\\ud800"}', "sha256:" + hashlib.sha256(b"\xed\xa0\x80").hexdigest()),
        (b'{"id": "' + b"x" * 513 + b'"}', "sha256:" + hashlib.sha256(b"x" * 513).hexdigest()),
    ],
)
def test_an_event_is_named_where_it_can_be(body: bytes, key: str | None) -> None:
    """A genuine delivery is accepted whatever its body is; its key is storable, or is none."""
    verdict = judge(STRIPE, signed(STRIPE, body), body)
    assert (verdict.outcome, verdict.event_key) == ("ok", key)


def test_an_unreadable_delivery_id_names_no_event() -> None:
    """GitHub's id is not signed: one that is missing or garbled costs the key, not the delivery."""
    [name, signature] = signed(GITHUB)
    assert judge(GITHUB, [name, signature]).event_key == "msg_1"
    for headers in ([signature], [name, name, signature], [(name[0], b"\xff"), signature]):
        assert judge(GITHUB, headers) == Verdict("ok", secret="current")


def test_any_place_of_a_family_may_carry_the_signature() -> None:
    """Box signs with two keys in two headers: either alone is enough, none is missing_header."""
    [stamp, (_, good)] = signed(BOX)
    second = (b"BOX-SIGNATURE-SECONDARY", good)
    assert judge(BOX, [stamp, second]).outcome == "ok"
    assert judge(BOX, [stamp, (b"BOX-SIGNATURE-PRIMARY", b"AAAA"), second]).outcome == "ok"
    assert judge(BOX, [stamp]) == Verdict("missing_header", where="BOX-SIGNATURE-PRIMARY")


@pytest.mark.parametrize(
    "stamp", [b"2021-02-25", b"2021-02-25T15:02:10", b"1614265330", b"0001-01-01T00:00:00+23:59"]
)
def test_an_instant_without_a_zone_is_no_instant(stamp: bytes) -> None:
    """ISO 8601 counts with its zone alone; the first years of the calendar do no harm."""
    digest = hmac.digest(KEY.encode(), BODY + stamp, "sha256")
    headers = [
        (b"box-delivery-timestamp", stamp),
        (b"box-signature-primary", base64.b64encode(digest)),
    ]
    outcome = "stale" if b"+" in stamp else "malformed"
    assert judge(BOX, headers).outcome == outcome


def test_a_signature_in_the_body_is_read_there() -> None:
    """A sender that puts everything into the body needs no header at all."""
    mac = hmac.new(KEY.encode(), b"1614265330token-1", hashlib.sha256).hexdigest()
    place = {"timestamp": "1614265330", "token": "token-1", "signature": mac}
    body = msgspec.json.encode({"signature": place})
    assert judge(MAILGUN, [], body).event_key == "token-1"
    assert judge(MAILGUN, [], b"{}") == Verdict("malformed", where="signature.signature")


def test_a_shared_secret_must_be_the_whole_secret() -> None:
    """No beginning of the secret and nothing longer is let in."""
    for value in (KEY[:-1], KEY + "x", KEY.lower(), "x"):
        assert judge(TOKEN, [(b"x-gitlab-token", value.encode())]).outcome == "bad_signature"
    assert judge(TOKEN, [(b"x-gitlab-token", KEY.encode())]).outcome == "ok"


def test_an_algorithm_it_does_not_know_is_said_so() -> None:
    """A scheme whose algorithm is not built in refuses every delivery by that name."""
    scheme = msgspec.structs.replace(PLAIN, algorithm="ed25519")
    assert judge(scheme, signed(PLAIN)) == Verdict("unsupported_alg")


def test_a_body_beyond_the_limit_is_not_looked_at() -> None:
    """The limit is exact, and comes before any reckoning."""
    headers = signed(PLAIN)
    for limit, outcome in ((len(BODY), "ok"), (len(BODY) - 1, "too_large")):
        verdict = verify(PLAIN, headers=headers, body=BODY, secrets=[SECRET], now=NOW, limit=limit)
        assert verdict.outcome == outcome


def test_a_secret_is_never_shown() -> None:
    """Neither the representation of a secret nor a verdict nor an error holds its value."""
    assert KEY not in repr(SECRET) + repr([SECRET]) + str(SECRET)
    assert KEY not in repr(judge(STANDARD, signed(STANDARD)))


def test_a_preset_is_found_by_its_name() -> None:
    """The four presets are there by name."""
    assert [preset(name).name for name in PRESETS] == list(PRESETS)
    assert list(PRESETS) == ["standard-webhooks", "stripe", "github", "hmac-sha256"]
