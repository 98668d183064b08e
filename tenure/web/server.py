"""The web server: which address leads where, and what must hold before it listens.

Called by ``tenure serve``, and by whoever mounts the application in a server of their own.
Promises: every address is in the one table below, and each but ``/healthz`` asks for a signature
or a token; nothing listens without a credential; it starts only on a schema that it can serve.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tenure.app import Tenure
from tenure.base.defaults import Settings
from tenure.base.errors import ConfigurationError
from tenure.base.tokens import SCOPES
from tenure.store import automations, migrate, schedules, sources, tokens
from tenure.store.database import Database
from tenure.store.sources import DeclaredSource
from tenure.store.tokens import Minted
from tenure.web.bearers import Bearers
from tenure.web.bodies import Bodies
from tenure.web.connections import Connections
from tenure.web.controls import ACTS, Controls
from tenure.web.hooks import Hooks
from tenure.web.jobs import Jobs
from tenure.web.listening import Server, address_of, bind
from tenure.web.refusals import Refusals, Sayings, reply
from tenure.web.tally import Tally
from tenure.web.turned import TurnedAway

_ACTOR = "serve"
_FIRST = "tenure token create --owner me --scope enqueue --scope read"


def asgi(app: Tenure, *, database_url: str, settings: Settings) -> Starlette:
    """The application's doors as an ASGI application; opens nothing before the first request.

    Whoever mounts it declares the application first: ``declare``.
    """
    connections = Connections(database_url, pooled=settings.pooled)
    sayings, bodies, tally = Sayings(), Bodies(), Tally(connections)
    turned_away = TurnedAway()
    hooks = Hooks(
        app.sources,
        connections,
        limit=settings.event_limit,
        bodies=bodies,
        tally=tally,
        sayings=sayings,
        turned_away=turned_away,
    )
    bearers = Bearers(connections)
    controls = Controls(connections, bearers=bearers, bodies=bodies)
    jobs = Jobs(
        app.automations,
        connections,
        bearers=bearers,
        bodies=bodies,
        limit=settings.input_limit,
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        turned_away.close()
        await tally.close()
        connections.close()

    served = Starlette(
        routes=[
            Route("/hooks/{source}", hooks.receive, methods=["POST"]),
            Route("/v1/jobs", jobs.create, methods=["POST"]),
            *(Route(f"/v1/jobs/{act}", controls.on_many(act), methods=["POST"]) for act in ACTS),
            Route("/v1/jobs/{id}", jobs.show, methods=["GET"]),
            *(
                Route(f"/v1/jobs/{{id}}/{act}", controls.on_one(act), methods=["POST"])
                for act in ACTS
            ),
            Route("/v1/pauses", controls.pauses, methods=["GET"]),
            Route("/v1/pauses", controls.pause, methods=["POST"]),
            Route("/v1/pauses/resume", controls.resume, methods=["POST"]),
            Route("/healthz", _healthy, methods=["GET"]),
        ],
        exception_handlers=Refusals(sayings).handlers(),
        lifespan=lifespan,
    )
    served.router.redirect_slashes = False  # a redirected delivery is an unsigned one elsewhere
    return served


def serve(
    app: Tenure,
    settings: Settings,
    database_url: str,
    *,
    first_token: bool = False,
    announce: Callable[[str], None],
) -> None:
    """Listen until SIGTERM or Ctrl-C; blocks.  ``announce`` is told each line for people.

    ``first_token``: where no token opens this server, make one with every scope and announce it,
    once.  Raises ``ConfigurationError`` where the port is taken or no token opens it,
    ``UnknownName`` where something listens to a source nobody declared, ``SchemaMismatch`` and
    ``DatabaseUnavailable`` as the database has it.
    """
    app.check()
    with bind(settings.host, settings.port) as listening:
        database = Database(database_url, name="tenure serve", pooled=settings.pooled)
        try:
            migrate.check(database)
            declare(app, database)
            minted = _credential(database, first_token=first_token)
        finally:
            database.close()
        address = address_of(listening)
        if minted is not None:
            announce(f"first token, shown this once: {minted.token}")
        server = Server(
            asgi(app, database_url=database_url, settings=settings),
            drain=settings.drain,
            ready=lambda: announce(f"listening on {address}"),
        )
        server.run(sockets=[listening])


def declare(app: Tenure, database: Database, *, by: str = _ACTOR) -> None:
    """Write what the application declares, for the door and for SQL callers."""
    limit = app.settings.input_limit
    for automation in app.automations.values():
        automations.declare(database, automation.declared, by=by, input_limit=limit)
    for source in app.sources.values():
        declared = DeclaredSource(source.name, source.scheme.name, source.secrets, source.event_key)
        sources.declare(database, declared, by=by)
    for schedule in app.schedules.values():
        schedules.declare(database, schedule.name, schedule.intent, by=by, origin="server")


def _credential(database: Database, *, first_token: bool) -> Minted | None:
    """Nothing where some token opens this server; a first one where that was asked for."""
    if any(token.usable for token in tokens.listed(database)):
        return None
    if not first_token:
        raise ConfigurationError(
            "no token opens this server: nothing listens without a credential",
            hint=f"Start it with --first-token, or make one: {_FIRST}",
        )
    return tokens.create(database, owner="first", scopes=SCOPES, by=_ACTOR, origin="server")


async def _healthy(_: Request) -> Response:
    return reply(200, {"ok": True})
