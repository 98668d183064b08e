"""The objects that an emulated provider keeps, by path.

Filled by dialects when requests take effect, read by GETs and by tests.  Written on the emulator's
event loop, seeded and read from tests' threads; each call is one operation on a dict.
"""

from __future__ import annotations

Fields = dict[str, object]


class Store:
    """Objects by path; a deleted one is known to have been there."""

    def __init__(self) -> None:
        """Start empty."""
        self._objects: dict[str, Fields] = {}
        self._deleted: set[str] = set()

    def get(self, path: str) -> Fields | None:
        """The object at the path, as a copy; None where there is none."""
        found = self._objects.get(path)
        return None if found is None else dict(found)

    def put(self, path: str, fields: Fields) -> None:
        """Keep the object, in the place of what was there."""
        self._objects[path] = dict(fields)
        self._deleted.discard(path)

    def delete(self, path: str) -> bool:
        """Take the object away; False only if that was done before.

        An object that nobody made is taken for one that was there before the emulator started.
        """
        if path in self._deleted:
            return False
        self._objects.pop(path, None)
        self._deleted.add(path)
        return True

    def deleted(self, path: str) -> bool:
        """Whether the object was there and is no more."""
        return path in self._deleted

    def below(self, collection: str) -> list[Fields]:
        """The objects directly below a collection, oldest first."""
        prefix = collection.rstrip("/") + "/"
        return [
            dict(fields)
            for path, fields in tuple(self._objects.items())
            if path.startswith(prefix) and "/" not in path[len(prefix) :]
        ]
