"""Budget rows: made when first needed, closed by a throttle.

Called by the worker.  Promises: a row that stands is never rewritten by a declaration; a closure is
never shortened.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenure.store.database import Database


class Standing(msgspec.Struct, frozen=True):
    """A budget's row: its id, its units and the seconds over which they are counted."""

    id: int
    units: int
    counted: float


def ensure(
    database: Database,
    *,
    provider: str,
    account: str,
    name: str,
    scope: str,
    units: int,
    counted: float,
    declared: str,
) -> Standing:
    """The budget's row, made as declared where there is none; ``declared`` is JSON text."""
    parameters = {
        "provider": provider,
        "account": account,
        "name": name,
        "scope": scope,
        "units": units,
        "counted": counted,
        "declared": declared,
    }
    rows = database.run("budgets/ensure", parameters)
    if not rows:
        # A rival's row, committed after this statement's snapshot: it is there now.
        rows = database.run("budgets/ensure", parameters)
    return Standing(rows[0]["id"], rows[0]["units"], rows[0]["counted"])


def close(database: Database, budgets: Sequence[int], *, seconds: float, by: str) -> set[int]:
    """Close budgets for all workers for so many seconds from now; tells which closed for longer."""
    rows = database.run("budgets/close", {"ids": sorted(budgets), "seconds": seconds, "by": by})
    return {row["id"] for row in rows}
