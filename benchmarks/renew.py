"""What keeping ten thousand leases costs: each round renews every one of them."""

from __future__ import annotations

import uuid

from benchmarks.ground import database, postmaster, processor_seconds, quantiles
from tenure.base import clock
from tenure.base.model import Declared
from tenure.store import automations, claims, leases

LEASE = 600.0
_FILL = """
    insert into tenure.jobs (leased_until, strand, home, mode, automation, version, lane,
                             created_by)
    select tenure.clock(), s.id, s.id, 'live', s.automation, '1', s.lane, 'bench'
      from tenure.strands as s, generate_series(1, %(rows)s)
     where s.live and not s.quarantine
"""
# A lease is renewed once a third of it has gone.
_AGE = "update tenure.jobs set leased_until = tenure.clock() + make_interval(secs => %(left)s)"


def measure(url: str, *, rows: int = 10_000, rounds: int = 5) -> dict[str, object]:
    """Seconds for a chunk of a thousand, and processor seconds of the server for a round."""
    worker = uuid.uuid4()
    with database(url) as own:
        automations.declare(own, Declared(name="kept", version="1"), by="bench")
        conn = own.connect()
        conn.execute(_FILL, {"rows": rows})
        conn.execute("update tenure.strands set next_at = tenure.clock()")
        strand = claims.dispatch(
            own, automations=["kept"], live=True, quarantine=False, after=0, limit=1
        )[0]
        held: dict[uuid.UUID, int] = {}
        while len(held) < rows:
            got = claims.claim(
                own, worker=worker, lease=LEASE, quotas={strand.id: 1000}, quarantine=False
            )
            held |= {job.id: job.fence for job in got.jobs}
        chunks = [dict(list(held.items())[n : n + 1000]) for n in range(0, rows, 1000)]
        server, taken, spent = postmaster(own), [], 0.0
        for _ in range(rounds):
            conn.execute(_AGE, {"left": LEASE / 2})
            conn.execute("vacuum tenure.jobs")
            before = processor_seconds(server)
            for chunk in chunks:
                began = clock.now()
                said = leases.renew(own, worker=worker, lease=LEASE, claims=chunk)
                taken.append(clock.now() - began)
                if any(renewal.said != "renewed" for renewal in said):
                    raise RuntimeError("not every lease was renewed: this measured something else")
            spent += processor_seconds(server) - before
        return {
            "leases": rows,
            "a_thousand": quantiles(taken),
            "server_cpu_s_a_round": round(spent / rounds, 3),
        }
