"""Making jobs: in a transaction of one's own, or in the caller's.

Called by automations, the control API and the command line.  Promises: one statement; the caller's
transaction decides whether the job exists; an unknown automation is said so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TypedDict
from uuid import UUID

import msgspec

from tenure.base import json, limits
from tenure.base.durations import Length
from tenure.base.errors import ConfigurationError, InvalidInput, Refused
from tenure.base.limits import LEAST, LONGEST
from tenure.base.text import storable
from tenure.store import callers
from tenure.store.callers import AsyncConn, Conn, Values
from tenure.store.database import Database

# What an index can hold with room to spare.
KEY_LIMIT = 512
# What one statement carries: beyond, a batch goes in parts, of one transaction.
_PART_JOBS = 10_000
_PART_BYTES = 16_000_000


class Enqueued(msgspec.Struct, frozen=True):
    """The job that holds the key, and whether this call created it."""

    job_id: UUID
    created: bool


class Wanted(msgspec.Struct, frozen=True):
    """A job to be made; ``input`` is JSON text.

    It may run from ``at``, or ``delay`` seconds from now; it is cancelled where nobody has claimed
    it by ``expires``, or within ``expires_after`` seconds of being due.
    """

    automation: str
    input: str
    key: str | None = None
    at: datetime | None = None
    priority: int | None = None
    by: str | None = None
    delay: float | None = None
    expires: datetime | None = None
    expires_after: float | None = None
    tags: list[str] | None = None


class Terms(TypedDict, total=False):
    """What may be said of a job beside its input."""

    key: str | None
    at: datetime | None
    delay: Length | None
    expires: datetime | Length | None
    priority: int | None
    tags: Iterable[str] | None


def wanted(
    automation: str,
    input: str,
    *,
    key: str | None = None,
    at: datetime | None = None,
    delay: Length | None = None,
    expires: datetime | Length | None = None,
    priority: int | None = None,
    tags: Iterable[str] | None = None,
) -> Wanted:
    """A job to be made, as code asks for it; raises ``InvalidInput`` or ``ConfigurationError``."""
    if key is not None:
        check_key(key)
    if at is not None and delay is not None:
        raise ConfigurationError(
            f"a time ({at.isoformat()}) and a delay ({delay}) were given: a job is due once",
            hint="Give one of them.",
        )
    order = Wanted(
        automation,
        input,
        key,
        at=at and limits.moment(at),
        priority=None if priority is None else limits.priority(priority),
        delay=limits.length(delay, "delay", least=0.0, most=LONGEST),
        tags=None if tags is None else list(limits.tags(tags)),
    )
    if expires is None:
        return order
    if isinstance(expires, datetime):
        return msgspec.structs.replace(order, expires=limits.moment(expires))
    after = limits.length(expires, "expiry", least=LEAST, most=LONGEST)
    return msgspec.structs.replace(order, expires_after=after)


def check_key(key: str) -> None:
    """Raise ``InvalidInput`` for a unique key that cannot be kept."""
    if len(key) > KEY_LIMIT:
        raise InvalidInput(
            f"the unique key has {len(key)} characters, and {KEY_LIMIT} are kept",
            hint="Give a digest of it.",
        )
    if storable(key, 4 * KEY_LIMIT) != key:
        raise InvalidInput(
            f"the unique key {key!r:.80} holds what is no character: it cannot be kept",
            hint="Give a digest of it.",
        )


class Batch(msgspec.Struct, frozen=True):
    """Many jobs to be made, alike but for inputs and keys, in as few parts as can be sent."""

    parts: list[Wanted]


def batch(alike: Wanted, inputs: Sequence[str], keys: Iterable[str | None] | None) -> Batch:
    """A batch of jobs; ``alike`` says what is the same for all.  Raises ``InvalidInput``."""
    named = None if keys is None else list(keys)
    if named is not None and len(named) != len(inputs):
        raise InvalidInput(
            f"there are {len(named)} keys for {len(inputs)} inputs: which has none?",
            hint="Give as many keys as inputs, None for none.",
        )
    for key in filter(None, named or ()):
        check_key(key)
    parts: list[Wanted] = []
    begin = size = 0
    for end, text in enumerate([*inputs, ""]):
        if end == len(inputs) or end - begin == _PART_JOBS or size + len(text) > _PART_BYTES:
            if begin < end:
                shown = named and json.encode(named[begin:end]).decode()
                joined = f"[{','.join(inputs[begin:end])}]"
                parts.append(msgspec.structs.replace(alike, input=joined, key=shown))
            begin, size = end, 0
        size += len(text)
    return Batch(parts)


def enqueue(database: Database, wanted: Wanted) -> Enqueued:
    """Make a job in a transaction of its own."""
    row = database.run("jobs/enqueue", _values(wanted))[0]
    return Enqueued(UUID(row["job_id"]), row["created"])


def enqueue_within(conn: Conn, wanted: Wanted) -> Enqueued:
    """Make a job in the caller's transaction: it exists when that commits."""
    [(job_id, created)] = callers.run(conn, "jobs/enqueue", _values(wanted))
    return Enqueued(UUID(str(job_id)), bool(created))


async def aenqueue_within(conn: AsyncConn, wanted: Wanted) -> Enqueued:
    """Make a job in the caller's transaction: it exists when that commits."""
    [(job_id, created)] = await callers.arun(conn, "jobs/enqueue", _values(wanted))
    return Enqueued(UUID(str(job_id)), bool(created))


def enqueue_many(database: Database, batch: Batch) -> list[Enqueued]:
    """Make a job for each input, all or none, in a transaction of its own."""
    with database.transaction() if len(batch.parts) > 1 else contextlib.nullcontext():
        return [
            Enqueued(UUID(row["job_id"]), row["created"])
            for part in batch.parts
            for row in database.run("jobs/enqueue_many", _values(part))
        ]


def enqueue_many_within(conn: Conn, batch: Batch) -> list[Enqueued]:
    """Make a job for each input in the caller's transaction."""
    return [
        Enqueued(UUID(str(job_id)), bool(created))
        for part in batch.parts
        for job_id, created in callers.run(conn, "jobs/enqueue_many", _values(part))
    ]


async def aenqueue_many_within(conn: AsyncConn, batch: Batch) -> list[Enqueued]:
    """Make a job for each input in the caller's transaction."""
    return [
        Enqueued(UUID(str(job_id)), bool(created))
        for part in batch.parts
        for job_id, created in await callers.arun(conn, "jobs/enqueue_many", _values(part))
    ]


def _values(wanted: Wanted) -> Values:
    """What the statement takes: text, numbers and lists, which every driver writes alike."""
    values = msgspec.structs.asdict(wanted)
    return values | {"at": _instant(wanted.at), "expires": _instant(wanted.expires)}


def _instant(at: datetime | None) -> str | None:
    """A moment as text, in the zone that every server knows."""
    if at is None:
        return None
    try:
        return at.astimezone(UTC).isoformat()
    except OverflowError:
        raise Refused(
            f"the time {at} is out of reach: a job cannot be due then",
            hint="Give a time between the years 1970 and 9998.",
        ) from None
