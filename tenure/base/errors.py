"""Every exception of Tenure, one class per cause.

Owned here so that a message reads the same in a log line, on the command line, in the API and on a
page.  Everything above raises these; nothing below this floor exists.  Each promises a ``message``
that says what happened with the value and what it means, and a ``hint`` that says what to do.

TenureError
├── ConfigurationError      settings, declarations or addresses that cannot work
│   ├── UnknownName         a name nobody declared, with the nearest that somebody did
│   ├── MissingSecret       a reference that leads to nothing
│   └── BrokenApp           the author's code raised while it was imported
├── InvalidInput            an input that the automation's type does not accept
├── Unserialisable          a value that JSON cannot hold
├── Misused                 something of Tenure's, called in a way that it does not take
├── StepError               steps named wrongly
│   ├── DuplicateStep       one name twice in one run
│   └── UnnamedEffect       an unsafe call without a step
├── CallError               a call that did not end in an accepted answer
│   ├── CallRefused         the provider answered and refused
│   ├── CallForbidden       Tenure refused before anything left
│   └── CallFailed          a safe call that got no usable answer
├── ExitRefused             a handler asked its process to exit: only its run ended
├── LeaseLost               the claim is over: nothing may be done in its name
├── DatabaseError           the database cannot be used as it is
│   ├── DatabaseUnavailable it does not answer
│   └── SchemaMismatch      its schema is older or newer than this code serves
├── Refused                 an operator's act that the state of things forbids
│   └── NotYet              it may be possible later
└── NothingMatched          an operator's act that found nothing to act on
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class TenureError(Exception):
    """The root: a message that says what happened and a hint that says what to do."""

    hint: str

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the message and the hint; both are safe to print."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """The message, and the hint behind it where there is one."""
        return f"{self.message}. {self.hint}" if self.hint else self.message


class ConfigurationError(TenureError):
    """A setting, declaration or address cannot work as it stands."""


class UnknownName(ConfigurationError):
    """A name was used that nobody declared."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownName:
        """Say which name of which kind is unknown, with the nearest known one."""
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names) or 'none'}."
        return cls(f"unknown {kind} ({name!r}): nothing of that name is declared", hint=hint)


class MissingSecret(ConfigurationError):
    """A secret's reference leads to nothing."""


class BrokenApp(ConfigurationError):
    """The author's code raised while it was imported; ``trace`` is its part of the traceback."""

    def __init__(self, message: str, *, trace: str, hint: str = "") -> None:
        """Keep the author's frames beside the message."""
        super().__init__(message, hint=hint)
        self.trace = trace


class InvalidInput(TenureError):
    """An input does not fit the automation's declared type."""


class Unserialisable(TenureError):
    """A value cannot be written as JSON."""


class Misused(TenureError):
    """Something of Tenure's was called in a way that it does not take: no repeat goes better."""


class StepError(TenureError):
    """A step was named in a way that cannot be remembered."""


class DuplicateStep(StepError):
    """One step name was used twice in one run."""


class UnnamedEffect(StepError):
    """An unsafe call was made without a step name."""


class CallError(TenureError):
    """A call did not end in an accepted answer."""


class CallRefused(CallError):
    """The provider answered and refused the request; ``status`` is its HTTP status."""

    def __init__(self, message: str, *, status: int, body: bytes = b"", hint: str = "") -> None:
        """Keep the provider's status and body beside the message."""
        super().__init__(message, hint=hint)
        self.status = status
        self.body = body


class CallForbidden(CallError):
    """Tenure refused the call before anything left the process."""


class CallFailed(CallError):
    """A safe call got no usable answer; it changed nothing and may be made again."""


class ExitRefused(TenureError):
    """A handler asked its process to exit: that ends the job's run, and not the process."""


class LeaseLost(TenureError):
    """The claim under which this was asked is over."""


class DatabaseError(TenureError):
    """The database cannot be used as it is."""


class DatabaseUnavailable(DatabaseError):
    """The database does not answer."""


class SchemaMismatch(DatabaseError):
    """The database's schema and this code do not serve each other."""


class Refused(TenureError):
    """The state of things forbids what an operator asked for."""


class NotYet(Refused):
    """What was asked for cannot be known or done yet."""


class NothingMatched(TenureError):
    """An operator's act found nothing to act on."""
