"""``python -m tests.crash --seeds N --base N [--short] [--json]``: see the package.

Exits 0 only where nothing was lost, done twice, left unexplained or miscounted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import msgspec

from tenure.base.clock import now
from tests.crash.checks import Findings
from tests.crash.ground import Ground, ground
from tests.crash.points import POINTS
from tests.crash.run import Plan, plan, run


class Result(msgspec.Struct):
    """What all runs came to."""

    runs: int = 0
    lost: int = 0
    duplicates: int = 0
    unexplained: int = 0
    invariant_breaks: int = 0


def main(arguments: list[str] | None = None) -> int:
    """Run every point under every seed; 0 where nothing is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each point")
    parser.add_argument("--base", type=int, default=0, help="the first seed")
    parser.add_argument("--short", action="store_true", help="one run of each point")
    parser.add_argument("--only", default="", help="points whose name begins so")
    parser.add_argument("--json", action="store_true", help="one line of JSON on standard output")
    options = parser.parse_args(arguments)
    seeds = range(options.base, options.base + (1 if options.short else options.seeds))
    begun, result, kills, held = now(), Result(), 0, 0
    with ground() as prepared:
        for chosen, seed in _plans(seeds, options.only):
            found = _found(prepared, chosen)
            held += found.held
            kills += found.kills
            result.runs += 1
            for field in ("lost", "duplicates", "unexplained", "invariant_breaks"):
                setattr(result, field, getattr(result, field) + getattr(found, field))
            _say(f"{chosen.point.name} seed {seed}: {'ok' if found.clean else chosen}")
            for line in found.lines:
                _say(f"    {line}")
    _report(
        result,
        f"{kills} kills in {now() - begun:.0f} s; {held} times a person was asked",
        as_json=options.json,
    )
    wrong = result.lost + result.duplicates + result.unexplained + result.invariant_breaks
    return 1 if wrong or not result.runs else 0


def _plans(seeds: range, only: str) -> Iterator[tuple[Plan, int]]:
    for seed in seeds:
        for point in POINTS:
            if point.name.startswith(only):
                yield plan(point, seed), seed


def _found(prepared: Ground, chosen: Plan) -> Findings:
    """One run; one that does not come to its end has lost all of its jobs."""
    try:
        return run(prepared, chosen)
    except AssertionError as error:
        found = Findings(lost=chosen.jobs)
        found.lines.append(f"lost: the run did not end: {error}")
        return found


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _report(result: Result, beside: str, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(result).decode() + "\n")
        return
    sys.stdout.write(
        f"{result.runs} runs, {beside}: {result.lost} lost, {result.duplicates} done twice, "
        f"{result.unexplained} unexplained, {result.invariant_breaks} miscounted.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
