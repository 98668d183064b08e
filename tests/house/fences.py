"""Hold one house after another against the import contracts: the other half of ``test_floors``.

Run in a process of its own, because a contract is checked on the package that is found first, and
the test process has found its own already.  Takes, as JSON on standard input, the configuration
and a list of (folder, contract or none); gives a list of (exit code, what was printed).
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys

from importlinter.cli import lint_imports


def check(config: str, folder: str, contract: str | None) -> tuple[int, str]:
    """Check the package in ``folder``, by one contract or by all: exit code and report."""
    os.chdir(folder)
    sys.path[0] = folder
    importlib.invalidate_caches()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = lint_imports(
            config_filenames=(config,),
            limit_to_contracts=(contract,) if contract else (),
            cache_dir=None,
            no_cache=True,
            no_logo=True,
        )
    return code, said.getvalue()


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump([check(asked["config"], *house) for house in asked["houses"]], sys.stdout)
