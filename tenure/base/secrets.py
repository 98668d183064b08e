"""Secrets by reference, and the credentials that are made of them at the moment of sending.

Declarations hold references; carriers ask for headers, verification for values.  Promises: a value
is read when it is needed and kept nowhere; no representation, message or row shows one; a value
that cannot stand in a header is refused before it could split one.

``env:NAME``    an environment variable of the process that reads it
``file:/path``  a file's text, less one line break at its end
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from tenure.base.errors import ConfigurationError, MissingSecret

_NAME = re.compile(r"[^\x00-\x1f\x7f{}|]+")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class SecretRef(msgspec.Struct, frozen=True):
    """Where a secret is, never what it is."""

    kind: Literal["env", "file"]
    name: str

    def __post_init__(self) -> None:
        """Refuse a name that leads nowhere or could not be shown in a mark."""
        sound = _NAME.fullmatch(self.name) and not (self.kind == "env" and "=" in self.name)
        if self.kind not in ("env", "file") or not sound:
            raise ConfigurationError(
                f"not a reference to a secret ({self.kind}:{self.name!r}): it can lead nowhere",
                hint='Write env("NAME") for an environment variable, file("/path") for a file.',
            )

    @property
    def reference(self) -> str:
        """The reference as text: ``env:NAME`` or ``file:/path``."""
        return f"{self.kind}:{self.name}"

    def read(self) -> str:
        """The secret's value now; raises ``MissingSecret`` where there is none."""
        value = self._from_environment() if self.kind == "env" else self._from_file()
        if not value:
            raise self._missing("is empty")
        return value

    def _from_environment(self) -> str:
        value = os.environ.get(self.name)
        if value is None:
            raise self._missing("is not set")
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise self._missing("is not UTF-8 text")
        return value

    def _from_file(self) -> str:
        try:
            text = Path(self.name).read_bytes().decode()
        except OSError as error:
            raise self._missing(f"cannot be read ({error.strerror})") from error
        except UnicodeDecodeError:  # the cause would quote the secret
            raise self._missing("is not UTF-8 text") from None
        return text.removesuffix("\n").removesuffix("\r")

    def _missing(self, what: str) -> MissingSecret:
        if self.kind == "env":
            return MissingSecret(
                f"the environment variable {what} ({self.name}): its secret is missing",
                hint=f"Set {self.name} in the environment of the process that needs it.",
            )
        return MissingSecret(
            f"the file {what} ({self.name}): its secret is missing",
            hint=f"Put the secret into {self.name}, readable by the process that needs it.",
        )


def env(name: str) -> SecretRef:
    """The secret in an environment variable."""
    return SecretRef("env", name)


def file(path: str) -> SecretRef:
    """The secret in a file."""
    return SecretRef("file", path)


def parse(reference: str) -> SecretRef:
    """The reference that such text stands for; raises ``ConfigurationError`` for other text.

    The text is not repeated in the message: it may be a secret put where its reference belongs.
    """
    kind, _, name = reference.partition(":")
    match kind:
        case "env":
            return env(name)
        case "file":
            return file(name)
    raise ConfigurationError(
        "not a reference to a secret: the text begins neither with env: nor with file:",
        hint="Put the secret into an environment variable and write env:NAME.",
    )


def referred(credential: object) -> list[SecretRef]:
    """The references that a credential is made of, ours or an author's own kind of one."""
    names = getattr(credential, "__struct_fields__", ()) or vars(credential)
    fields = [getattr(credential, name) for name in names]
    return [field for field in fields if isinstance(field, SecretRef)]


def lacking(needed: Iterable[tuple[str, SecretRef]]) -> list[str]:
    """A sentence for each secret that is not there, with those that need it; all are read."""
    by: dict[SecretRef, list[str]] = {}
    for who, ref in needed:
        by.setdefault(ref, []).append(who)
    said = []
    for ref, everybody in by.items():
        try:
            ref.read()
        except MissingSecret as error:
            said.append(f"{error.message}; needed by {', '.join(dict.fromkeys(everybody))}")
    return said


def _referred(secret: object) -> None:
    if not isinstance(secret, SecretRef):
        raise ConfigurationError(
            f"a credential was given as {type(secret).__name__}: secrets are never in code",
            hint="Give env('NAME') or file('/path').",
        )


class Bearer(msgspec.Struct, frozen=True):
    """``Authorization: Bearer …``."""

    secret: SecretRef

    def __post_init__(self) -> None:
        """Refuse a secret itself."""
        _referred(self.secret)

    def headers(self) -> list[tuple[str, str]]:
        """The header, with the secret as it is now."""
        return [("Authorization", f"Bearer {_header_value(self.secret)}")]

    def secrets(self) -> dict[str, str]:
        """Values by name, to be concealed."""
        return {self.secret.name: self.secret.read()}


class Basic(msgspec.Struct, frozen=True):
    """``Authorization: Basic …``; the user may be a secret too.  Source: RFC 7617."""

    user: str | SecretRef
    password: SecretRef

    def __post_init__(self) -> None:
        """Refuse a secret itself."""
        _referred(self.password)

    def headers(self) -> list[tuple[str, str]]:
        """The header, with the secrets as they are now; text is encoded as UTF-8."""
        user = self.user.read() if isinstance(self.user, SecretRef) else self.user
        password = self.password.read()
        if ":" in user or _CONTROL.search(user + password):
            raise ConfigurationError(
                f"user and password cannot be sent ({self.password.reference}): "
                "the user holds a colon, or one of them a line break or control character",
                hint="Check for line breaks at the end of the values.",
            )
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        return [("Authorization", f"Basic {credentials}")]

    def secrets(self) -> dict[str, str]:
        """Values by name, to be concealed."""
        refs = [ref for ref in (self.user, self.password) if isinstance(ref, SecretRef)]
        return {ref.name: ref.read() for ref in refs}


class Header(msgspec.Struct, frozen=True):
    """A header of the provider's own that holds the secret and nothing else."""

    name: str
    secret: SecretRef

    def __post_init__(self) -> None:
        """Refuse a secret itself, and a name that is no header's."""
        _referred(self.secret)
        if not _TOKEN.fullmatch(self.name):
            raise ConfigurationError(
                f"not the name of a header ({self.name!r}): it holds characters no name may hold",
                hint="Write the name alone, such as X-Api-Key.",
            )

    def headers(self) -> list[tuple[str, str]]:
        """The header, with the secret as it is now."""
        return [(self.name, _header_value(self.secret))]

    def secrets(self) -> dict[str, str]:
        """Values by name, to be concealed."""
        return {self.secret.name: self.secret.read()}


Auth = Bearer | Basic | Header


def _header_value(ref: SecretRef) -> str:
    """The secret, if it can stand in a header; a line break there would begin another one."""
    value = ref.read()
    if not _VALUE.fullmatch(value):
        raise ConfigurationError(
            f"the secret cannot stand in a header ({ref.reference}): it holds a line break, "
            "a space at either end, or characters that are not plain ASCII",
            hint="Copy it again as the provider shows it, with nothing before or behind it.",
        )
    return value
