"""Budget rows: made when first needed, closed by a throttle.

Called by the worker.  Promises: a row is as the newest declaration has it; a closure is never
shortened.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.store.database import Database


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
) -> int:
    """The id of the budget's row, made and kept as declared; ``declared`` is JSON text."""
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
    return int(rows[0]["id"])


def close(database: Database, budgets: Sequence[int], *, seconds: float, by: str) -> set[int]:
    """Close budgets for all workers for so many seconds from now; tells which closed for longer."""
    rows = database.run("budgets/close", {"ids": sorted(budgets), "seconds": seconds, "by": by})
    return {row["id"] for row in rows}
