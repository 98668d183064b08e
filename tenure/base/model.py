"""Rows as values: what the store hands up and takes down, plain and frozen.

Owned here so that worker, flow and store agree on shapes without knowing each other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from tenure.base import clock

Mode = Literal["dry_run", "shadow", "live"]
Kind = Literal["live", "not_live", "quarantine"]
CallState = Literal[
    "sending",
    "done",
    "refused",
    "throttled",
    "overloaded",
    "not_sent",
    "unknown",
    "suppressed",
]
Policy = Literal["resend", "probe", "hold", "safe"]
# Who asks a person; an operator's hold has no question of its own: the database words it.
Asks = Literal["doubt", "handler", "operator", "crashes"]


class Event(msgspec.Struct, frozen=True):
    """One fact that entered through a source; ``body`` is byte for byte what was received."""

    id: UUID
    source: str
    type: str | None
    key: str | None
    received_at: datetime
    content_type: str | None
    headers: str
    body: bytes


class Job(msgspec.Struct, frozen=True):
    """A claimed job with all that a handler needs at a first run; ``input`` is JSON text."""

    id: UUID
    automation: str
    mode: Mode
    lane: str
    strand: int
    fence: int
    failures: int
    crash_count: int
    claimed_at: datetime
    input: str | None = None
    event: Event | None = None
    request: str | None = None
    lease: float = 60.0


class Claimed(msgspec.Struct, frozen=True):
    """What a claim found: jobs to run, put aside for a quarantine process, held, or expired."""

    jobs: tuple[Job, ...]
    aside: tuple[UUID, ...]
    held: tuple[UUID, ...]
    expired: tuple[UUID, ...]
    rows: int


class Strand(msgspec.Struct, frozen=True):
    """A strand whose time has come.

    ``room``: what its lane's budgets and its automation's slots admit, None: no limit; ``limited``:
    a claim needs slots.
    """

    id: int
    lane: str
    next_at: str
    room: int | None
    automation: str = ""
    limited: bool = False


class Step(msgspec.Struct, frozen=True):
    """A remembered step, decision or value; ``result`` is JSON text."""

    name: str
    kind: str
    arguments: bytes | None
    result: str


class Send(msgspec.Struct, frozen=True):
    """The latest send of a step, with its outcome if there is one.

    ``wait`` seconds until an open send can no longer leave; ``age`` seconds since the step's first
    send of this epoch; ``testified``: the state is evidence that nobody has adopted yet;
    ``stored``: the provider keeps this answer under the key; ``next_epoch``: of the send that may
    follow, None where none may.
    """

    step: str
    send: int
    send_id: UUID
    epoch: int
    provider: str
    method: str
    url: str
    body: bytes | None
    body_digest: bytes
    key: str
    wire_key: str | None
    policy: Policy
    state: CallState
    testified: bool
    status: int | None
    answer_headers: str | None
    answer: bytes | None
    why: str | None
    told_by: str | None
    stored: bool
    next_epoch: int | None
    wait: float
    age: float


class Remembered(msgspec.Struct):
    """A job's memory, by step name; ``loaded``: when it was read, on the process's stopwatch."""

    loaded: float = msgspec.field(default_factory=clock.now)

    steps: dict[str, Step] = msgspec.field(default_factory=dict)
    sends: dict[str, Send] = msgspec.field(default_factory=dict)


class Asked(msgspec.Struct, frozen=True):
    """A call as it is put to the gate; ``headers`` is JSON text, ``lease`` its job's in seconds."""

    job: UUID
    fence: int
    step: str
    send: int
    send_id: UUID
    safe: bool
    provider: str
    account: str
    operation: str
    method: str
    url: str
    headers: str
    body: bytes | None
    digest: bytes
    key: str
    epoch: int
    wire_key: str | None
    policy: Policy
    send_window: float
    timeout: float
    lease: float = 60.0


GateVerdict = Literal[
    "admitted",
    "full",
    "lost",
    "cancel",
    "hold",
    "paused",
    "lane_paused",
    "known",
    "found",
    "evidence",
]


class Answered(msgspec.Struct, frozen=True):
    """The gate's word on one call; ``since_entry`` seconds from entry to the admission's clock.

    ``wait`` seconds until the budget named has room, where it is full.
    """

    verdict: GateVerdict
    since_entry: float
    admitted_at: datetime | None = None
    wait: float | None = None
    budget: int | None = None


class Outcome(msgspec.Struct, frozen=True):
    """What came of a send; ``answer_headers`` is JSON text.

    ``stored``: the provider keeps this answer under the key.
    """

    job: UUID
    fence: int
    send_id: UUID
    step: str
    send: int
    state: CallState
    status: int | None = None
    answer_headers: str | None = None
    answer: bytes | None = None
    why: str | None = None
    stored: bool = False
    told_by: str = "worker"


class Finish(msgspec.Struct, frozen=True):
    """A claim that ends its job; ``result`` is JSON text."""

    job: UUID
    fence: int
    status: Literal["succeeded", "failed", "cancelled"]
    result: str | None = None
    error_class: str | None = None
    error: str | None = None
    traceback: str | None = None


class HandBack(msgspec.Struct, frozen=True):
    """A claim that ends while its job goes on; ``delay`` seconds, ``waits`` JSON text."""

    job: UUID
    fence: int
    ended: Literal["failure", "deferral", "hold"]
    delay: float = 0.0
    strand: int | None = None
    waits: str | None = None
    error_class: str | None = None
    error: str | None = None
    traceback: str | None = None
    question: str | None = None
    kind: Asks = "handler"
    step: str | None = None
    send_id: UUID | None = None


class Declared(msgspec.Struct, frozen=True):
    """An automation as its code declares it; ``input_schema`` and ``backoff`` are JSON text."""

    name: str
    version: str
    label: str | None = None
    listens: tuple[str, ...] = ()
    lane: str = "free"
    priority: int = 5
    max_attempts: int = 10
    max_crashes: int = 3
    input_schema: str | None = None
    replaces: str | None = None
    tags: tuple[str, ...] = ()
    backoff: str | None = None
    lease: float | None = None
    timeout: float | None = None
    concurrency: int | None = None
    unique_by: str | None = None
    unique_for: float | None = None
    expires: float | None = None
