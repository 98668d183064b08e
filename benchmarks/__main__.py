"""``python -m benchmarks [NAME …] [--json] [--rows N] [--jobs N]``: measure and print."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable

from benchmarks import claim, drain, enqueue, idle, renew
from benchmarks.ground import server

MEASURES: dict[str, Callable[[str, argparse.Namespace], dict[str, object]]] = {
    "drain": lambda url, given: drain.measure(url, jobs=given.jobs),
    "claim": lambda url, given: claim.measure(url, rows=given.rows),
    "enqueue": lambda url, _: enqueue.measure(url),
    "renew": lambda url, _: renew.measure(url),
    "idle": lambda url, _: idle.measure(url),
}


def main() -> int:
    """Run what was named, or all; print one JSON object or lines for people."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MEASURES, []], default=[])
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each kind")
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs to drain")
    given = parser.parse_args()
    found: dict[str, object] = {"load": [round(x, 2) for x in os.getloadavg()]}
    with server() as url:
        for name, measure in MEASURES.items():
            if name in (given.names or MEASURES):
                found[name] = measure(url, given)
    if given.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:>8}  {json.dumps(value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
