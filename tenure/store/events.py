"""Events as rows: what entered through a door, byte for byte, with the jobs that it makes.

Called by the door and by whoever shows an event.  Promises: event, key and jobs are one
transaction; a delivery whose key was seen makes nothing; no header is stored with a credential in
it, and none is so odd that it keeps its event out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from tenure.base import json, redact
from tenure.base.conceal import NOTHING, Concealment
from tenure.base.model import Event
from tenure.base.text import storable
from tenure.store.database import Database

_NAME_LIMIT = 256
_VALUE_LIMIT = 8_192


class Arrival(msgspec.Struct, frozen=True):
    """A verified delivery on its way in; ``key`` None: it is an event of its own, whatever it says.

    ``headers`` are as they were received; ``secret`` is the label of the one that matched, and
    ``secrets`` conceals the values of all, should a header hold one.
    """

    source: str
    body: bytes
    headers: Sequence[tuple[bytes, bytes]]
    key: str | None = None
    type: str | None = None
    secret: str | None = None
    secrets: Concealment = NOTHING


class Accepted(msgspec.Struct, frozen=True):
    """The event that this delivery is, or repeats; ``at`` is the database's clock."""

    event_id: UUID
    outcome: Literal["accepted", "duplicate", "conflict"]
    jobs: int
    at: datetime


def accept(database: Database, arrival: Arrival) -> Accepted | None:
    """Take a delivery in; None where its source is disabled or not declared in this database.

    With a key it may be repeated: the second time it is a duplicate.
    """
    type_ = arrival.type
    content_type = _first(arrival.headers, b"content-type")
    rows = database.run(
        "events/accept",
        {
            "source": arrival.source,
            "key": arrival.key,
            "type": type_ and storable(type_, _NAME_LIMIT),
            "digest": hashlib.sha256(arrival.body).digest(),
            "body": arrival.body,
            "headers": kept_headers(arrival.headers, arrival.secrets),
            "content_type": content_type and storable(content_type, _NAME_LIMIT),
            "secret_label": arrival.secret,
        },
    )
    return msgspec.convert(rows[0], Accepted) if rows else None


def get(database: Database, event_id: UUID) -> Event | None:
    """An event as it was received; None where there is none, or its body is no longer kept."""
    rows = database.run("events/get", {"id": event_id})
    return msgspec.convert(rows[0], Event) if rows else None


def clock(database: Database) -> datetime:
    """The database's clock; asking proves the connection too."""
    at: datetime = database.run("events/clock")[0]["at"]
    return at


def kept_headers(headers: Sequence[tuple[bytes, bytes]], secrets: Concealment) -> str:
    """Pairs of name and value as JSON text, in order: credentials masked, bytes as Latin-1."""
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    kept = [
        (storable(name, _NAME_LIMIT), storable(value, _VALUE_LIMIT))
        for name, value in redact.headers(pairs, secrets)
    ]
    return json.encode(kept).decode()


def _first(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> str | None:
    values = (value for key, value in headers if key.lower() == name)
    value = next(values, None)
    return value.decode("latin-1") if value is not None else None
