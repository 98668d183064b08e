"""The control API's acts: retry, replay and cancel, of one job or of many; pause and resume.

Called by the routes under ``/v1/jobs`` and ``/v1/pauses``.  Promises: the token is looked at before
the body; the actor is its owner; what the state of things forbids is a 409 that changes nothing; an
act on many can be previewed, and tells where it stopped.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, TypeVar, cast, get_args
from uuid import UUID

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from tenure.base.errors import NothingMatched, Refused
from tenure.base.text import storable
from tenure.store import controls, many, pauses
from tenure.store.database import Busy, Database
from tenure.store.many import Act, Filter, Order, Tally
from tenure.web.bearers import Bearers
from tenure.web.bodies import Bodies
from tenure.web.connections import Connections
from tenure.web.refusals import Refusal, not_found, reply

ACTS: tuple[Act, ...] = get_args(Act)
_BODY = 16_384  # bytes
# What one request acts on at most; the answer says where the next one goes on.
_MOST = 10_000
_SCOPE = "operate"
_ORIGIN = "api"

T = TypeVar("T")
Text = Annotated[str, Meta(min_length=1, max_length=1_000)]
Moment = Annotated[datetime, Meta(tz=True)]
Endpoint = Callable[[Request], Awaitable[Response]]


class _One(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be said of an act on one job."""

    reason: Text | None = None


class _Many(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A filter, and how an act on what it matches is to be done."""

    state: Text | None = None
    automation: Text | None = None
    lane: Text | None = None
    provider: Text | None = None
    source: Text | None = None
    tag: Text | None = None
    error_class: Text | None = None
    since: Moment | None = None
    until: Moment | None = None
    reason: Text | None = None
    preview: bool = False
    limit: Annotated[int, Meta(ge=1, le=_MOST)] = _MOST
    after: UUID | None = None


class _Pause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pause to be made."""

    target: Text
    reason: Text
    until: Moment | None = None


class _Resume(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pause to be ended."""

    target: Text
    reason: Text | None = None


class Controls:
    """Acts on the jobs of one database."""

    def __init__(self, connections: Connections, *, bearers: Bearers, bodies: Bodies) -> None:
        """``bearers`` admit whoever has the scope ``operate``."""
        self._connections = connections
        self._bearers = bearers
        self._bodies = bodies

    def on_one(self, act: Act) -> Endpoint:
        """The endpoint of an act on the job of the address."""

        async def endpoint(request: Request) -> Response:
            actor, order = await self._order(request, _One)
            job = _uuid(request.path_params["id"])
            told = await self._done(lambda database: _act(database, act, job, actor, order.reason))
            return reply(201 if act == "replay" else 200, {"job": job, **told})

        return endpoint

    def on_many(self, act: Act) -> Endpoint:
        """The endpoint of an act on whatever a filter matches."""

        async def endpoint(request: Request) -> Response:
            actor, order = await self._order(request, _Many)
            asked = msgspec.convert(
                {name: getattr(order, name) for name in Filter.__struct_fields__}, Filter
            )
            if asked.empty:
                raise Refusal(
                    422,
                    "no filter is given: all jobs are never meant",
                    hint="Say which: automation, state, lane, provider, source, tag, error_class, "
                    "since or until.",
                )
            found = await self._done(
                lambda database: many.preview(database, act, asked, limit=order.limit)
            )
            if order.preview:
                return reply(200, msgspec.structs.asdict(found))
            asked = msgspec.structs.replace(asked, until=found.until)
            return reply(
                200,
                msgspec.structs.asdict(
                    await self._many(
                        Order(act, asked, actor, order.reason, _ORIGIN, order.limit, order.after)
                    )
                ),
            )

        return endpoint

    async def _many(self, order: Order) -> Tally:
        """Chunk by chunk, so that nobody else waits for a connection; ends where a lock is held."""
        tally, more = Tally(after=order.after), True
        most = order.limit or _MOST
        while more and tally.seen < most:
            size = min(many.CHUNK, most - tally.seen)
            try:
                more = await self._done(
                    functools.partial(many.advance, order=order, tally=tally, most=size)
                )
            except Busy:
                if not tally.seen:
                    raise
                break
        return tally

    async def pauses(self, request: Request) -> Response:
        """The pauses in force."""
        await self._bearers.admit(request, "read")
        return reply(200, await self._connections.run(pauses.listed, repeatable=True))

    async def pause(self, request: Request) -> Response:
        """Let something stand still."""
        actor, order = await self._order(request, _Pause)
        return reply(
            200,
            await self._done(
                lambda database: pauses.pause(
                    database,
                    order.target,
                    reason=order.reason,
                    until=order.until,
                    actor=actor,
                    origin=_ORIGIN,
                )
            ),
        )

    async def resume(self, request: Request) -> Response:
        """End a pause; the answer is the pause as it was."""
        actor, order = await self._order(request, _Resume)
        return reply(
            200,
            await self._done(
                lambda database: pauses.resume(
                    database, order.target, reason=order.reason, actor=actor, origin=_ORIGIN
                )
            ),
        )

    async def _order(self, request: Request, shape: type[T]) -> tuple[str, T]:
        """Who asks, and for what; an empty body says nothing beside the address."""
        bearing = await self._bearers.admit(request, _SCOPE)
        async with self._bodies.of(request, _BODY) as body:
            try:
                order = msgspec.json.decode(body or b"{}", type=shape)
            except msgspec.ValidationError as error:
                raise Refusal(
                    422, f"the request does not fit ({error})", hint="See the API's description."
                ) from None
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise Refusal(
                    400,
                    f"the request is not JSON ({error})",
                    hint="Send one JSON object, in UTF-8.",
                ) from None
        for value in msgspec.structs.asdict(cast("msgspec.Struct", order)).values():
            if isinstance(value, str) and storable(value, _BODY) != value:
                raise Refusal(
                    422,
                    "the request holds text that cannot be kept",
                    hint="Send text without NUL and without halves of surrogate pairs.",
                )
        return f"token:{bearing.owner}", order

    async def _done(self, act: Callable[[Database], T]) -> T:
        """What an act came to; what forbids it is the caller's to know."""
        try:
            return await self._connections.run(act, repeatable=False)
        except Refused as error:
            raise Refusal(409, error.message, hint=error.hint) from None
        except NothingMatched as error:
            raise Refusal(404, error.message, hint=error.hint) from None


def _act(
    database: Database, act: Act, job: UUID, actor: str, reason: str | None
) -> dict[str, object]:
    match act:
        case "retry":
            was = controls.retry(database, job, actor=actor, reason=reason, origin=_ORIGIN)
            return {"was": was}
        case "replay":
            new = controls.replay(database, job, actor=actor, reason=reason, origin=_ORIGIN)
            return {"job": new, "replay_of": job}
        case "cancel":
            became = controls.cancel(database, job, actor=actor, reason=reason, origin=_ORIGIN)
            return {"became": became}


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise not_found() from None
