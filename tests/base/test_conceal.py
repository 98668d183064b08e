"""Secret values leave what is stored, and come back exactly when it is sent again."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.conceal import NOTHING, Concealment
from tenure.base.errors import ConfigurationError, MissingSecret

VALUE = 'sk/live+42 "é"&='
CRM = Concealment({"CRM": VALUE, "PIN": "123"})

names = st.text("ABC_/:.-é", min_size=1, max_size=5)
odd = st.text(min_size=4, max_size=12) | st.sampled_from(["{secret:", "}secret", VALUE])


@given(secrets=st.dictionaries(names, odd, max_size=3), data=st.data())
def test_what_was_hidden_is_revealed(secrets: dict[str, str], data: st.DataObject) -> None:
    """Bytes with secrets, marks and look-alikes anywhere come back to the last bit."""
    pieces = [b"{secret:", b"}", b"{secret:}", b"|", b"{secret:A}", b"{", b"secret:"]
    for name, value in secrets.items():
        plain = value.encode("utf-8", "surrogatepass")
        pieces += [plain, quote(plain).encode(), base64.b64encode(plain), plain[:3], name.encode()]
    chosen = data.draw(st.lists(st.sampled_from(pieces) | st.binary(max_size=5), max_size=8))
    concealment = Concealment(secrets)
    hidden = concealment.hide(b"".join(chosen))
    assert concealment.reveal(hidden) == b"".join(chosen)


# Small letters that no mark is made of, so that whatever is left of a value can be seen.
lives = st.text("vwxyz", min_size=4, max_size=8)


@given(secrets=st.dictionaries(st.text("ABC", min_size=1), lives, min_size=1), data=st.data())
def test_no_value_is_left(secrets: dict[str, str], data: st.DataObject) -> None:
    """Wherever secrets stand, overlapping or not, none can be read afterwards."""
    pieces = st.sampled_from(sorted(secrets.values())) | st.text("vwxyz ", max_size=3)
    content = "".join(data.draw(st.lists(pieces, max_size=8)))
    hidden = Concealment(secrets).hide_text(content)
    assert not any(value in hidden for value in secrets.values())


WRITTEN = {
    "as it is": VALUE.encode(),
    "percent-encoded": quote(VALUE, safe="").encode(),
    "percent-encoded, small letters": quote(VALUE, safe="").replace("%2F", "%2f").lower().encode(),
    "in a path": quote(VALUE).encode(),
    "in a form": urlencode({"key": VALUE}).encode(),
    "in a form, by hand": quote_plus(VALUE).encode(),
    "in JSON": json.dumps({"key": VALUE}).encode(),
    "in JSON as UTF-8": json.dumps({"key": VALUE}, ensure_ascii=False).encode(),
}


@pytest.mark.parametrize("content", WRITTEN.values(), ids=WRITTEN)
def test_a_secret_is_hidden_however_it_is_written(content: bytes) -> None:
    """No piece of the value is left, whichever way the web writes it, and it can be put back."""
    hidden = CRM.hide(b"before " + content + b" after")
    assert b"{secret:CRM" in hidden
    assert b"live" not in hidden
    assert CRM.reveal(hidden) == b"before " + content + b" after"


@pytest.mark.parametrize("before", ["", "u", "us", "use", "user:", "someone@example.com:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_is_found_within_base64(before: str, encode: object) -> None:
    """Basic credentials hide their password at every alignment, whoever the user is."""
    assert callable(encode)
    concealment = Concealment({"CRM": "correct-horse-battery?>~"})
    content = b"Basic " + encode(f"{before}correct-horse-battery?>~".encode())
    hidden = concealment.hide(content)
    assert b"{secret:CRM|base64" in hidden
    # What is left around the mark is the user and one shared character at either end.
    assert len(hidden) - hidden.index(b"}") - 1 <= 3
    assert concealment.reveal(hidden) == content


def test_text_that_looks_like_a_mark_reveals_nothing() -> None:
    """An attacker's {secret:CRM} in the input is sent on as it is, not as the secret."""
    content = b'{"name": "{secret:CRM} {secret:} {secret:CRM|percent}"}'
    hidden = CRM.hide(content)
    assert CRM.reveal(hidden) == content
    assert hidden.count(b"{secret:}") == 3
    assert b"{secret:CRM}" not in hidden


def test_a_mark_that_cannot_be_filled_is_an_error() -> None:
    """A recorded request whose secret is gone is not sent with a hole in it."""
    with pytest.raises(MissingSecret, match="CRM"):
        NOTHING.reveal(CRM.hide(VALUE.encode()))
    with pytest.raises(MissingSecret, match="CRM"):
        CRM.reveal(b"{secret:CRM|rot13}")


def test_a_rotated_secret_is_revealed_as_it_is_now() -> None:
    """A request recorded under the old value is sent again under the new one."""
    hidden = CRM.hide(b"key=" + quote(VALUE, safe="").encode())
    assert Concealment({"CRM": "new/one"}).reveal(hidden) == b"key=new%2Fone"


def test_the_longer_secret_is_hidden_whole() -> None:
    """Where one secret begins like another, no end of the longer one is left over."""
    concealment = Concealment({"SHORT": "abcdef", "LONG": "abcdef-ghijkl"})
    assert concealment.hide(b"abcdef-ghijkl abcdef") == b"{secret:LONG} {secret:SHORT}"


def test_what_is_too_short_to_be_a_secret_is_let_through() -> None:
    """A value of three bytes would take ordinary text apart and hide nothing."""
    assert CRM.hide(b"123 1234") == b"123 1234"
    assert Concealment({"EMPTY": ""}).hide(b"text") == b"text"


@pytest.mark.parametrize("name", ["", "a{b", "a}b", "a|b"])
def test_a_name_that_would_blur_the_marks_is_refused(name: str) -> None:
    """Names hold no braces and no bars."""
    with pytest.raises(ConfigurationError, match="no mark can hold"):
        Concealment({name: "value"})


def test_text_is_hidden_like_bytes() -> None:
    """Text keeps its lone surrogates and loses its secrets."""
    assert CRM.hide_text(f"\ud800 {VALUE}") == "\ud800 {secret:CRM}"


def test_a_concealment_does_not_show_what_it_knows() -> None:
    """Its representation holds no value."""
    assert "live" not in repr(CRM) + str(CRM)


@given(secrets=st.dictionaries(st.text("ABC", min_size=1), lives, min_size=1), data=st.data())
def test_what_people_read_is_masked_once(secrets: dict[str, str], data: st.DataObject) -> None:
    """No value is left, marks stay as they are, and masking again changes nothing."""
    pieces = st.sampled_from(sorted(secrets.values())) | st.sampled_from(["{secret:A}", "v ", "é"])
    content = "".join(data.draw(st.lists(pieces, max_size=8)))
    concealment = Concealment(secrets)
    masked = concealment.mask_text(content)
    assert not any(value in masked for value in secrets.values())
    assert masked.count("{secret:A}") >= content.count("{secret:A}")
    assert concealment.mask_text(masked) == masked
    assert NOTHING.mask_text(content) == content
