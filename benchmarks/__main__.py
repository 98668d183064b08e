"""``python -m benchmarks [claim] [drain] [--json] [--rows N] [--jobs N]``: measure and print."""

from __future__ import annotations

import argparse
import json
import os
import sys

from benchmarks import claim, drain
from benchmarks.ground import server


def main() -> int:
    """Run what was named, or all; print one JSON object or lines for people."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=["claim", "drain", []], default=[])
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each kind")
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs to drain")
    given = parser.parse_args()
    names = given.names or ["drain", "claim"]
    found: dict[str, object] = {"load": [round(x, 2) for x in os.getloadavg()]}
    with server() as url:
        if "drain" in names:
            found["drain"] = drain.measure(url, jobs=given.jobs)
        if "claim" in names:
            found["claim"] = claim.measure(url, rows=given.rows)
    if given.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:>8}  {json.dumps(value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
