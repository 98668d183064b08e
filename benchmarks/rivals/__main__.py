"""``python -m benchmarks.rivals [PEER …] [--repeats N] [--jobs N] [--json]``: all in one run.

Every round measures each queue once, in another order, so that what the machine does beside is
shared out among them.  What counts is a ratio within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys

import msgspec
import psycopg

from benchmarks.ground import postmaster_of, server
from benchmarks.rivals.environments import programs
from benchmarks.rivals.load import Drained, drain
from benchmarks.rivals.peers import PEERS

# The same for everybody; fsync and synchronous_commit stay on.
_SETTINGS = {
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "autovacuum_naptime": "15s",
    "work_mem": "8MB",
    "jit": "off",
}


def main() -> int:
    """Measure and print: a line a queue, or one JSON object."""
    parser = argparse.ArgumentParser(prog="benchmarks.rivals", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"of {', '.join(PEERS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    if unknown := set(given.peers) - set(PEERS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    names = [name for name in PEERS if name in given.peers or not given.peers]
    for name in names:
        programs(PEERS[name])  # all that is missing is installed before anything is measured
    with server(shared_buffers="512MB") as url:
        _settle(url)
        found = _rounds(names, url, given.repeats, given.jobs)
    report = _report(found)
    if given.json:
        print(json.dumps(report))
    else:
        _print(report)
    return 0


def _settle(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        for name, value in _SETTINGS.items():
            conn.execute(f"alter system set {name} = '{value}'".encode())
        conn.execute("select pg_reload_conf()")


def _rounds(names: list[str], url: str, repeats: int, jobs: int) -> dict[str, list[Drained]]:
    found: dict[str, list[Drained]] = {name: [] for name in names}
    with psycopg.connect(url) as conn:
        postmaster = postmaster_of(conn)
    for number in range(repeats):
        order = list(names)
        random.Random(number).shuffle(order)  # noqa: S311 - an order, no secret
        for name in order:
            drained = drain(PEERS[name], url, postmaster, jobs)
            found[name].append(drained)
            sys.stderr.write(f"{name}: {drained.jobs_per_second:.0f} jobs/s\n")
    return found


def _report(found: dict[str, list[Drained]]) -> dict[str, object]:
    """Medians by queue, and what ours is of each other one's rate."""
    medians = {
        name: {
            field: statistics.median(getattr(one, field) for one in drains)
            for field in Drained.__struct_fields__
        }
        for name, drains in found.items()
    }
    report: dict[str, object] = {"load": [round(x, 2) for x in os.getloadavg()], "drain": medians}
    if "tenure" in medians:
        own = medians["tenure"]["jobs_per_second"]
        report["ratio"] = {
            name: round(own / median["jobs_per_second"], 2)
            for name, median in medians.items()
            if name != "tenure"
        }
    report["rounds"] = msgspec.to_builtins(found)
    return report


def _print(report: dict[str, object]) -> None:
    for name, value in report.items():
        if isinstance(value, dict) and name != "rounds":
            for peer, figures in value.items():
                print(f"{name:>6}  {peer:<10} {json.dumps(figures)}")


if __name__ == "__main__":
    sys.exit(main())
