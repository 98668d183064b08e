"""What a ``def`` handler is given; generated from ``flow/context.py`` and ``flow/http.py``.

Written by ``make twins`` and by nobody else: change the classes for ``async def`` handlers, and
make it anew.  Promises: whatever is asked here is done in the job's event loop as for an ``async
def`` handler, and the handler's thread waits for it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Unpack

from tenure.base.http import Response
from tenure.base.model import Event, Mode
from tenure.flow.context import Context, P, T
from tenure.flow.crossing import Twin
from tenure.flow.http import Http, Reading, Writing
from tenure.flow.provider import Provider
from tenure.flow.signals import Duration
from tenure.flow.surface import checked


class SyncHttp(Twin[Http]):
    """As ``Http``, for a ``def`` handler: each method waits in the thread that calls it."""

    @checked
    def get(self, url: str, **options: Unpack[Reading]) -> Response:
        """GET; remembered where it has a step."""
        return self._crossing.over(lambda: self._twin.get(url, **options))

    @checked
    def head(self, url: str, **options: Unpack[Reading]) -> Response:
        """HEAD; remembered where it has a step."""
        return self._crossing.over(lambda: self._twin.head(url, **options))

    @checked
    def options(self, url: str, **options: Unpack[Reading]) -> Response:
        """OPTIONS; remembered where it has a step."""
        return self._crossing.over(lambda: self._twin.options(url, **options))

    @checked
    def post(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """POST; an effect under the step's key."""
        return self._crossing.over(lambda: self._twin.post(url, step=step, **options))

    @checked
    def put(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """PUT; an effect under the step's key."""
        return self._crossing.over(lambda: self._twin.put(url, step=step, **options))

    @checked
    def patch(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """PATCH; an effect under the step's key."""
        return self._crossing.over(lambda: self._twin.patch(url, step=step, **options))

    @checked
    def delete(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """DELETE; an effect under the step's key."""
        return self._crossing.over(lambda: self._twin.delete(url, step=step, **options))


class SyncContext(Twin[Context]):
    """As ``Context``, for a ``def`` handler: each method waits in the thread that calls it."""

    @property
    def job_id(self) -> uuid.UUID:
        """The job's id."""
        return self._twin.job_id

    @property
    def mode(self) -> Mode:
        """How this job runs: ``dry_run``, ``shadow`` or ``live``."""
        return self._twin.mode

    @property
    def event(self) -> Event | None:
        """The event that made this job; None where it was enqueued by hand."""
        return self._twin.event

    @checked
    def http(self, provider: Provider | str) -> SyncHttp:
        """A provider's API through the gate; raises ``UnknownName`` for one nobody declared."""
        return SyncHttp(self._twin.http(provider), self._crossing)

    @checked
    def step(self, name: str, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a function, computed once and remembered under a name.

        The result passes through JSON and is decoded by the function's return annotation, so first
        run and re-run see the same type.  A plain function runs in a thread: of a ``def`` handler,
        in the very one that asks for it.
        """
        return self._crossing.over(lambda: self._twin.step(name, fn, *args, **kwargs))

    @checked
    def decide(self, name: str, choice: bool) -> bool:
        """A named branch, remembered and later compared; gives back the choice of the first run."""
        return self._crossing.call(lambda: self._twin.decide(name, choice))

    def now(self) -> datetime:
        """The time in UTC, the same on every re-run at this place."""
        return self._crossing.call(self._twin.now)

    def uuid(self) -> uuid.UUID:
        """A UUID, the same on every re-run at this place: derived from the job, not stored."""
        return self._crossing.call(self._twin.uuid)

    def random(self) -> float:
        """A number in [0, 1), the same on every re-run at this place; not for secrets."""
        return self._crossing.call(self._twin.random)

    @checked
    def sleep(self, duration: Duration, *, name: str | None = None) -> None:
        """Wait; a wait beyond a moment gives the slot back and costs no attempt."""
        self._crossing.over(lambda: self._twin.sleep(duration, name=name))

    @checked
    def log(self, message: str, **fields: object) -> None:
        """A line in the job's story."""
        self._crossing.over(lambda: self._twin.log(message, **fields))
