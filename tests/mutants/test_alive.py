"""The shortest proof that the tree works at all, asked before any mutant's own tests."""

from __future__ import annotations

from tenure.testing.emulators import Emulator
from tests.kit.automations import Order
from tests.kit.rows import Rows
from tests.stories.conftest import Start, crm, meeting, payments, rows, start

__all__ = ["crm", "meeting", "payments", "rows", "start"]


def test_a_job_runs_from_end_to_end(start: Start, rows: Rows, payments: Emulator) -> None:
    """One worker, one job: a step, two effects, a result."""
    job = rows.enqueue("charge", Order(3))
    start()
    rows.until_ended(1)
    # Asked where it has ended, so that a mutant which settles in two moves is left to its own test.
    ended = rows.one("select result from tenure.finished_jobs where id = %(id)s", id=job)
    assert ended["result"] == 6
    assert [effect.path for effect in payments.effects] == ["/v1/charges", "/v1/refunds"]
