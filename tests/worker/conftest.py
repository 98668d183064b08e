"""The worker's tests begin as the stories do."""

from __future__ import annotations

from tests.stories.conftest import crm, meeting, payments, proxy, rows, server, start

__all__ = ["crm", "meeting", "payments", "proxy", "rows", "server", "start"]
