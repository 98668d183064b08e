"""The catalogue of providers: what Tenure knows of each before anyone configures anything.

Owned here: reading the files under ``tenure/catalogue`` and answering what an entry says of an
operation.  Called by the provider declarations, the gate and the command line.  Promised: an entry
is checked whole when it is loaded; a misspelt field is an error that names the nearest real one.
"""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import TYPE_CHECKING

import msgspec
from msgspec import inspect

from tenure.base import patterns
from tenure.base.entries import Entry, KeyRule
from tenure.base.errors import ConfigurationError, UnknownName

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

GENERIC = "generic"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def names() -> list[str]:
    """The names of all entries, sorted; ``generic`` is the one for hosts nobody declared."""
    files = (file.name for file in _folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


@functools.cache
def load(name: str) -> Entry:
    """The entry of that name, checked; raises ``UnknownName`` where there is none."""
    if name not in names():
        raise UnknownName.of("provider", name, names())
    return parse(name, _folder().joinpath(f"{name}.toml").read_text("utf-8"))


def parse(name: str, text: str) -> Entry:
    """An entry from the text of a TOML file; raises ``ConfigurationError`` where it is unsound."""
    try:
        value = tomllib.loads(text)
        _refuse_strays(value, inspect.type_info(Entry), "")
        entry = msgspec.convert({"name": name, **value}, Entry)
    except ConfigurationError as error:
        raise type(error)(f"catalogue entry {name!r}: {error.message}", hint=error.hint) from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigurationError(
            f"catalogue entry {name!r} cannot be read ({error}): it is no sound entry",
            hint="Correct the file at that place.",
        ) from error
    if entry.name != name:
        raise ConfigurationError(
            f"catalogue entry {name!r} calls itself {entry.name!r}: one entry has one name",
            hint="Name the file as the entry.",
        )
    return entry


def of_host(host: str) -> Entry | None:
    """The entry whose provider answers at this host, sandbox included; None for any other host."""
    return next((entry for entry in map(load, names()) if serves(entry, host)), None)


def serves(entry: Entry, host: str) -> bool:
    """Whether a host, in any case, is one of the provider's own, sandbox included."""
    wanted = host.lower().rstrip(".")
    hosts = entry.hosts + (entry.sandbox.hosts if entry.sandbox else ())
    return any(_is_host(wanted, known) for known in hosts)


def honors(entry: Entry, method: str, path: str) -> KeyRule | None:
    """The rule under which the provider absorbs a repeat of this operation; None: it does not."""
    ranked = [(patterns.narrowest(key.honors, method, path), key) for key in entry.keys]
    weight, rule = max(ranked, key=lambda pair: pair[0], default=(-1, None))
    return rule if weight >= 0 else None


def declared_safe(entry: Entry, method: str, path: str) -> bool | None:
    """Whether the entry itself calls this operation safe or unsafe; None: it does not say."""
    safe = patterns.narrowest(entry.safe, method, path)
    unsafe = patterns.narrowest(entry.unsafe, method, path)
    return None if max(safe, unsafe) < 0 else safe > unsafe


def is_safe(entry: Entry, method: str, path: str) -> bool:
    """Whether an operation changes nothing at the provider: by the entry, else by its method."""
    declared = declared_safe(entry, method, path)
    return method.upper() in _SAFE_METHODS if declared is None else declared


def _folder() -> Traversable:
    return resources.files("tenure").joinpath("catalogue")


def _is_host(host: str, known: str) -> bool:
    return host.endswith(known[1:]) if known.startswith("*.") else host == known


def _refuse_strays(value: object, type_: inspect.Type, where: str) -> None:
    """Walk value and type together, so that a stray field can be told with the nearest real one."""
    if isinstance(type_, inspect.UnionType):
        for option in type_.types:
            if isinstance(option, inspect.StructType):
                _refuse_strays(value, option, where)
    elif isinstance(type_, inspect.VarTupleType) and isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_strays(item, type_.item_type, f"{where}[{index}]")
    elif isinstance(type_, inspect.StructType) and isinstance(value, dict):
        fields = {field.name: field.type for field in type_.fields}
        for name, item in value.items():
            if name not in fields:
                raise UnknownName.of(f"field in {where or 'the entry'}", name, fields)
            _refuse_strays(item, fields[name], f"{where}.{name}".lstrip("."))
