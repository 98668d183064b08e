"""Calls as an author writes them: ``await ctx.http(crm).post("/deals", step="create-deal", ...)``.

Handed out by the context.  Promises: a call that changes something cannot be written without a
step, by its type; whatever is called passes the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import msgspec

from tenure.base.errors import Misused
from tenure.base.http import Response
from tenure.flow import outbound
from tenure.flow.call import Body, Call, Headers, Params, build
from tenure.flow.outbound import Carriers
from tenure.flow.provider import Provider
from tenure.flow.run import Run
from tenure.flow.signals import seconds
from tenure.flow.surface import checked, refuse_unknown


class Reading(TypedDict, total=False):
    """What a call that changes nothing may be given.

    ``step`` makes it remembered; ``accept``: refusals given back as answers instead of raised;
    ``operation``: the path's template, as ``/deals/{id}``; ``timeout`` in seconds.
    """

    params: Params
    headers: Headers
    step: str | None
    operation: str
    safe: bool
    timeout: float
    accept: Sequence[int]


class Writing(TypedDict, total=False):
    """What a call with a body may be given; at most one of ``json``, ``data``, ``content``."""

    json: object
    data: Params
    content: bytes | str
    params: Params
    headers: Headers
    operation: str
    safe: bool
    timeout: float
    accept: Sequence[int]


_READING = frozenset(Reading.__annotations__)
_WRITING = frozenset(Writing.__annotations__)


class Http:
    """One provider's API, through the gate, for one run of one job."""

    def __init__(
        self, run: Run, provider: Provider, carriers: Carriers, timeout: float = 30.0
    ) -> None:
        """Calls time out after so many seconds unless they say otherwise."""
        self._run = run
        self._provider = provider
        self._carriers = carriers
        self._timeout = timeout

    @checked
    async def get(self, url: str, **options: Unpack[Reading]) -> Response:
        """GET; remembered where it has a step."""
        return await self._read("GET", url, options)

    @checked
    async def head(self, url: str, **options: Unpack[Reading]) -> Response:
        """HEAD; remembered where it has a step."""
        return await self._read("HEAD", url, options)

    @checked
    async def options(self, url: str, **options: Unpack[Reading]) -> Response:
        """OPTIONS; remembered where it has a step."""
        return await self._read("OPTIONS", url, options)

    @checked
    async def post(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """POST; an effect under the step's key."""
        return await self._write("POST", url, step, options)

    @checked
    async def put(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """PUT; an effect under the step's key."""
        return await self._write("PUT", url, step, options)

    @checked
    async def patch(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """PATCH; an effect under the step's key."""
        return await self._write("PATCH", url, step, options)

    @checked
    async def delete(self, url: str, *, step: str | None, **options: Unpack[Writing]) -> Response:
        """DELETE; an effect under the step's key."""
        return await self._write("DELETE", url, step, options)

    async def _read(self, method: str, url: str, options: Reading) -> Response:
        refuse_unknown(method.lower(), options, _READING)
        return await self._send(
            method,
            url,
            step=options.get("step"),
            body=Body(),
            params=options.get("params"),
            headers=options.get("headers"),
            safe=options.get("safe"),
            operation=options.get("operation"),
            timeout=options.get("timeout"),
            accept=options.get("accept", ()),
        )

    async def _write(self, method: str, url: str, step: str | None, options: Writing) -> Response:
        refuse_unknown(method.lower(), options, _WRITING)
        return await self._send(
            method,
            url,
            step=step,
            body=Body(
                options.get("json", msgspec.UNSET), options.get("data"), options.get("content")
            ),
            params=options.get("params"),
            headers=options.get("headers"),
            safe=options.get("safe"),
            operation=options.get("operation"),
            timeout=options.get("timeout"),
            accept=options.get("accept", ()),
        )

    async def _send(
        self,
        method: str,
        url: str,
        *,
        step: str | None,
        body: Body,
        params: Params | None,
        headers: Headers | None,
        safe: bool | None,
        operation: str | None,
        timeout: float | None,
        accept: Sequence[int],
    ) -> Response:
        run = self._run
        await run.pace()
        try:
            call = build(
                self._provider,
                method,
                url,
                body=body,
                params=params,
                headers=headers,
                safe=safe,
                operation=operation,
                step=step,
                timeout=self._timeout if timeout is None else seconds(timeout),
                accept=accept,
            )
        except (TypeError, ValueError, AttributeError, LookupError) as misfit:
            raise Misused(
                f"{method} cannot be made of what it was given ({misfit}): nothing was sent",
                hint="Compare each argument with its type.",
            ) from misfit
        return await self._carry(call, step)

    async def _carry(self, call: Call, step: str | None) -> Response:
        """Send a call in the run's name."""
        run = self._run
        # A nameless safe call is on record for people and remembered by nobody: its name holds the
        # claim's number, so no later run finds it.
        name = run.name(step) if step is not None else f"~{call.operation}"
        if step is None:
            name = f"{name[:150]}#{run.job.fence}.{run.place(name)}"
        await run.save()
        return await run.fly(outbound.send(run, call, name, self._carriers))
