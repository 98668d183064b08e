"""Automations as rows: what code declares, and the stage a person gave them.

Called by worker and server when they start.  Promises: a declaration never changes a stage.
"""

from __future__ import annotations

import msgspec

from tenure.base.model import Declared
from tenure.store.database import Database


def declare(database: Database, declared: Declared, *, by: str) -> str:
    """Write a declaration, open its lane, and tell the automation's stage."""
    values = msgspec.structs.asdict(declared)
    values |= {"listens": list(declared.listens), "tags": list(declared.tags), "by": by}
    rows = database.run("automations/declare", values)
    return str(rows[0]["stage"])
