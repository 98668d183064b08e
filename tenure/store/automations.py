"""Automations as rows: what code declares, and the stage a person gave them.

Called by worker and server when they start, and by whoever makes a job without the code at hand.
Promises: a declaration never changes a stage.
"""

from __future__ import annotations

import msgspec

from tenure.base import schema
from tenure.base.defaults import Settings
from tenure.base.model import Declared
from tenure.store.database import Database

_INPUT_LIMIT = Settings().input_limit


def declare(
    database: Database, declared: Declared, *, by: str, input_limit: int = _INPUT_LIMIT
) -> str:
    """Write a declaration, open its lane, and tell the automation's stage.

    ``input_limit``: the longest input, in bytes, that callers in SQL may give.
    """
    values = msgspec.structs.asdict(declared)
    values |= {"listens": list(declared.listens), "tags": list(declared.tags), "by": by}
    values |= {"input_limit": input_limit}
    rows = database.run("automations/declare", values)
    return str(rows[0]["stage"])


def check_input(database: Database, name: str, text: str) -> None:
    """Raise ``InvalidInput`` where an input cannot fit what was declared; unknown names pass."""
    for row in database.run("automations/input_schema", {"name": name}):
        if row["input_schema"] is not None:
            schema.check(row["input_schema"], text)
