"""A token is shown once and kept only as a digest."""

from __future__ import annotations

import hashlib
import re

from tenure.base.tokens import PREFIX, SCOPES, digest, mint


def test_a_token_has_its_shape_and_its_digest() -> None:
    """tnr_ and 43 characters of base64url, which is 256 bits, kept under the SHA-256 of it all."""
    token, kept = mint()
    assert re.fullmatch(r"tnr_[A-Za-z0-9_-]{43}", token)
    assert kept == digest(token) == hashlib.sha256(token.encode()).digest()
    assert kept != digest(token.removeprefix(PREFIX))


def test_no_two_tokens_are_alike() -> None:
    """A thousand tokens are a thousand different ones."""
    assert len({mint()[0] for _ in range(1_000)}) == 1_000


def test_any_text_has_a_digest() -> None:
    """What a stranger sends in place of a token is looked up like one, and harms nothing."""
    assert len({digest(text) for text in ("", "tnr_", "\0", "\ud800", "é" * 10_000)}) == 5


def test_scopes_are_the_six() -> None:
    """Nothing can be granted that is not listed."""
    assert SCOPES == ("read", "enqueue", "operate", "observe", "promote", "admin")
