"""One outage: the scene, the load, the blow, and what was found afterwards."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.conninfo import make_conninfo

from tenure.base import clock
from tenure.base.errors import DatabaseUnavailable
from tenure.base.keys import child_key
from tenure.store import migrate
from tenure.store.database import Database, Unknown
from tenure.testing.emulators import Emulator, Limit, generic, stripe
from tests.kit.automations import Order, app
from tests.kit.cluster import Cluster
from tests.kit.facts import until
from tests.kit.rows import Rows, providers
from tests.kit.worker import Worker

_WIDE = Limit(1_000_000, per=1.0)
_STEPS = {"charge": ("charge", "refund"), "deal": ("deal", "note")}
# As they are by default, but for what would make the run longer than it need be.
_SETTINGS = {
    "lease": 60.0,
    "heartbeat": 15.0,
    "margin": 10.0,
    "call_timeout": 30.0,
    "processes": 1,
}
_PACE = 0.1
_BEFORE, _AFTER = 40, 40
_ENDS_WITHIN = 240.0
_OVER = {"succeeded", "failed", "cancelled", "held"}


class Load:
    """Makes jobs one after another; only those that were acknowledged count."""

    def __init__(self, url: str) -> None:
        """``url`` is what an application would be given."""
        self.made: list[tuple[UUID, str]] = []
        self.refused = 0
        self._url = url
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        database = Database(self._url, name="load")
        number = 0
        while not self._stop.wait(_PACE):
            number += 1
            automation = ("charge", "deal")[number % 2]
            try:
                job = Rows(database).enqueue(automation, Order(number))
            except (DatabaseUnavailable, Unknown):  # nobody said that it was made
                self.refused += 1
                database.close()
            else:
                self.made.append((job, automation))
        database.close()

    def stop(self) -> None:
        """Make no more."""
        self._stop.set()
        self._thread.join()


def run(seconds: float, *, failover: bool) -> dict[str, object]:
    """Let a database be away for so many seconds; what was found."""
    with ExitStack() as stack:
        primary, standby, url = stack.enter_context(_servers(failover=failover))
        database = Database(url, name="outage")
        migrate.migrate(database)
        Rows(database).declare(app)
        database.close()
        payments = stack.enter_context(Emulator(stripe(_WIDE)))
        crm = stack.enter_context(Emulator(generic(_WIDE)))
        environ = {**providers(stripe=payments.url, crm=crm.url), "TENURE_LOG": "ERROR"}
        workers = [
            stack.enter_context(Worker(url, environ=environ, settings=_SETTINGS)) for _ in range(2)
        ]
        for worker in workers:
            worker.wait_ready()
        load = Load(url)
        stack.callback(load.stop)
        until(lambda: len(load.made) >= _BEFORE, "jobs come in")
        with (
            payments.hold("/v1/refunds", when="after") as one,
            crm.hold("/notes", when="after") as two,
        ):
            one.wait_arrived(3)
            two.wait_arrived(3)
            primary.stop_at_once()
        began = clock.now()
        until(lambda: clock.now() - began >= seconds, "the outage is over", seconds + 30.0)
        (standby.promote if standby else primary.start)()
        until(lambda: _answers(url), "the database is back", 60.0)
        after = len(load.made)
        until(lambda: len(load.made) >= after + _AFTER, "jobs come in again", 60.0)
        load.stop()
        rows = Rows(database)
        lasting = _settled(rows, len(load.made))
        found = _found(rows, load, (payments, crm))
        return {
            "seconds": seconds,
            "failover": failover,
            "jobs": len(load.made),
            "refused": load.refused,
            "settled_after": round(lasting, 1),
            **found,
            "workers_ended": sum(worker.popen.poll() is not None for worker in workers),
        }


@contextmanager
def _servers(*, failover: bool) -> Iterator[tuple[Cluster, Cluster | None, str]]:
    """A primary, its synchronous standby where one is asked for, and the address of both."""
    folder = Path(tempfile.mkdtemp(prefix="to-"))
    folder.chmod(0o711)
    primary, standby = Cluster(folder / "a"), Cluster(folder / "b")
    try:
        primary.make()
        primary.start()
        if not failover:
            yield primary, None, primary.url
            return
        standby.copy(primary)
        standby.start()
        with psycopg.connect(primary.url, autocommit=True) as conn:
            conn.execute("alter system set synchronous_standby_names = '*'")
            conn.execute("select pg_reload_conf()")
            until(lambda: _synchronous(conn), "the standby is synchronous")
        both = f"{primary.sockets},{standby.sockets}"
        url = make_conninfo(
            primary.url, host=both, port="5432,5432", target_session_attrs="read-write"
        )
        yield primary, standby, url
    finally:
        primary.remove()
        standby.remove()
        folder.rmdir()


def _synchronous(conn: psycopg.Connection) -> bool:
    row = conn.execute("select count(*) from pg_stat_replication where sync_state = 'sync'")
    found = row.fetchone()
    return bool(found and found[0])


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _settled(rows: Rows, jobs: int) -> float:
    """Seconds until every job has ended or is held; those that never do are counted as lost."""
    began = clock.now()

    def settled() -> bool:
        with suppress(DatabaseUnavailable):
            # One more may have been made than was acknowledged: it ends too.
            states = rows.states()
            return states.keys() <= _OVER and sum(states.values()) >= jobs
        return False

    with suppress(AssertionError):  # told by the counts
        until(settled, "all jobs have ended", _ENDS_WITHIN)
    return clock.now() - began


def _found(rows: Rows, load: Load, emulators: tuple[Emulator, Emulator]) -> dict[str, object]:
    keys = Counter(effect.key for emulator in emulators for effect in emulator.effects)
    states = {row["id"]: row["state"] for row in rows.read("select id, state from tenure.all_jobs")}
    lost = [job for job, _ in load.made if states.get(job) not in ("succeeded", "held")]
    without = [
        (job, step)
        for job, automation in load.made
        for step in _STEPS[automation]
        if states.get(job) == "succeeded" and not keys[child_key(job, step)]
    ]
    return {
        "lost": len(lost) + len(without),
        "duplicates": sum(count - 1 for count in keys.values()),
        "holds": len(rows.questions()),
        "invariant_breaks": len(rows.broken_counts()),
        "ends": rows.read(
            "select ended, count(*)::int as n from tenure.attempts group by ended order by ended"
        ),
    }
