"""The control API's jobs: made by those who may enqueue, told to those who may read.

Called by the routes under ``/v1/jobs``.  Promises: the token is looked at before the body; an input
that its automation does not accept makes no job, and is told path and value; the same key twice
makes one job.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from tenure.app import Automation
from tenure.base import content, json, limits
from tenure.base.errors import (
    ConfigurationError,
    InvalidInput,
    Refused,
    UnknownName,
    Unserialisable,
)
from tenure.base.limits import LEAST, LONGEST, TAG_LIMIT
from tenure.base.text import storable
from tenure.store import automations, jobs, states
from tenure.store.jobs import Wanted
from tenure.store.states import Standing
from tenure.web.bearers import Bearers
from tenure.web.bodies import Bodies
from tenure.web.connections import Connections
from tenure.web.refusals import Refusal, not_found, reply

_KEY_LIMIT = 512  # bytes; an index holds it
_ENVELOPE = 16_384  # bytes of a request around its input
_SHOWN = 80
_PATH = re.compile(r"at `([^`]+)`")
_PART = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class _Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a caller may say of a job that is to be made."""

    automation: str
    input: msgspec.Raw = msgspec.Raw(b"null")
    key: Annotated[str, Meta(min_length=1)] | None = None
    at: Annotated[datetime, Meta(tz=True)] | None = None
    delay: Annotated[float, Meta(ge=0, le=LONGEST)] | None = None
    expires: Annotated[datetime, Meta(tz=True)] | None = None
    expires_after: Annotated[float, Meta(ge=LEAST, le=LONGEST)] | None = None
    priority: Annotated[int, Meta(ge=0, le=9)] | None = None
    tags: list[Annotated[str, Meta(min_length=1, max_length=TAG_LIMIT)]] | None = None


class Jobs:
    """Jobs of one database, for the automations that this application knows and for others."""

    def __init__(
        self,
        automations: Mapping[str, Automation[object, object]],
        connections: Connections,
        *,
        bearers: Bearers,
        bodies: Bodies,
        limit: int,
    ) -> None:
        """``limit``: the longest input in bytes of JSON."""
        self._automations = automations
        self._connections = connections
        self._bearers = bearers
        self._bodies = bodies
        self._limit = limit

    async def create(self, request: Request) -> Response:
        """Make a job: 201 where this call made it, 200 where the key's job was there."""
        bearing = await self._bearers.admit(request, "enqueue")
        async with self._bodies.of(request, self._limit + _ENVELOPE) as body:
            order = _order(body)
        key = _key(order, request)
        text = await self._input(order)
        wanted = Wanted(
            order.automation,
            text,
            key,
            order.at,
            order.priority,
            by=f"token:{bearing.owner}",
            delay=order.delay,
            expires=order.expires,
            expires_after=order.expires_after,
            tags=_tags(order),
        )
        try:
            enqueued = await self._connections.run(
                lambda database: jobs.enqueue(database, wanted), repeatable=key is not None
            )
        except (Refused, InvalidInput) as error:
            raise Refusal(422, error.message, hint=error.hint) from None
        except UnknownName:
            raise self._unknown(order.automation) from None
        return reply(
            201 if enqueued.created else 200,
            {"job": enqueued.job_id, "created": enqueued.created},
        )

    async def show(self, request: Request) -> Response:
        """Where a job stands."""
        await self._bearers.admit(request, "read")
        job_id = _uuid(request.path_params["id"])
        standing = await self._connections.run(
            lambda database: states.get(database, job_id), repeatable=True
        )
        if standing is None:
            raise not_found()
        return reply(200, _told(standing))

    async def _input(self, order: _Order) -> str:
        """The input as JSON text that its automation accepts, by its type or what was declared."""
        raw = bytes(order.input)
        if len(raw) > self._limit:
            raise Refusal(
                413,
                f"the input is too large ({len(raw)} bytes): at most {self._limit} are taken",
                hint="Keep large content elsewhere, and send where it is.",
            )
        text = raw.decode()
        if storable(order.automation, _KEY_LIMIT) != order.automation:
            raise self._unknown(order.automation)
        automation = self._automations.get(order.automation)
        try:
            # Also what is not known here must be such that any reader can take it apart.
            content.check(text)
            if automation is not None:
                await asyncio.to_thread(automation.decode, text, None)
            else:
                await self._connections.run(
                    lambda database: automations.check_input(database, order.automation, text),
                    repeatable=True,
                )
        except InvalidInput as error:
            raise _unfit(error, text) from None
        except UnicodeError:
            raise Refusal(
                422,
                "the input holds half of a surrogate pair: its automation's type takes none",
                hint="Send whole characters; the other half was cut off somewhere.",
            ) from None
        return text

    def _unknown(self, name: str) -> Refusal:
        nearest = UnknownName.of("automation", name[:_SHOWN], self._automations)
        return Refusal(404, nearest.message, hint=nearest.hint)


