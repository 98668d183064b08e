"""All the pieces of a demo: database, emulated providers, server, workers; started and stopped.

Entered by the demo.  Promises: everything here is the real thing, in processes of its own, but for
the providers, which are emulated with their published limits; whatever way the demo ends, they all
end with it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tenure import embedded
from tenure.base.errors import Refused
from tenure.cli import options
from tenure.cli.demo import folder
from tenure.cli.demo.pieces import Piece
from tenure.store import migrate, stages, tokens, tour
from tenure.store.database import Database
from tenure.store.stages import Moved, Waiver
from tenure.testing.emulators import Config, DetachedEmulator, Limit, profile_named

APP = "tenure.cli.demo.automations:app"
LIVE = ("order", "refund", "lead")
REASON = "a demo: its providers are emulated, so there is no old system and nothing to harm"
WORKERS = 2

# Short enough that a killed worker's jobs go on before anybody looks at the clock.
_SETTINGS = {
    "lease": 6,
    "heartbeat": 1.5,
    "margin": 2,
    "call_timeout": 3,
    "max_inline_wait": 0.5,
    "poll": 0.2,
    "drain": 5,
    "concurrency": 8,
    "port": 0,
    "app": APP,
}
# Stripe counts each operation by itself, whatever the id in its path.
_STRIPE = (
    Limit(100, per=1.0, name="account"),
    Limit(25, per=1.0, match="/v1/charges/*", methods=("POST",), name="operation"),
)
_LATENCY, _JITTER = 0.03, 0.05
PROVIDERS = ("stripe", "hubspot", "resend")


class Scene:
    """The pieces, running while it is entered."""

    def __init__(
        self,
        *,
        url: str,
        seed: int,
        tighter: Mapping[str, int],
        keep: bool,
        tell: Callable[[str], None],
    ) -> None:
        """``url``: a database of somebody's, or empty; ``tighter``: units a provider allows."""
        self._given = url
        self._seed = seed
        self._tighter = tighter
        self._keep = keep
        self._tell = tell
        self._stack = contextlib.ExitStack()
        self.url = ""
        self.postgres = 0
        self.server = ""
        self.emulators: dict[str, DetachedEmulator] = {}
        self.workers: list[Piece] = []
        self.pieces: list[Piece] = []
        self.moves: list[Moved] = []
        # What both ends of a signature know; made anew for each demo.
        self.secrets = {
            "stripe": f"whsec_{secrets.token_hex(16)}",
            "leads": f"whsec_{secrets.token_hex(16)}",
        }

    def __enter__(self) -> Self:
        """Start all pieces, one after another; stops those that run where one does not start."""
        try:
            self._set()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop all pieces, workers first, the database last."""
        for piece in self.pieces:
            piece.ask_to_stop()
        self._stack.close()

    def database(self, name: str) -> Database:
        """A connection of its own, closed with the scene."""
        opened = Database(self.url, name=f"tenure demo {name}")
        self._stack.callback(opened.close)
        return opened

    def check(self) -> None:
        """Raise ``PieceFailed`` where a piece has ended by itself."""
        for piece in self.pieces:
            piece.check()

    @property
    def kept(self) -> str:
        """How to look around afterwards."""
        if self._given:
            return "the schema tenure was left in the database: tenure jobs"
        return f"the database was left: TENURE_EMBEDDED_DIRECTORY={folder.FOLDER} tenure jobs"

    def _set(self) -> None:
        directory = folder.make()
        if not self._keep:
            self._stack.callback(folder.empty)
        self._start_database(directory)
        database = self.database("set-up")
        self._tell("three providers with their published limits: Stripe, HubSpot, Resend")
        for number, name in enumerate(PROVIDERS):
            self._start_emulator(name, self._seed + number)
        tokens.create(
            database, owner="demo", scopes=["read"], by=options.named(None), expires=3600.0
        )
        self._tell(f"tenure serve, and {WORKERS} times tenure worker")
        environ = self._environ()
        server = self._start("server", ["serve"], environ, directory)
        self.workers = [
            self._start(f"worker-{number}", ["worker"], environ, directory)
            for number in range(1, WORKERS + 1)
        ]
        self.server = server.wait_said(r"listening on (http://\S+)")[1]
        for worker in self.workers:
            worker.wait_said("^live process .* is ready")
            worker.wait_said("^not-live process .* is ready")
        self._promote(database)

    def _start_database(self, directory: Path) -> None:
        if self._given:
            self.url = self._given
        else:
            self._tell(f"an embedded PostgreSQL in {folder.FOLDER}")
            self.url = self._stack.enter_context(embedded.start(directory)).url
        database = self.database("migrate")
        standing = tour.standing(database)
        if standing.there:
            raise Refused(
                "the database of TENURE_DATABASE_URL has a schema tenure: a demo would run among "
                "somebody's jobs",
                hint="Unset it for a database of the demo's own, or name an empty one.",
            )
        self.postgres = standing.server
        if self._given and not self._keep:
            self._stack.callback(self._remove)
        migrate.migrate(database)

    def _remove(self) -> None:
        """Take the schema that this demo made out of somebody's database again."""
        database = Database(self.url, name="tenure demo clean-up")
        try:
            if tour.standing(database).there:
                tour.remove(database)
        finally:
            database.close()

    def _start_emulator(self, name: str, seed: int) -> None:
        limits = _STRIPE if name == "stripe" else profile_named(name).limits
        if name in self._tighter:
            first = msgspec.structs.replace(limits[0], units=self._tighter[name])
            limits = (first, *limits[1:])
        config = Config(profile=name, limits=limits, latency=_LATENCY, jitter=_JITTER, seed=seed)
        self.emulators[name] = self._stack.enter_context(DetachedEmulator(config))

    def _start(
        self, name: str, command: list[str], environ: Mapping[str, str], directory: Path
    ) -> Piece:
        piece = Piece(name, command, environ=environ, directory=directory)
        self._stack.callback(piece.stop)
        self.pieces.append(piece)
        return piece

    def _environ(self) -> dict[str, str]:
        """What the pieces are told: their settings, the providers, the secrets; nothing of ours."""
        kept = {name: value for name, value in os.environ.items() if not _bends(name)}
        told = {f"TENURE_{name.upper()}": str(value) for name, value in _SETTINGS.items()}
        told["TENURE_DATABASE_URL"] = self.url
        told["PYTHONPATH"] = _import_path()
        for name, emulator in self.emulators.items():
            told[f"DEMO_{name.upper()}_URL"] = emulator.url
            told[f"DEMO_{name.upper()}_KEY"] = f"demo-{secrets.token_hex(12)}"
        for name, secret in self.secrets.items():
            told[f"DEMO_{name.upper()}_SECRET"] = secret
        return kept | told

    def _promote(self, database: Database) -> None:
        self._tell(f"{', '.join(LIVE)} go live by a waiver; digest stays in dry-run")
        self.moves = [
            stages.promote(
                database,
                name,
                "live",
                reason=REASON,
                actor=options.named(None),
                waiver=Waiver(("all",)),
                origin=options.ORIGIN,
            )
            for name in LIVE
        ]


def _bends(name: str) -> bool:
    """Whether a variable of ours would change what the pieces do."""
    return name.startswith(("TENURE_", "DEMO_", "PG")) or name.lower().endswith("_proxy")


def _import_path() -> str:
    """Where the pieces find the modules that we found, however we came by them."""
    return os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
