"""An application of one automation that does nothing, for what is measured around it."""

from __future__ import annotations

from tenure import Context, Tenure

app = Tenure()


@app.automation
async def nothing(ctx: Context, n: int) -> None:
    """Nothing at all."""
    del ctx, n


ENQUEUE = """
    select count(*) from (
        select (tenure.enqueue('nothing', to_json(n))).job_id from generate_series(1, %(jobs)s) as n
    ) as made
"""
