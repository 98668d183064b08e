"""Break the code on purpose and see the tests notice: see the package's own docstring."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TextIO

from tenure.base import clock
from tenure.embedded import start
from tests.house.tree import ROOT
from tests.mutants import judge, patches, tree
from tests.mutants.judge import ALIVE, Judgement, Place
from tests.mutants.patches import Mutant

_GIVEN = "TENURE_TEST_URL"
_ROOM = 3_000_000_000  # bytes: a migrated template for each mutant of the schema
_ONE = 300.0  # seconds for the tests of one mutant
_ALL = 1_800.0  # seconds for every named test on the tree as it is
_INVALID = 2


class Told(NamedTuple):
    """A mutant with what came of it."""

    mutant: Mutant
    judgement: Judgement
    seconds: float

    def line(self, *, fully: bool) -> str:
        """One line for people; ``fully``: with what was removed and what the test said."""
        by = self.judgement.by.rpartition("/")[2] or self.judgement.says
        short = f"{self.judgement.outcome:8}  {self.mutant.name:44} {self.seconds:5.1f} s  {by}"
        if not fully:
            return short
        lines = [short, f"          promise {self.mutant.promise}: {self.mutant.removes}"]
        lines.append(f"          {self.judgement.says}")
        if self.judgement.outcome != "killed":
            lines += [f"          | {line}" for line in self.judgement.output.splitlines()]
        return "\n".join(lines)

    def fields(self) -> dict[str, object]:
        """The same as JSON has it."""
        return {
            "name": self.mutant.name,
            "promise": self.mutant.promise,
            "removes": self.mutant.removes,
            "red": list(self.mutant.red),
            "outcome": self.judgement.outcome,
            "by": self.judgement.by,
            "says": self.judgement.says,
            "seconds": round(self.seconds, 1),
        }


Say = Callable[[str], None]


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for: 0 all killed, 1 not all, 2 the tests were not green to begin with."""
    asked = _asked(arguments)
    say = _sayer(sys.stderr if asked.json else sys.stdout)
    mutants = patches.chosen(patches.everything(), short=asked.short, only=tuple(asked.only))
    if not mutants:
        say("no mutant of that name")
        return _INVALID
    # Told to stop it takes its server and its copies along.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = clock.now()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, _server() as database_url:
        place = Place(Path(folder) / "tree", database_url)
        tree.copy(ROOT, place.tree)
        judge.check_place(place)
        if not _green(place, mutants, asked.lanes, say):
            return _INVALID
        told = _all(place, mutants, asked.lanes, lambda t: say(t.line(fully=asked.verbose)))
    seconds = clock.now() - began
    counts = {
        outcome: sum(t.judgement.outcome == outcome for t in told)
        for outcome in ("killed", "survived", "broken")
    }
    if asked.json:
        found = [t.fields() for t in told]
        json.dump({**counts, "seconds": round(seconds, 1), "mutants": found}, sys.stdout, indent=2)
    numbers = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    say(f"{numbers} in {seconds:.0f} s")
    return 0 if counts["killed"] == len(mutants) else 1


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--short", action="store_true", help="one for each promise")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="by name")
    parser.add_argument("--json", action="store_true", help="the results on standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what each test said")
    lanes = (os.cpu_count() or 1) + 1  # some of them mostly wait
    parser.add_argument("--lanes", type=int, default=lanes, help=f"at once (default: {lanes})")
    return parser.parse_args(arguments)


def _sayer(stream: TextIO) -> Say:
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock:
            print(line, file=stream, flush=True)

    return say


@contextlib.contextmanager
def _server() -> Iterator[str]:
    """One database server for everybody, in memory where there is room."""
    if given := os.environ.get(_GIVEN):
        yield given
        return
    memory = Path("/dev/shm")  # noqa: S108 - the name is the system's, and mkdtemp makes ours
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > _ROOM
    folder = Path(tempfile.mkdtemp(prefix="tenure-", dir=memory if roomy else None))
    folder.chmod(0o711)  # so that root can give the server to a lesser account
    try:
        with start(folder / "t") as embedded:
            yield embedded.url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _green(place: Place, mutants: Sequence[Mutant], lanes: int, say: Say) -> bool:
    """Whether every named test passes on the tree as it is."""
    named = [ALIVE, *sorted({test for mutant in mutants for test in mutant.red})]
    say(f"{len(mutants)} mutants; first {len(named)} tests on the tree as it is")
    began = clock.now()
    code, ended, output = judge.run(place, named, within=_ALL, options=("-n", str(lanes)))
    if code == 0:
        say(f"green in {clock.now() - began:.0f} s")
        return True
    for case in ended:
        if case.ended != "passed":
            say(f"not green without any mutant: {case.test}: {case.says}")
    say(f"{output}\nthe run says nothing: the tests must be green before anything is removed")
    return False


def _all(
    place: Place, mutants: Sequence[Mutant], lanes: int, say: Callable[[Told], None]
) -> list[Told]:
    def one(mutant: Mutant) -> Told:
        began = clock.now()
        own = Place(place.tree.parent / mutant.name, place.database_url)
        tree.again(place.tree, own.tree)
        try:
            tree.apply(mutant.path, own.tree, mutant.targets)
            judgement = judge.judge(own, mutant.red, within=_ONE)
        except tree.Unfit as error:
            judgement = Judgement("broken", "", str(error))
        finally:
            shutil.rmtree(own.tree, ignore_errors=True)
        told = Told(mutant, judgement, clock.now() - began)
        say(told)
        return told

    pool = ThreadPoolExecutor(lanes)
    try:
        return list(pool.map(one, mutants))
    finally:
        pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
