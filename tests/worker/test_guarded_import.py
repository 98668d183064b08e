"""What an author's module does when it is imported is done under the guard, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure.testing.emulators import Emulator
from tests.kit.facts import until
from tests.kit.rows import providers
from tests.kit.worker import Worker

_CODE = """
import os
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from tenure import Context, Tenure

app = Tenure()
place = urlsplit(os.environ["KIT_CRM"])
with suppress(Exception):
    socket.create_connection((place.hostname, place.port), timeout=5.0).close()


@app.automation
async def lead(ctx: Context) -> None: ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder with a module that connects to the outside when it is imported."""
    (tmp_path / "early.py").write_text(_CODE)
    return str(tmp_path)


@pytest.mark.parametrize(("only", "connections"), [("not-live", 0), ("live", 1)])
def test_a_module_that_connects_at_import_is_refused_in_a_process_for_dry_runs(
    database_url: str, crm: Emulator, folder: str, only: str, connections: int
) -> None:
    """Where jobs are not live nothing gets out, at import as little as later; and it is said."""
    environ = providers(crm=crm.url)
    with Worker(database_url, "early:app", only=only, environ=environ, directory=folder) as worker:
        worker.wait_ready(only)
        assert crm.connections == connections
        if not connections:
            until(lambda: worker.said("around the gate"), "the guard has said so")
