"""The settings in force, and where each of them stood.

The command line, the worker and the web server read them once, at their start.  Promises: a value
is taken from the strongest place that has one; a name that is nearly a setting's is an error, never
passed over; what cannot work together is refused in one line before anything starts.

strongest   overrides given by the caller: arguments, flags
            TENURE_* in the environment
            tenure.toml, or [tool.tenure] in pyproject.toml, in the working directory
weakest     the default
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from tenure.base import durations, redact
from tenure.base.defaults import PREFIX, SETTINGS, Setting, Settings
from tenure.base.errors import ConfigurationError, UnknownName

__all__ = ["SETTINGS", "Resolved", "Setting", "Settings", "load", "resolve", "stand_in_project"]

# Read by one room each, where no settings are at hand: the log's level, tracebacks, programs.
_ELSEWHERE = frozenset({"TENURE_LOG", "TENURE_DEBUG", "TENURE_PG_BIN"})
# Meant for what this release does not do; passing them over would act on another database.
_UNKEPT = ("TENURE_SERVER", "TENURE_READ_URL")

_BY_NAME = {setting.name: setting for setting in SETTINGS}
_BY_VARIABLE = {setting.environment: setting for setting in SETTINGS}
_TYPES = {field.name: field.type for field in msgspec.structs.fields(Settings)}
_POSITIVE = (
    "lease",
    "heartbeat",
    "call_timeout",
    "poll",
    "retention_finished",
    "retention_failed",
)


class Resolved(msgspec.Struct, frozen=True):
    """Settings, the place each came from by name, and TENURE_* variables that are no settings."""

    settings: Settings
    origins: dict[str, str]
    foreign: tuple[str, ...]


class _Given(msgspec.Struct, frozen=True):
    """A value for a setting, and the place it came from; a stronger place has a higher rank."""

    name: str
    value: object
    origin: str
    rank: int


def load(
    overrides: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str],
    directory: str | Path,
) -> Settings:
    """The settings in force; raises ``ConfigurationError`` for what cannot work."""
    return resolve(overrides, environ=environ, directory=directory).settings


def resolve(
    overrides: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str],
    directory: str | Path,
) -> Resolved:
    """The settings with their origins; an override that is None counts as not given."""
    given = [
        *_from_file(Path(directory)),
        *_from_environment(environ),
        *(
            _Given(name, value, "argument", 3)
            for name, value in (overrides or {}).items()
            if value is not None
        ),
    ]
    strongest = _one_database({each.name: each for each in given})
    values = {name: _converted(each) for name, each in strongest.items()}
    settings = msgspec.convert(values, Settings)
    _check(settings)
    origins = {name: strongest[name].origin if name in strongest else "default" for name in _TYPES}
    return Resolved(settings, origins, tuple(sorted(_foreign(environ))))


def stand_in_project(directory: Path) -> bool:
    """Whether a folder's settings stand in its pyproject.toml: a second file would contradict."""
    return bool(_table(directory / "pyproject.toml", "tool", "tenure"))


def _from_file(directory: Path) -> list[_Given]:
    own = _table(directory / "tenure.toml")
    shared = _table(directory / "pyproject.toml", "tool", "tenure")
    if own and shared:
        raise ConfigurationError(
            f"settings stand in two files (tenure.toml and pyproject.toml in {directory}): "
            "neither is the stronger",
            hint="Keep one of them.",
        )
    origin = "tenure.toml" if own else "pyproject.toml"
    return [_Given(name, value, origin, 1) for name, value in (own or shared).items()]


def _table(path: Path, *keys: str) -> dict[str, object]:
    """The table at ``keys`` of a TOML file; empty where there is none."""
    try:
        table: object = tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the file cannot be read ({path}): {error}", hint="Correct it, or take it away."
        ) from error
    for key in keys:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    return cast("dict[str, object]", table) if isinstance(table, dict) else {}


def _from_environment(environ: Mapping[str, str]) -> list[_Given]:
    """Settings from variables; an empty one counts as not set, as compose files write it."""
    for variable in filter(environ.get, _UNKEPT):
        raise ConfigurationError(
            f"{variable} is set, and this release speaks to the database alone",
            hint=f"Unset {variable}, and set TENURE_DATABASE_URL.",
        )
    for variable in _foreign(environ):
        nearest = _nearest(variable)
        if nearest is not None:
            raise UnknownName(
                f"unknown setting ({variable!r}): nothing of that name is declared",
                hint=f"Did you mean {nearest!r}?",
            )
    return [
        _Given(setting.name, environ[variable], variable, 2)
        for variable, setting in _BY_VARIABLE.items()
        if environ.get(variable)
    ]


def _foreign(environ: Mapping[str, str]) -> list[str]:
    known = _ELSEWHERE | _BY_VARIABLE.keys()
    return [name for name in environ if name.startswith(PREFIX) and name not in known]


def _nearest(variable: str) -> str | None:
    """The variable that was meant: close in spelling, or the same letters in another order."""
    name = variable.removeprefix(PREFIX).lower()
    close = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.8)
    close += [known for known in _BY_NAME if sorted(known) == sorted(name)]
    return _BY_NAME[close[0]].environment if close else None


def _one_database(given: dict[str, _Given]) -> dict[str, _Given]:
    """An address and ``embedded`` exclude each other: the stronger place decides."""
    address, choice = given.get("database_url"), given.get("database")
    if address is None or choice is None or choice.value == "" or address.value == "":
        return given
    if address.rank == choice.rank:
        raise ConfigurationError(
            f"two databases are named ({address.origin} and {choice.origin}): "
            "one address, and the embedded one",
            hint='Keep database_url, or database = "embedded".',
        )
    weaker = min(address, choice, key=lambda each: each.rank)
    return {name: each for name, each in given.items() if each is not weaker}


def _converted(given: _Given) -> object:
    """The value in its setting's type; raises ``ConfigurationError`` that says where it stood."""
    setting = _BY_NAME.get(given.name)
    if setting is None:
        raise UnknownName.of(f"setting in {given.origin}", given.name, _BY_NAME)
    try:
        if setting.unit:
            return durations.parse(given.value)
        type_: object = _TYPES[given.name]
        return cast("object", msgspec.convert(given.value, type_, strict=False))
    except (ConfigurationError, msgspec.ValidationError) as error:
        raise ConfigurationError(
            f"the setting {given.name} cannot be used "
            f"({redact.dsn(str(given.value))!r} from {given.origin}): {_reason(error)}",
            hint=_advice(given, error),
        ) from None


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, ConfigurationError) else str(error)


def _advice(given: _Given, error: Exception) -> str:
    if given.name == "port" and str(given.value).startswith("tcp://"):
        return "Kubernetes sets this for a service named tenure: switch enableServiceLinks off."
    return error.hint if isinstance(error, ConfigurationError) else "See `tenure settings`."


def _check(settings: Settings) -> None:
    """Refuse settings that contradict each other."""
    for name in _POSITIVE:
        if not _BY_NAME[name].value(settings):
            raise ConfigurationError(
                f"the setting {name} is nothing (0 s): it must last",
                hint=f"Its default is {durations.words(float(_BY_NAME[name].default))}.",
            )
    if settings.heartbeat >= settings.lease - settings.margin:
        lease, margin, heartbeat = (
            durations.words(value)
            for value in (settings.lease, settings.margin, settings.heartbeat)
        )
        raise ConfigurationError(
            f"the heartbeat comes too late ({heartbeat} with a lease of {lease} and a margin "
            f"of {margin}): every lease would be over before it is renewed",
            hint="Keep heartbeat below lease - margin; a third of it is a good measure.",
        )
