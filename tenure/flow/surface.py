"""What authors call, called wrongly: an error of its own kind, because no repeat goes better.

Used by the context and its calls.  Promises: arguments that do not fit raise ``Misused`` where the
author made the call; an error of the author's own code is never taken for one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from tenure.base.errors import Misused, UnknownName

P = ParamSpec("P")
T = TypeVar("T")


def checked(method: Callable[P, T]) -> Callable[P, T]:
    """The method, raising ``Misused`` where its arguments do not fit its signature."""

    @functools.wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except TypeError:
            _refuse_misfits(method, args, kwargs)
            raise

    return called


def _refuse_misfits(
    method: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    signature = inspect.signature(method)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as misfit:
        own = [parameter for name, parameter in signature.parameters.items() if name != "self"]
        shown = ", ".join(parameter.name for parameter in own)
        raise Misused(
            f"{method.__name__} was called with arguments that it does not take ({misfit}): "
            "nothing was done",
            hint=f"It takes: {shown}.",
        ) from None


def refuse_unknown(method: str, given: Iterable[str], known: frozenset[str]) -> None:
    """Raise ``Misused`` for an option that the method does not have, with the nearest it has."""
    for name in given:
        if name not in known:
            nearest = UnknownName.of("option", name, known)
            raise Misused(f"{method} has no option {name!r}: nothing was sent", hint=nearest.hint)
