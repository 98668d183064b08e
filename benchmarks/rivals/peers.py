"""The queues that are measured: what to install, how to run them, how to tell they are done."""

from __future__ import annotations

import msgspec


class Peer(msgspec.Struct, frozen=True):
    """One queue under one setting.

    ``packages`` are installed into an environment of its own, on a Python of at least ``python``;
    none means this project's own.  ``left`` counts the jobs that are not durably ended.
    """

    name: str
    adapter: str
    left: str
    packages: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)
    concurrency: int = 100
    options: dict[str, str] = {}


_AWA_LEFT = """
    select count(*) from awa.jobs
     where state::text in ('available', 'running', 'retryable', 'scheduled', 'waiting_external')
"""
_OBAN_LEFT = """
    select count(*) from oban_jobs where state not in ('completed', 'cancelled', 'discarded')
"""

# The settings are those under which each was found quickest for jobs that do nothing.
PEERS = {
    peer.name: peer
    for peer in (
        Peer("tenure", "tenure_jobs", "select count(*) from tenure.jobs"),
        Peer(
            "pgqueuer",
            "pgqueuer_jobs",
            "select count(*) from pgqueuer",
            packages=("pgqueuer[asyncpg]==1.6.0", "uvloop"),
            options={"batch": "100", "dequeuers": "3"},
        ),
        Peer(
            "awa",
            "awa_jobs",
            _AWA_LEFT,
            packages=("awa-pg==0.6.9",),
            concurrency=1000,
        ),
        Peer(
            "oban",
            "oban_jobs",
            _OBAN_LEFT,
            packages=("oban==0.7.0", "psycopg[binary]"),
            python=(3, 12),
            concurrency=1000,
        ),
    )
}
