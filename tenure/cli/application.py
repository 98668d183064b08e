"""Finding the author's code: the application's path, and the application itself.

Called by commands that run or serve it; no other imports a line of it.  Promises: a path that is
missing or cannot be followed is one line with what to do, before anything is started.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click

from tenure import loading
from tenure.app import Tenure
from tenure.base.defaults import Settings
from tenure.base.errors import ConfigurationError

option = click.option("--app", metavar="MODULE:NAME", help="Where the automations are declared.")


def path(settings: Settings) -> str:
    """The application's path; raises ``ConfigurationError`` where it is not set or leads nowhere.

    Looks for the module without importing it: a worker's processes do that, behind their guard.
    """
    found = settings.app
    if not found:
        raise ConfigurationError(
            "no application is set: nobody knows where the automations are declared",
            hint='Set app = "automations:app" in tenure.toml, or TENURE_APP, or --app.',
        )
    package = found.partition(":")[0].partition(".")[0]
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if package.isidentifier() and importlib.util.find_spec(package) is None:
        raise ConfigurationError(
            f"there is no module {package!r}: the application could not be loaded",
            hint=f"Run from the folder that holds it, or mend app={found!r}.",
        )
    return found


def load(settings: Settings) -> Tenure:
    """The application, imported, with these settings; raises ``ConfigurationError``."""
    app = loading.load(path(settings))
    app.use(settings)
    return app
