"""A value held against a JSON schema that an automation's type has given.

Called where the type itself is not at hand.  Pure.  Promises: a value that a lenient type turns
into the right one passes, and so does what a keyword that is not known here would refuse: the job
then says what the schema could not.  What a type accepts beyond its schema, such as a second name
for a field, is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from tenure.base import json
from tenure.base.errors import InvalidInput

_DEEPEST = 60  # levels of a value that are looked into

Schema = Mapping[str, object]


class _Unfit(Exception):
    """Something that does not fit, and where."""

    def __init__(self, path: str, what: str, value: object) -> None:
        super().__init__(what)
        self.path = path
        self.what = what
        self.value = value


def check(schema: str, text: str) -> None:
    """Raise ``InvalidInput``, with path and value, where JSON text cannot fit a schema's text."""
    root = json.decode(schema)
    if not isinstance(root, dict):
        return
    try:
        _Reader(root).hold(root, json.decode(text), "$", 0)
    except _Unfit as unfit:
        raise InvalidInput(
            f"the input does not fit ({unfit.what} - at `{unfit.path}`, value {unfit.value!r:.80})",
            hint="Compare the value at that path with the automation's declared type.",
        ) from None


class _Reader:
    """One schema, whose parts refer to each other."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def hold(self, schema: object, value: object, path: str, depth: int) -> None:
        """Raise ``_Unfit`` where the value cannot be what this part of the schema describes."""
        found = self._resolved(schema)
        if found is None or depth > _DEEPEST:
            return
        for several in ("anyOf", "oneOf"):
            choices = found.get(several)
            if isinstance(choices, list):
                self._any(choices, value, path, depth)
        self._kind(found, value, path)
        self._listed(found, value, path)
        if isinstance(value, dict):
            self._members(found, value, path, depth)
        if isinstance(value, list):
            first = found.get("prefixItems")
            schemas = first if isinstance(first, list) else []
            for number, item in enumerate(value):
                each = schemas[number] if number < len(schemas) else found.get("items")
                self.hold(each, item, f"{path}[{number}]", depth + 1)

    def _resolved(self, schema: object) -> Schema | None:
        """The schema that a reference leads to; None where nothing is said, or in a circle."""
        for _ in range(_DEEPEST):
            if not isinstance(schema, dict):
                return None
            ref = schema.get("$ref")
            if not isinstance(ref, str):
                return cast("Schema", schema)
            schema = self._root
            for part in ref.removeprefix("#").strip("/").split("/"):
                name = part.replace("~1", "/").replace("~0", "~")
                schema = schema.get(name) if isinstance(schema, dict) else None
        return None

    def _any(self, choices: list[object], value: object, path: str, depth: int) -> None:
        unfit: list[_Unfit] = []
        for choice in choices:
            try:
                self.hold(choice, value, path, depth + 1)
            except _Unfit as error:
                unfit.append(error)
            else:
                return
        # Of those that do not fit, the one that was followed furthest was probably meant.
        raise max(unfit, key=lambda error: len(error.path))

    def _kind(self, schema: Schema, value: object, path: str) -> None:
        types = schema.get("type")
        kinds = types if isinstance(types, list) else [types]
        if types is not None and not any(_may_be(value, kind, schema) for kind in kinds):
            wanted = " or ".join(str(kind) for kind in kinds)
            raise _Unfit(path, f"Expected {wanted}, got {_kind_of(value)}", value)

    def _listed(self, schema: Schema, value: object, path: str) -> None:
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(listed, list) or not isinstance(value, str) or value in listed:
            return
        if all(isinstance(each, str) for each in listed):
            raise _Unfit(path, f"Expected one of {', '.join(listed):.80}", value)

    def _members(self, schema: Schema, value: dict[str, object], path: str, depth: int) -> None:
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if name not in value:
                raise _Unfit(path, f"Object missing required field `{name}`", value)
        known = schema.get("properties")
        properties = known if isinstance(known, dict) else {}
        rest = schema.get("additionalProperties")
        for name, member in value.items():
            if name not in properties and rest is False:
                raise _Unfit(path, f"Object contains unknown field `{name:.80}`", value)
            self.hold(properties.get(name, rest), member, f"{path}.{name}", depth + 1)


def _may_be(value: object, kind: object, schema: Schema) -> bool:
    """Whether a value is of a kind, or is what lenient types turn into it."""
    match kind:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "null":
            return value is None
        case "string":
            # Moments are read from numbers too, and so is what has a format of its own.
            return isinstance(value, str) or ("format" in schema and isinstance(value, int | float))
        case "boolean":
            return isinstance(value, bool | int | float | str)
        case "integer" | "number":
            return isinstance(value, int | float) or (isinstance(value, str) and _number(value))
    return True


def _number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _kind_of(value: object) -> str:
    kinds = {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
    }
    return kinds.get(type(value), "null")
