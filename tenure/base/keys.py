"""The child idempotency key of a step: one effect, one key, whatever happens to the worker.

The flow floor asks for it before a call is recorded and again after every crash.  Promises: the
same job, step and epoch give the same key in every process and release; two that differ never
share one; a provider that wants another shape of key gets one that is derived from it alone.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
import uuid
from collections.abc import Callable, Mapping

from tenure.base.errors import StepError, UnknownName

STEP_NAME_LIMIT = 200


def child_key(job_id: uuid.UUID, step: str, epoch: int = 0) -> str:
    """64 hex digits that stand for one effect of one job.

    ``epoch`` rises when a corrected request takes the place of one that was refused.  It is parted
    from the step's name by a line feed, which no name may hold; raises ``StepError`` for one that
    does, or for an epoch below zero.
    """
    _refuse_unwritable(step)
    if epoch < 0:
        raise StepError(f"an epoch below zero ({epoch}): epochs count up from 0")
    text = f"{job_id}:{step}\n{epoch}" if epoch else f"{job_id}:{step}"
    return hashlib.sha256(text.encode()).hexdigest()


def check_step_name(name: str) -> None:
    """Raise ``StepError`` unless ``name`` can stand for a step.

    It is text of 1 to 200 characters without control characters and lone surrogates.
    """
    if not isinstance(name, str):
        raise StepError(
            f"a step's name is of type {type(name).__name__}: it must be text",
            hint='Write it out, such as step="create-deal" or step=f"line-{item.id}".',
        )
    if not 1 <= len(name) <= STEP_NAME_LIMIT:
        raise StepError(
            f"a step's name has {len(name)} characters: it must have 1 to {STEP_NAME_LIMIT}",
            hint="Name the step by what it does and the id of what it does it to.",
        )
    _refuse_unwritable(name)


def _refuse_unwritable(name: str) -> None:
    """Control characters would blur where a name ends; lone surrogates have no bytes."""
    for character in name:
        if unicodedata.category(character) in {"Cc", "Cs"}:
            raise StepError(
                f"a step's name holds the character U+{ord(character):04X} ({name!r}): "
                "control characters and lone surrogates cannot be part of a key",
                hint="Name the step in plain text.",
            )


FORMS: Mapping[str, Callable[[bytes], str]] = {
    "hex64": lambda key: key.hex(),
    "base64url43": lambda key: base64.urlsafe_b64encode(key).decode().rstrip("="),
    "uuid": lambda key: str(_uuid8(key[:16])),
    "hex32": lambda key: key.hex()[:32],
    "hex25": lambda key: key.hex()[:25],
}


def wire(key: str, form: str) -> str:
    """A child key in the shape a provider takes; the same key gives the same text for ever.

    Forms: ``hex64``, ``base64url43``, ``uuid`` (version 8), ``hex32``, ``hex25``.  Raises
    ``UnknownName`` for another, ``ValueError`` for a key that is not hex.
    """
    if form not in FORMS:
        raise UnknownName.of("key form", form, FORMS)
    return FORMS[form](bytes.fromhex(key))


def _uuid8(octets: bytes) -> uuid.UUID:
    """Version 8 of RFC 9562: 122 bits as they are, version and variant in their places."""
    number = int.from_bytes(octets)
    number = number & ~(0xF << 76) | 0x8 << 76
    return uuid.UUID(int=number & ~(0x3 << 62) | 0x2 << 62)