def _order(body: bytes) -> _Order:
    try:
        body.decode()  # what is kept as it was written is not looked into by the decoder
        return msgspec.json.decode(body, type=_Order)
    except msgspec.ValidationError as error:
        raise _no_order(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _odd_order(body)


def _odd_order(body: bytes) -> _Order:
    """An order with text that only escapes can carry, such as half of a surrogate pair."""
    try:
        plain = json.decode(body)
        values = dict(plain) if isinstance(plain, dict) else {}
        raw = msgspec.Raw(json.encode(values.pop("input", None)))
        return msgspec.structs.replace(msgspec.convert(values, _Order), input=raw)
    except msgspec.ValidationError as error:
        raise _no_order(error) from None
    except (InvalidInput, Unserialisable, RecursionError) as error:
        raise Refusal(
            400, f"the request is not JSON ({error})", hint="Send one JSON object, in UTF-8."
        ) from None


def _no_order(error: msgspec.ValidationError) -> Refusal:
    return Refusal(422, f"the request does not fit ({error})", hint="See the API's description.")


def _tags(order: _Order) -> list[str] | None:
    try:
        return None if order.tags is None else list(limits.tags(order.tags))
    except ConfigurationError as error:
        raise Refusal(422, error.message, hint=error.hint) from None


def _key(order: _Order, request: Request) -> str | None:
    """The job's key: of the order, else of the one header that callers know from elsewhere."""
    if order.key is not None:
        if storable(order.key, _KEY_LIMIT) != order.key:
            raise _bad_key(422, "key")
        return order.key
    shown = request.headers.getlist("idempotency-key")
    if not shown:
        return None
    if len(shown) > 1 or len(shown[0]) > _KEY_LIMIT or not _KEY.fullmatch(shown[0]):
        raise _bad_key(400, "Idempotency-Key")
    return shown[0]


def _bad_key(status: int, where: str) -> Refusal:
    return Refusal(
        status,
        f"the key cannot be kept ({where})",
        hint=f"Send one key of at most {_KEY_LIMIT} bytes, in plain characters.",
    )


def _unfit(error: InvalidInput, text: str) -> Refusal:
    """An input that does not fit, with the path at which it does not, and what stands there."""
    more: dict[str, object] = {}
    found = _PATH.search(error.message)
    if found:
        path = "$" + found[1].removeprefix("$")
        more = {"path": path, **_shown(json.decode(text), path)}
    return Refusal(422, error.message, hint=error.hint, more=more)


def _shown(value: object, path: str) -> dict[str, object]:
    """What stands at a path such as ``$.lines[2].amount``, cut; empty where nothing is found."""
    for name, index in _PART.findall(path):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and index.isdecimal() and int(index) < len(value):
            value = value[int(index)]
        else:
            return {}
    return {"value": json.encode(value).decode()[:_SHOWN]}


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise not_found() from None


def _told(standing: Standing) -> dict[str, object]:
    told = msgspec.structs.asdict(standing)
    waiting_on = standing.waiting_on
    return told | {"waiting_on": None if waiting_on is None else msgspec.Raw(waiting_on.encode())}
