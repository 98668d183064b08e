"""Finding an application by its path, ``module:name``.

Called by command line and worker processes.  Promises: whatever keeps it from being found is one
line with what to do; an error inside the author's module keeps its own traceback.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from tenure.app import Tenure
from tenure.base.errors import ConfigurationError, UnknownName


def load(path: str, *, directory: Path | None = None) -> Tenure:
    """The application at ``module:name``; ``directory`` is searched first."""
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise ConfigurationError(
            f"the application's path ({path!r}) names no object",
            hint="It looks like automations:app, for `app` in automations.py.",
        )
    where = str(directory or Path.cwd())
    if where not in sys.path:
        sys.path.insert(0, where)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0] and error.name != module_name:
            raise
        raise ConfigurationError(
            f"there is no module {module_name!r}: the application could not be loaded",
            hint=f"Run from the folder that holds it, or mend app={path!r}.",
        ) from error
    found = getattr(module, name, None)
    if found is None:
        raise UnknownName.of(f"object in {module_name}", name, vars(module))
    if not isinstance(found, Tenure):
        raise ConfigurationError(
            f"{path} is a {type(found).__name__} and no application",
            hint=f"Write `{name} = Tenure()` in {module_name}.",
        )
    found.check()
    return found
