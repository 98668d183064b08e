"""What makes two jobs of an automation one: a key that is made of their input.

Declared by authors; the key itself is made by the database, since doors and SQL run no code of
theirs.  Promises: a template that could never give a key is refused where it is written.
"""

from __future__ import annotations

import math
import re
from typing import Literal

import msgspec

from tenure.base import json, limits
from tenure.base.durations import Length
from tenure.base.errors import ConfigurationError

_TEMPLATE = re.compile(r"(?:[^{}]|\{[^{}.\s]+(?:\.[^{}.\s]+)*\})+")
_PATH = re.compile(r"\{([^{}]+)\}")
_LONGEST = 300


class Unique(msgspec.Struct, frozen=True):
    """At most one job for each key that ``by`` makes of an input.

    ``by``: text with paths into the input in braces, as ``"{customer.email}"`` or
    ``"{shop}/{lines.0.sku}"``; where a path leads to nothing, the job is as unique as any other.
    A key is taken ``until`` its job has finished, or ``within`` so long after the job was made, or
    ``for_ever``.  Between paths put what their values do not hold.
    """

    by: str
    until: Literal["finished"] = "finished"
    within: Length | None = None
    for_ever: bool = False

    def __post_init__(self) -> None:
        """Refuse what could not work."""
        if not isinstance(self.by, str) or not _TEMPLATE.fullmatch(self.by) or not self.paths:
            raise ConfigurationError(
                f"unique by {self.by!r}: it names no place in the input",
                hint='Write paths in braces, as unique="{email}" or "{customer.id}".',
            )
        if len(self.by) > _LONGEST or not self.by.isprintable():
            raise ConfigurationError(
                f"unique by a template of {len(self.by)} characters: "
                f"at most {_LONGEST} printable ones are taken",
                hint="Name fewer places.",
            )
        if self.until != "finished" or (self.within is not None and self.for_ever):
            raise ConfigurationError(
                f"unique until {self.until!r}, within {self.within!r}, for_ever={self.for_ever!r}: "
                "a key is taken in one way",
                hint='Give until="finished", within=seconds, or for_ever=True.',
            )
        limits.length(self.within, "time within which it is unique", least=1.0, most=limits.LONGEST)

    @property
    def paths(self) -> list[str]:
        """The places in the input that make the key."""
        return _PATH.findall(self.by)

    @property
    def seconds(self) -> float | None:
        """How long a key is taken: None until its job has finished, infinity for ever."""
        if self.for_ever:
            return math.inf
        return limits.length(self.within, "time", least=1.0, most=limits.LONGEST)


def declared(given: Unique | str | None, schema: str | None) -> Unique | None:
    """What an automation says; raises where its input's schema knows no such place."""
    if given is None:
        return None
    unique = Unique(given) if isinstance(given, str) else given
    if not isinstance(unique, Unique):
        raise ConfigurationError(
            f"unique is {given!r}: it is a Unique, or a template",
            hint='Write unique="{email}" or unique=Unique("{email}", within=3600).',
        )
    known = _fields(schema)
    for path in unique.paths:
        name = path.partition(".")[0]
        if known and name not in known:
            raise ConfigurationError(
                f"unique by {unique.by!r}: the input has no field {name!r}",
                hint=f"Its fields are {', '.join(sorted(known))}.",
            )
    return unique


def _fields(schema: str | None) -> frozenset[str]:
    """The fields of an input, where its schema lists them all."""
    found = json.decode(schema) if schema is not None else None
    if isinstance(found, dict) and isinstance(found.get("$ref"), str):
        defs, name = found.get("$defs"), found["$ref"].rpartition("/")[2]
        found = defs.get(name) if isinstance(defs, dict) else None
    if not isinstance(found, dict) or found.get("additionalProperties"):
        return frozenset()
    fields = found.get("properties")
    return frozenset(fields) if isinstance(fields, dict) else frozenset()
