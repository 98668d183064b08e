"""Bearer tokens: how one is made, and the only form in which one is kept.

The command line mints them, the doors look them up by digest.  Promises: a token holds 256 random
bits and is shown once; from its digest it cannot be found again, and a database row that leaks
opens nothing.
"""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "tnr_"
SCOPES = ("read", "enqueue", "operate", "observe", "promote", "admin")


def mint() -> tuple[str, bytes]:
    """A new token, ``tnr_`` and 43 characters of base64url, and its digest."""
    token = PREFIX + secrets.token_urlsafe(32)
    return token, digest(token)


def digest(token: str) -> bytes:
    """The 32 bytes under which a token is kept: SHA-256 of all its text; takes any text at all."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
