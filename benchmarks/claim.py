"""What a claim costs where a million jobs are ready, a million lie ahead, a million are shut in.

Ten strands are ready; half the future ones share those strands at a higher priority, so a claim
that walked over them would show.
"""

from __future__ import annotations

import uuid

from benchmarks.ground import database, quantiles
from tenure.base import clock
from tenure.base.model import Declared
from tenure.store import automations, claims
from tenure.store.database import Database

STRANDS = 10
_FILL = """
    insert into tenure.jobs (leased_until, strand, home, priority, mode, automation, version, lane,
                             created_by)
    select tenure.clock() + make_interval(secs => %(ahead)s * (1 + random())), s.id, s.id,
           %(priority)s, 'live', s.automation, '1', s.lane, 'bench'
      from tenure.strands as s, generate_series(1, %(rows)s)
     where s.automation = %(automation)s and s.live and not s.quarantine
"""


def measure(url: str, *, rows: int = 1_000_000, claims_made: int = 300) -> dict[str, object]:
    """Claims of ten and of a hundred jobs, over ten strands, among three times ``rows``."""
    with database(url) as own:
        names = _fill(own, rows)
        found: dict[str, object] = {"rows": 3 * rows}
        for batch in (10, 100):
            found[f"claim_{batch}"] = quantiles(_claims(own, names, batch, claims_made))
        return found


def _fill(own: Database, rows: int) -> list[str]:
    conn = own.connect()
    ready = [f"ready{n}" for n in range(STRANDS)]
    for n, name in enumerate([*ready, "future", "closed"]):
        lane = "free" if n < STRANDS // 2 else f"lane{n}"
        automations.declare(own, Declared(name=name, version="1", lane=lane), by="bench")
    shares = [(name, -3600, 5, rows // STRANDS) for name in ready]
    shares += [(name, 3600, 0, rows // 2 // STRANDS) for name in ready]
    shares += [("future", 3600, 0, rows // 2), ("closed", -3600, 0, rows)]
    for name, ahead, priority, count in shares:
        values = {"automation": name, "ahead": ahead, "priority": priority, "rows": count}
        conn.execute(_FILL, values)
    conn.execute("update tenure.strands set next_at = '2020-01-01' where live and not quarantine")
    conn.execute(
        "update tenure.strands set closed_until = tenure.clock() + interval '1 day'"
        " where automation = 'closed'"
    )
    conn.execute("vacuum analyze tenure.jobs")
    conn.execute("checkpoint")
    return [*ready, "future", "closed"]


def _claims(own: Database, names: list[str], batch: int, count: int) -> list[float]:
    worker = uuid.uuid4()
    taken = []
    for n in range(count + 10):
        strands = claims.dispatch(
            own, automations=names, live=True, quarantine=False, after=0, limit=64
        )
        quotas = {strand.id: batch // STRANDS for strand in strands}
        began = clock.now()
        got = claims.claim(own, worker=worker, lease=600, quotas=quotas, quarantine=False)
        if n >= 10:  # the first ones make plans
            taken.append(clock.now() - began)
        if got.rows != batch:
            raise RuntimeError(f"claimed {got.rows} of {batch}: this measured something else")
    return taken
