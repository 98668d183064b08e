"""What a test does over a caller's connection, whichever library it is of."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from tenure.app import Automation
from tenure.store.jobs import Enqueued

T = TypeVar("T")

TABLE = "create table if not exists notes (note text)"
_NOTE = "insert into notes values ('theirs')"


class Driver:
    """A caller's connection, with a transaction open once something was done over it."""

    conn: Any
    awaited: bool = False

    def __init__(self, url: str, *, autocommit: bool = False) -> None:
        """Open it."""
        self.url = url
        self.autocommit = autocommit
        self.runner = asyncio.Runner()
        self.open()

    def open(self) -> None:
        """Connect."""
        raise NotImplementedError

    def given(self) -> Any:  # noqa: ANN401 - of whichever library
        """What is handed to the automation."""
        return self.conn

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query of the caller's, in the same transaction."""
        raise NotImplementedError

    def write(self) -> None:
        """Insert a row of the caller's."""
        self.ask(f"{_NOTE} returning 1")

    def enqueue(self, automation: Automation[Any, Any], given: object, **more: Any) -> Enqueued:  # noqa: ANN401 - as enqueue
        """Make a job over the connection."""
        if self.awaited:
            return self.run(automation.aenqueue(given, conn=self.given(), **more))
        return automation.enqueue(given, conn=self.given(), **more)

    def run(self, waited: Coroutine[Any, Any, T]) -> T:
        """The result of what is awaited."""
        return self.runner.run(waited)

    def commit(self) -> None:
        """Commit, as the library does."""
        self._end(self.conn.commit())

    def rollback(self) -> None:
        """Roll back, as the library does."""
        self._end(self.conn.rollback())

    def _end(self, ended: Any) -> None:  # noqa: ANN401 - None, or a promise of it
        if self.awaited:
            self.run(ended)

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """A savepoint to which the transaction goes back."""
        self.ask("savepoint here")
        yield
        self.ask("rollback to savepoint here")

    def close(self) -> None:
        """Close it."""
        self._end(self.conn.close())
        self.runner.close()
