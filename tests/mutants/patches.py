"""The mutants as they lie beside this module.

Read by the runner and by the test of the patches.  Promises: a patch that says too little about
itself is an error that names it; they come in the order of their numbers.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent

_NAME = re.compile(r"\d{3}(-[a-z0-9]+)+")
_HEADER = re.compile(r"(Promise|Removes|Red|Short): (.+)")
_TARGET = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)


class Malformed(ValueError):
    """A patch whose header does not say what it must."""


class Mutant(NamedTuple):
    """One mechanism removed, and the tests of which one at least must fail without it."""

    path: Path
    promise: str
    removes: str
    red: tuple[str, ...]
    short: bool

    @property
    def name(self) -> str:
        """The patch's name, number first."""
        return self.path.stem

    @property
    def targets(self) -> tuple[str, ...]:
        """The files that it changes or makes."""
        return tuple(_TARGET.findall(self.path.read_text(encoding="utf-8")))


def read(path: Path) -> Mutant:
    """One mutant; raises ``Malformed`` with its name and what is wrong."""
    said: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("diff ", "--- ")):
            break
        if found := _HEADER.fullmatch(line):
            said.setdefault(found[1], []).append(found[2].strip())
        elif line.strip():
            raise Malformed(f"{path.name}: what is this line before the diff? {line!r}")
    if not _NAME.fullmatch(path.stem):
        raise Malformed(f"{path.name}: a mutant is named NNN-what-is-removed.patch")
    for word in ("Promise", "Removes", "Red"):
        if word not in said or (word != "Red" and len(said[word]) > 1):
            raise Malformed(f"{path.name}: one line begins with {word}: (several for Red:)")
    short = said.get("Short") == ["yes"]
    return Mutant(path, said["Promise"][0], said["Removes"][0], tuple(said["Red"]), short)


def everything(folder: Path = HERE) -> list[Mutant]:
    """All mutants of a folder, in order."""
    return [read(path) for path in sorted(folder.glob("*.patch"))]


def chosen(mutants: list[Mutant], *, short: bool, only: tuple[str, ...]) -> list[Mutant]:
    """Those of the short run, or those whose name holds one of the words."""
    return [
        mutant
        for mutant in mutants
        if (not short or mutant.short) and (not only or any(word in mutant.name for word in only))
    ]
