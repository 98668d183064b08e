"""How a lease is kept: when it is renewed, and when its holder stops acting on it.

Called by the worker for every claim.  Promises: whatever the lease, there are three beats in it
before the margin begins, so that two of them may fail.
"""

from __future__ import annotations

# The shortest that outlasts a send window and a slow commit; the longest that anybody waits for a
# worker that died.
LEAST = 3.0
MOST = 86_400.0


def heartbeat(lease: float, most: float) -> float:
    """Seconds between renewals: a quarter of the lease, and never more than the setting."""
    return min(lease / 4, most)


def margin(lease: float, most: float) -> float:
    """Seconds before its end: a sixth of the lease, and never more than the setting."""
    return min(lease / 6, most)
