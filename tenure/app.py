"""The application: what was declared, and the database it lives in.

Called by author's code at import; read by worker, server and command line.  Promises: nothing is
opened until it is needed; a name is declared once; what listens to an unknown source says so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Generic, Protocol, TypeVar, overload

from tenure.base import schedules, secrets
from tenure.base import settings as base_settings
from tenure.base.backoff import Backoff
from tenure.base.budget import Budget
from tenure.base.defaults import Settings
from tenure.base.durations import Length
from tenure.base.entries import KeyRule
from tenure.base.errors import (
    ConfigurationError,
    UnknownName,
)
from tenure.base.secrets import SecretRef
from tenure.base.unique import Unique
from tenure.flow import enqueue
from tenure.flow import provider as providers
from tenure.flow import source as sources
from tenure.flow.carriers import Auth
from tenure.flow.context import Context
from tenure.flow.provider import Allowance, Provider
from tenure.flow.schedule import Schedule
from tenure.flow.source import Source
from tenure.flow.sync import SyncContext
from tenure.store.database import Database

I = TypeVar("I")  # noqa: E741  the input's type
O = TypeVar("O")  # noqa: E741  the result's type
Hook = TypeVar("Hook", bound=Callable[[], object])

Listens = Source | Schedule | str | Sequence[Source | Schedule | str]


class Automation(enqueue.Automation[I, O], Generic[I, O]):
    """A declared automation of an application: callable as written, and enqueued."""


class Declaring(Protocol):
    """What declares a handler as an automation: of an input or of none, of either kind."""

    @overload
    def __call__(self, fn: Callable[[Context, I], Awaitable[O]], /) -> Automation[I, O]: ...
    @overload
    def __call__(self, fn: Callable[[Context], Awaitable[O]], /) -> Automation[None, O]: ...
    @overload
    def __call__(self, fn: Callable[[SyncContext, I], O], /) -> Automation[I, O]: ...
    @overload
    def __call__(self, fn: Callable[[SyncContext], O], /) -> Automation[None, O]: ...


class Tenure:
    """The declarations of one application."""

    def __init__(
        self, database_url: str | None = None, *, settings: Settings | None = None
    ) -> None:
        """Settings come from the argument, TENURE_*, tenure.toml or [tool.tenure], the default."""
        self._database_url = database_url
        self._settings = settings
        self._database: Database | None = None
        self._lock = threading.Lock()
        self.after_jobs: list[Callable[[], object]] = []
        self.automations: dict[str, Automation[object, object]] = {}
        self.providers: dict[str, Provider] = {}
        self.sources: dict[str, Source] = {}
        self.schedules: dict[str, Schedule] = {}

    @property
    def settings(self) -> Settings:
        """The settings in force, read when first asked for."""
        if self._settings is None:
            given = {"database_url": self._database_url}
            self._settings = base_settings.load(given, environ=os.environ, directory=Path.cwd())
        return self._settings

    def use(self, settings: Settings) -> None:
        """Take settings that somebody else has read: the command line, the test kit."""
        self._settings = settings

    def with_database(self, act: Callable[[Database], O]) -> O:
        """Do something with this application's own connection, one at a time."""
        with self._lock:
            if self._database is None:
                url = self.settings.database_url
                if not url:
                    raise ConfigurationError(
                        "no database is set: there is nowhere to put a job",
                        hint="Set TENURE_DATABASE_URL, or pass conn=.",
                    )
                pooled = self.settings.pooled
                self._database = Database(url, name="tenure enqueue", pooled=pooled)
            return act(self._database)

    def provider(
        self,
        name: str,
        *,
        base_url: str | None = None,
        auth: Auth | None = None,
        budgets: Sequence[Budget] | None = None,
        keys: KeyRule | Sequence[KeyRule] | None = None,
        settle: float | None = None,
        allow: Iterable[Allowance] = (),
    ) -> Provider:
        """Declare a provider, by its catalogue entry where there is one.

        ``budgets`` and ``keys`` replace the catalogue's; ``settle``: seconds after which the
        provider shows what was done (5), for which a probe waits; ``allow`` names what is refused
        else: ``plain-http``, ``private-address``.
        """
        self._once("provider", name, self.providers)
        declared = providers.declare(
            name,
            base_url=base_url,
            auth=auth,
            budgets=budgets,
            keys=keys,
            settle=settle,
            allow=allow,
        )
        self.providers[name] = declared
        return declared

    def source(
        self,
        name: str,
        *,
        scheme: str,
        secret: SecretRef | Sequence[SecretRef],
        event_key: str | None = "scheme",
    ) -> Source:
        """Declare a door for events; several secrets may be live at once.

        ``event_key`` says what makes two deliveries one event: the scheme's own id, a header
        (``header:X-Delivery``), a path of the body (``body:data.id``), or None: nothing does.
        """
        self._once("source", name, [*self.sources, *self.schedules])
        declared = sources.declare(name, scheme=scheme, secret=secret, event_key=event_key)
        self.sources[name] = declared
        return declared

    def schedule(
        self,
        name: str,
        *,
        cron: str | None = None,
        every: float | timedelta | None = None,
        at: datetime | None = None,
        zone: str | None = None,
        anchor: datetime | None = None,
        misfire: schedules.Misfire = "one",
        limit: int | None = None,
    ) -> Schedule:
        """Declare a source of ticks, by exactly one of ``cron``, ``every`` and ``at``.

        ``cron``: five fields on the wall clock of ``zone`` (UTC).  Where it names its hours, a time
        ticks once a day: right after the gap where the day lacks it, at the first of two where the
        day has it twice; with ``*`` for the hours it follows the clock as it goes.
        ``every``: seconds or a timedelta, counted from ``anchor`` (1970-01-01 UTC), not from a
        start.  ``at``: once, at a datetime with a zone that is still to come.
        ``misfire`` decides over ticks found more than a minute late: ``skip`` them, make the newest
        ``one`` unless one is on time, or ``all`` up to the newest ``limit`` (100).
        """
        sources.check_name("schedule", name)
        self._once("schedule", name, [*self.sources, *self.schedules])
        declared = Schedule(
            name,
            schedules.intent(
                name,
                cron=cron,
                every=every,
                at=at,
                zone=zone,
                anchor=anchor,
                misfire=misfire,
                limit=limit,
            ),
        )
        self.schedules[name] = declared
        return declared

    @overload
    def automation(self, fn: Callable[[Context, I], Awaitable[O]], /) -> Automation[I, O]: ...
    @overload
    def automation(self, fn: Callable[[Context], Awaitable[O]], /) -> Automation[None, O]: ...
    @overload
    def automation(self, fn: Callable[[SyncContext, I], O], /) -> Automation[I, O]: ...
    @overload
    def automation(self, fn: Callable[[SyncContext], O], /) -> Automation[None, O]: ...
    @overload
    def automation(
        self,
        fn: None = None,
        /,
        *,
        name: str | None = None,
        on: Listens = (),
        lane: Provider | str | None = None,
        replaces: str | None = None,
        version: str | None = None,
        max_attempts: int | None = None,
        max_crashes: int | None = None,
        backoff: Backoff | None = None,
        priority: int = 5,
        tags: Iterable[str] = (),
        lease: Length | None = None,
        timeout: Length | None = None,
        concurrency: int | None = None,
        unique: Unique | str | None = None,
        expires: Length | None = None,
    ) -> Declaring: ...
    def automation(
        self,
        fn: Callable[..., object] | None = None,
        /,
        *,
        name: str | None = None,
        on: Listens = (),
        lane: Provider | str | None = None,
        replaces: str | None = None,
        version: str | None = None,
        max_attempts: int | None = None,
        max_crashes: int | None = None,
        backoff: Backoff | None = None,
        priority: int = 5,
        tags: Iterable[str] = (),
        lease: Length | None = None,
        timeout: Length | None = None,
        concurrency: int | None = None,
        unique: Unique | str | None = None,
        expires: Length | None = None,
    ) -> object:
        """Declare an automation; its name is the function's unless it is given one.

        An ``async def`` runs in the event loop, a ``def`` in a thread, with a ``SyncContext``.
        ``on``: the sources and schedules it listens to; ``lane``: the provider it is dispatched
        under; ``replaces``: the old system's workflow, as ``n8n:lead``; ``version``: a label beside
        the hash; ``priority`` 0 first to 9; ``lease``: how long a claim lasts unrenewed (renewed
        each quarter, silent in its last sixth, or by the settings if shorter); ``timeout``: how
        long a handler may take before it is stopped, which fails the attempt; ``concurrency``: so
        many of its jobs run at once over all workers, live and others apart; ``unique``: one job
        for each key, as ``"{email}"``; ``expires``: how long after it was due it must be claimed.
        """

        def declare(handler: Callable[..., object]) -> Automation[object, object]:
            declared: Automation[object, object] = Automation(
                handler,
                name=name or handler.__name__,
                listens=_listens(on),
                lane=lane.lane if isinstance(lane, Provider) else lane or "free",
                label=version,
                replaces=replaces,
                max_attempts=10 if max_attempts is None else max_attempts,
                max_crashes=3 if max_crashes is None else max_crashes,
                backoff=backoff,
                priority=priority,
                tags=tags,
                lease=lease,
                timeout=timeout,
                concurrency=concurrency,
                unique=unique,
                expires=expires,
            )
            self._once("automation", declared.name, self.automations)
            declared.app = self
            self.automations[declared.name] = declared
            return declared

        return declare(fn) if fn is not None else declare

    def after_job(self, fn: Hook) -> Hook:
        """Have something called after each run of a job, in its handler's task or thread.

        For what must not outlive a job, as ``app.after_job(Session.remove)``.  It takes nothing:
        ``current()`` tells which job it was.  What it raises is logged, and harms no job.
        """
        self.after_jobs.append(fn)
        return fn

    def check(self) -> None:
        """Raise ``UnknownName`` where an automation listens to a source nobody declared."""
        known = [*self.sources, *self.schedules]
        for automation in self.automations.values():
            for listened in automation.declared.listens:
                source = listened.partition("#")[0]
                if source not in known:
                    raise UnknownName.of("source", source, known)

    def lacking(self) -> list[str]:
        """A sentence for each secret that is not there now, with the declarations that need it."""
        needed = [
            (f"provider {provider.name}", ref)
            for provider in self.providers.values()
            if provider.auth is not None
            for ref in secrets.referred(provider.auth)
        ]
        needed += [
            (f"source {source.name}", ref)
            for source in self.sources.values()
            for ref in source.secrets
        ]
        return secrets.lacking(needed)

    def _once(self, kind: str, name: str, known: Iterable[str]) -> None:
        if name in known:
            raise ConfigurationError(
                f"the {kind} {name!r} is declared twice: one of them would never be used",
                hint="Give one of them another name.",
            )


def _listens(on: Listens) -> tuple[str, ...]:
    each = [on] if isinstance(on, Source | Schedule | str) else list(on)
    return tuple(item if isinstance(item, str) else item.name for item in each)
