"""Copies of the tree: what is there is never touched.

Used by the runner.  Promises: a copy holds what git tracks or would track and nothing that tools
made; a patch that does not fit is told, not forced; a patched module is Python at least.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


class Unfit(Exception):
    """A patch that cannot be applied to the tree as it is now."""


def copy(source: Path, target: Path) -> None:
    """Copy what git tracks, and what it would track, as it stands in the folder now."""
    listed = subprocess.run(
        ["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    ).stdout
    for name in sorted(set(listed.decode().split("\0")) - {""}):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)


def again(copied: Path, target: Path) -> None:
    """Copy a copy, compiled modules and all: times are kept, so that they are still good."""
    shutil.copytree(copied, target, symlinks=True)


def apply(patch: Path, tree: Path, changed: Sequence[str]) -> None:
    """Apply a patch to a copy; raises ``Unfit`` where it does not fit, or leaves no Python."""
    done = subprocess.run(
        ["git", "apply", "-p1", "-C1", "--whitespace=nowarn", patch],
        cwd=tree,
        # A copy is no repository, nor part of one that may lie around it.
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent), "GIT_DIR": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unfit(f"it no longer applies: {' '.join(done.stderr.split())}")
    for name in changed:
        if name.endswith(".py"):
            _compile(tree / name)


def _compile(module: Path) -> None:
    try:
        compile(module.read_text(encoding="utf-8"), str(module), "exec")
    except SyntaxError as error:
        raise Unfit(f"what it leaves is no Python: {error}") from error
