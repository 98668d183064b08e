"""Sources as rows: what code declares of a door, and the state that a person gave it.

Called by the server when it starts, by the door when it refuses, and by the command line.
Promises: a declaration never changes a state; only references to secrets are stored; what was
refused is counted, never kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, cast

import msgspec

from tenure.base import json
from tenure.base.errors import UnknownName
from tenure.base.secrets import SecretRef
from tenure.store.database import Database

State = Literal["open", "disabled"]


class DeclaredSource(msgspec.Struct, frozen=True):
    """A source as its code declares it.

    ``event_key`` says where an event's key is found, such as ``header:webhook-id``; None: nowhere,
    each delivery is an event.
    """

    name: str
    scheme: str
    secrets: tuple[SecretRef, ...]
    event_key: str | None = None


class Labelled(msgspec.Struct, frozen=True):
    """A reference such as ``env:LEAD_SECRET``, and the label that its secret goes by."""

    label: str
    reference: str


class ListedSource(msgspec.Struct, frozen=True):
    """A source as its row has it."""

    name: str
    scheme: str
    secrets: tuple[Labelled, ...]
    event_key: str | None
    state: State
    declared_at: datetime


def declare(
    database: Database, declared: DeclaredSource, *, by: str, origin: str = "server"
) -> State:
    """Write a declaration and tell the source's state; a change of the door is audited."""
    labelled = [Labelled(ref.reference, ref.reference) for ref in declared.secrets]
    rows = database.run(
        "sources/declare",
        {
            "name": declared.name,
            "scheme": declared.scheme,
            "secrets": json.encode(labelled).decode(),
            "event_key": declared.event_key,
            "by": by,
            "origin": origin,
        },
    )
    return cast("State", rows[0]["state"])


def listed(database: Database) -> tuple[ListedSource, ...]:
    """Every source of this database, by name."""
    return tuple(
        msgspec.convert({**row, "secrets": msgspec.json.decode(row["secrets"])}, ListedSource)
        for row in database.run("sources/listed")
    )


def set_state(
    database: Database,
    name: str,
    state: State,
    *,
    by: str,
    reason: str | None = None,
    origin: str = "sql",
) -> State:
    """Open or disable a source and tell the state it had; raises ``UnknownName``."""
    wanted = {"name": name, "state": state, "by": by, "reason": reason, "origin": origin}
    rows = database.run("sources/set_state", wanted)
    if not rows:
        raise UnknownName.of("source", name, [each.name for each in listed(database)])
    return cast("State", rows[0]["former"])


def reject(database: Database, counts: Mapping[tuple[str, str], int]) -> None:
    """Add to this minute's count of what the door refused, by source and reason."""
    each = list(counts.items())
    database.run(
        "sources/reject",
        {
            "sources": [source for (source, _), _ in each],
            "reasons": [reason for (_, reason), _ in each],
            "counts": [count for _, count in each],
        },
    )
