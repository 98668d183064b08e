"""Enqueue: the jobs of an automation, made by code.

What ``app.automation`` gives has these methods.  Promises: what could not be a job is refused
before anything is sent; a job is made in the caller's transaction where a connection is given; a
job that is not live makes none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Generic, Protocol, TypeVar, Unpack

from tenure.base.defaults import Settings
from tenure.base.durations import Length
from tenure.base.errors import CallForbidden
from tenure.flow import automation as automations
from tenure.flow import guard
from tenure.flow import run as runs
from tenure.store import jobs
from tenure.store.callers import AsyncConn, Conn
from tenure.store.database import Database
from tenure.store.jobs import Batch, Enqueued, Wanted

I = TypeVar("I")  # noqa: E741  the input's type
O = TypeVar("O")  # noqa: E741  the result's type
T = TypeVar("T")


class House(Protocol):
    """What is asked of the application: its settings, and its database where no other is given."""

    @property
    def settings(self) -> Settings:
        """As they are in use."""

    def with_database(self, act: Callable[[Database], T]) -> T:
        """What an act gives over the application's own connection."""


class Automation(automations.Automation[I, O], Generic[I, O]):
    """An automation whose jobs code can make."""

    app: House

    def enqueue(
        self,
        input: I,
        *,
        conn: Conn | None = None,
        key: str | None = None,
        at: datetime | None = None,
        delay: Length | None = None,
        expires: datetime | Length | None = None,
        priority: int | None = None,
        tags: Iterable[str] | None = None,
    ) -> Enqueued:
        """Make a job: in the caller's transaction where ``conn`` is given, else in its own.

        ``conn``: a connection, cursor or session of psycopg or SQLAlchemy, a connection of
        psycopg2, or Django's; the job exists when its transaction commits.
        ``key``: at most one unfinished job of this automation has it; the answer tells which.
        Under REPEATABLE READ and above, a key that a rival took meanwhile is the driver's own
        serialisation failure: run the transaction again.
        It may run from ``at``, or ``delay`` from now; it is cancelled where nobody has claimed it
        by ``expires``, a moment or a time after it was due.  ``priority`` (0 first, to 9) and
        ``tags`` replace the automation's own.  Raises ``InvalidInput`` where the input does not
        fit, ``UnknownName`` where nobody has declared the automation in this database.
        """
        wanted = self._wanted(
            input, key=key, at=at, delay=delay, expires=expires, priority=priority, tags=tags
        )
        if conn is not None:
            return jobs.enqueue_within(conn, wanted)
        return self.app.with_database(lambda database: jobs.enqueue(database, wanted))

    async def aenqueue(
        self,
        input: I,
        *,
        conn: AsyncConn | None = None,
        key: str | None = None,
        at: datetime | None = None,
        delay: Length | None = None,
        expires: datetime | Length | None = None,
        priority: int | None = None,
        tags: Iterable[str] | None = None,
    ) -> Enqueued:
        """As ``enqueue``, awaitable; ``conn`` is an async one of psycopg, SQLAlchemy or asyncpg."""
        wanted = self._wanted(
            input, key=key, at=at, delay=delay, expires=expires, priority=priority, tags=tags
        )
        if conn is not None:
            return await jobs.aenqueue_within(conn, wanted)
        return await asyncio.to_thread(
            self.app.with_database, lambda database: jobs.enqueue(database, wanted)
        )

    def enqueue_many(
        self,
        inputs: Iterable[I],
        *,
        conn: Conn | None = None,
        keys: Iterable[str | None] | None = None,
        at: datetime | None = None,
        delay: Length | None = None,
        expires: datetime | Length | None = None,
        priority: int | None = None,
        tags: Iterable[str] | None = None,
    ) -> list[Enqueued]:
        """Make a job for each input, all or none, and tell them in order; as ``enqueue`` else.

        ``keys``: one for each input, None for none; a key that stands twice makes one job.  All are
        checked before any is sent, and an error says which input it is about.  Ten thousand go in
        one statement.
        """
        batch = self._batch(
            inputs, keys, at=at, delay=delay, expires=expires, priority=priority, tags=tags
        )
        if conn is not None:
            return jobs.enqueue_many_within(conn, batch)
        return self.app.with_database(lambda database: jobs.enqueue_many(database, batch))

    async def aenqueue_many(
        self,
        inputs: Iterable[I],
        *,
        conn: AsyncConn | None = None,
        keys: Iterable[str | None] | None = None,
        at: datetime | None = None,
        delay: Length | None = None,
        expires: datetime | Length | None = None,
        priority: int | None = None,
        tags: Iterable[str] | None = None,
    ) -> list[Enqueued]:
        """As ``enqueue_many``, awaitable; ``conn`` as for ``aenqueue``."""
        batch = self._batch(
            inputs, keys, at=at, delay=delay, expires=expires, priority=priority, tags=tags
        )
        if conn is not None:
            return await jobs.aenqueue_many_within(conn, batch)
        return await asyncio.to_thread(
            self.app.with_database, lambda database: jobs.enqueue_many(database, batch)
        )

    def _wanted(self, input: I, **more: Unpack[jobs.Terms]) -> Wanted:
        self._check_live()
        text = self.encode(input, self.app.settings.input_limit)
        return jobs.wanted(self.name, text, **more)

    def _batch(
        self, inputs: Iterable[I], keys: Iterable[str | None] | None, **more: Unpack[jobs.Terms]
    ) -> Batch:
        self._check_live()
        texts = self.encode_all(inputs, self.app.settings.input_limit)
        return jobs.batch(jobs.wanted(self.name, "", **more), texts, keys)

    def _check_live(self) -> None:
        running = runs.current.get()
        if guard.refusing() or (running is not None and running.job.mode != "live"):
            raise CallForbidden(
                f"a job of {self.name} was to be made by a job that is not live: nothing was made",
                hint="Dry-run and shadow change nothing; make it after the promotion.",
            )
