"""``python -m tests.outage [--seconds 45] [--failover] [--json]``: no database, and then one again.

Two workers, jobs that come in all the while, calls in a provider's hands as the server stops
without a word.  Counted: acknowledged jobs that are lost, questions that nobody should be asked,
effects that happened twice, workers that ended.  ``--failover``: the server stays away, and its
synchronous standby is promoted in its place.  Exit code 0 where all of them are none.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.outage.run import run


def main() -> int:
    """Run it, and tell."""
    parser = argparse.ArgumentParser(prog="tests.outage", description=__doc__)
    parser.add_argument("--seconds", type=float, default=45.0, help="how long there is no database")
    parser.add_argument("--failover", action="store_true", help="a standby takes over")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    found = run(given.seconds, failover=given.failover)
    counts = ("lost", "duplicates", "holds", "workers_ended", "invariant_breaks")
    bad = any(found[count] for count in counts)
    if given.json:
        print(json.dumps(found))  # noqa: T201 - the command's output
    else:
        for name, value in found.items():
            print(f"{name:>20}  {value}")  # noqa: T201 - the command's output
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
