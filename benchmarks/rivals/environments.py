"""An environment for each queue, made where it is missing: ``build/rivals/NAME``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.rivals.peers import Peer

_FOLDER = Path("build/rivals")
_NEWEST = 14


def programs(peer: Peer) -> Path:
    """The Python that a peer's adapter runs on; raises ``LookupError`` where none is new enough."""
    if not peer.packages:
        return Path(sys.executable)
    folder = _FOLDER / peer.name
    python = folder / "bin" / "python"
    wanted = folder / "installed"
    if not wanted.exists() or wanted.read_text() != "\n".join(peer.packages):
        shutil.rmtree(folder, ignore_errors=True)
        _run(_python(peer.python), "-m", "venv", folder)
        _run(python, "-m", "pip", "install", "--quiet", *peer.packages)
        wanted.write_text("\n".join(peer.packages))
    return python


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)


def _python(least: tuple[int, int]) -> Path:
    """An interpreter of at least that version: this one, one on the path, one of pyenv's."""
    if sys.version_info[:2] >= least:
        return Path(sys.executable)
    for minor in range(least[1], _NEWEST + 1):
        found = shutil.which(f"python{least[0]}.{minor}")
        if found and _answers(Path(found)):
            return Path(found)
        kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        for python in sorted(kept.glob(f"{least[0]}.{minor}.*/bin/python")):
            return python
    wanted = ".".join(str(part) for part in least)
    raise LookupError(f"no Python {wanted} or newer is installed here, which this peer needs")


def _answers(python: Path) -> bool:
    """Whether it runs: version managers put names on the path that answer with an error."""
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0
