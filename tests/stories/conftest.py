"""What every story begins with: declared automations, two providers, a place to meet."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tenure.base.errors import DatabaseUnavailable
from tenure.embedded import Embedded
from tenure.embedded import start as start_server
from tenure.store.database import Database, Unknown
from tenure.testing.emulators import Emulator, generic, stripe
from tests.kit.automations import app
from tests.kit.meeting import Meeting
from tests.kit.pgproxy import Proxy
from tests.kit.rows import Rows, providers
from tests.kit.worker import APP, Worker


@pytest.fixture
def rows(database: Database) -> Rows:
    """The test's database, with the kit's automations live in it."""
    rows = Rows(database)
    rows.declare(app)
    return rows


@pytest.fixture
def payments() -> Iterator[Emulator]:
    """A provider that honours keys."""
    with Emulator(stripe()) as emulator:
        yield emulator


@pytest.fixture
def crm() -> Iterator[Emulator]:
    """A provider that honours none."""
    with Emulator(generic()) as emulator:
        yield emulator


@pytest.fixture
def meeting() -> Iterator[Meeting]:
    """Where handlers and test meet."""
    with Meeting() as meeting:
        yield meeting


@pytest.fixture
def proxy(database_url: str) -> Iterator[Proxy]:
    """A proxy before the test's database."""
    with Proxy(database_url) as proxy:
        yield proxy


Start = Callable[..., Worker]


@pytest.fixture
def start(
    database_url: str, payments: Emulator, crm: Emulator, meeting: Meeting
) -> Iterator[Start]:
    """Starts workers that find the test's database, providers and meeting; ends them all."""
    environ = {**providers(stripe=payments.url, crm=crm.url), **meeting.environ}
    with ExitStack() as stack:

        def started(
            url: str = database_url,
            *,
            app: str = APP,
            only: str = "live",
            more: Mapping[str, str] | None = None,
            **settings: float,
        ) -> Worker:
            given = {**environ, **(more or {})}
            worker = Worker(url, app, only=only, environ=given, settings=settings)
            return stack.enter_context(worker)

        yield started


@pytest.fixture
def server() -> Iterator[Embedded]:
    """A server of this test's own, with durable commits, to be stopped without a word."""
    folder = Path(tempfile.mkdtemp(prefix="te-"))
    folder.chmod(0o711)
    with start_server(folder / "t") as embedded:
        yield embedded
    shutil.rmtree(folder)


def stop_at_once(server: Embedded) -> None:
    """SIGQUIT: no checkpoint, no farewell; its keeper starts it again."""
    first_line = (server.directory / "pg" / "postmaster.pid").read_text().splitlines()[0]
    os.kill(int(first_line), signal.SIGQUIT)


def answers(database: Database) -> bool:
    """Whether the server answers, on a connection that is made anew where it does not."""
    try:
        return bool(database.execute("select 1 as one"))
    except (DatabaseUnavailable, Unknown):
        database.close()
        return False
