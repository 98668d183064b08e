"""Finding an application by its path, ``module:name``.

Called by command line and worker processes.  Promises: whatever keeps it from being found is one
line with what to do; an error inside the author's module comes with its own part of the traceback.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

from tenure.app import Tenure
from tenure.base.errors import BrokenApp, ConfigurationError, TenureError, UnknownName

# What stands between our own call and the author's first line.
_OURS = (
    __file__,
    importlib.__file__,
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
)


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
    except TenureError:
        raise  # it says by itself what to do
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name in _leading(module_name):
            raise ConfigurationError(
                f"there is no module {module_name!r}: the application could not be loaded",
                hint=f"Run from the folder that holds it, or mend app={path!r}.",
            ) from error
        raise _broken(path, error) from error
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


def _leading(module_name: str) -> tuple[str, str]:
    return module_name.partition(".")[0], module_name


def _broken(path: str, error: BaseException) -> BrokenApp:
    """An error that came out of the author's code, with the frames that are the author's."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
        trace = trace.tb_next
    lines = traceback.TracebackException(type(error), error, trace).format()
    said = str(error).strip().partition("\n")[0]
    return BrokenApp(
        f"the application could not be loaded ({path}): {type(error).__name__}: {said}",
        trace="".join(lines).strip(),
        hint="Mend the code that the lines above point at.",
    )
