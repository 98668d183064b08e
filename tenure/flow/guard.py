"""The guard: nothing of this process reaches the outside but through Tenure's own passages.

Installed by the worker before it imports the author's module, in processes for dry-run and shadow
jobs (``refuse``) and, as the operator chose, in live ones (``warn`` journals calls around the
gate).  It watches Python's audit events, which every thread and every pure-Python client raises,
and refuses connections, name lookups and subprocesses outside ``tenure.base.passage``.  What
raises no events is refused where it is imported or called by name; ``blind_spots`` lists the rest.

It is a net for honest mistakes and not a prison: it stays for the life of the process, may be made
stricter and never looser, and a refusal is reported even where the author's code swallows it.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from ipaddress import ip_address
from types import ModuleType
from typing import Literal

from tenure.base import passage
from tenure.base.errors import CallForbidden, ConfigurationError
from tenure.flow.blindness import CHILD, NATIVE, WRAPPED, BlindSpot, blind_spots

__all__ = ["BlindSpot", "Mode", "blind_spots", "check_loop", "install"]

Mode = Literal["refuse", "warn", "allow"]
Report = Callable[[str], None]

_STRICTNESS = {"allow": 0, "warn": 1, "refuse": 2}
_GATE = (
    "Call through ctx.http(provider) or ctx.client(provider, step=...): the gate knows the mode."
)


class NativeRefused(CallForbidden, ImportError):
    """A module whose connections cannot be seen; libraries that can do without it go on."""


class _Guard:
    """What the one guard of this process was told."""

    def __init__(self, mode: Mode, report: Report | None) -> None:
        self.mode: Mode = mode
        self.report = report

    def meet(self, error: CallForbidden) -> None:
        """Report an attempt, and refuse it where the mode says so."""
        if self.mode == "allow":
            return
        if self.report is not None and not getattr(_reporting, "on", False):
            _reporting.on = True  # an author's log handler may try the outside in its turn
            try:
                self.report(str(error))
            finally:
                _reporting.on = False
        if self.mode == "refuse":
            raise error


_guard: _Guard | None = None
_reporting = threading.local()


def refusing() -> bool:
    """Whether nothing of this process may act: it runs jobs that are not live."""
    return _guard is not None and _guard.mode == "refuse"


def install(mode: Mode, report: Report | None = None) -> None:
    """Set the guard for the rest of this process; again with the same or a stricter mode.

    ``report`` is given one sentence for each attempt, in the thread that made it.  Raises
    ``ConfigurationError`` for a looser mode, and ``CallForbidden`` where a module that cannot be
    watched was imported before.
    """
    global _guard  # noqa: PLW0603 - audit hooks belong to the process, and so does this
    if _guard is not None:
        if _STRICTNESS[mode] < _STRICTNESS[_guard.mode]:
            raise ConfigurationError(
                f"the guard cannot be loosened (from {_guard.mode} to {mode}): jobs of this "
                "process rely on it",
                hint="Start another process for live jobs.",
            )
        _guard.mode, _guard.report = mode, report or _guard.report
        return
    _guard = _Guard(mode, report)
    if mode == "allow":
        return
    _watch(_guard)


def _watch(guard: _Guard) -> None:
    _wrap_asyncio_lookup()
    for module in WRAPPED:
        if module in sys.modules:
            _wrap(guard, sys.modules[module])
    sys.meta_path.insert(0, _Finder(guard))
    sys.addaudithook(functools.partial(_hear, guard))
    for module in NATIVE:
        if module in sys.modules:
            guard.meet(_native(module))


# Audit events: what Python itself tells of.


def _hear(guard: _Guard, event: str, arguments: tuple[object, ...]) -> None:
    """Every audit event of the process passes here: all but a few leave by the first line."""
    attempt = _ATTEMPTS.get(event)
    if attempt is None or guard.mode == "allow" or passage.is_open():
        return
    error = attempt(arguments)
    if error is not None:
        guard.meet(error)


def _around(what: str, value: str, hint: str) -> CallForbidden:
    return CallForbidden(
        f"{what} was made around the gate ({value}): only Tenure's gate reaches the outside "
        "from this process",
        hint=hint,
    )


def _connection(arguments: tuple[object, ...]) -> CallForbidden | None:
    """``socket.connect``, ``sendto``, ``sendmsg``: (socket, address)."""
    address = arguments[1]
    if address is None:
        return None  # a datagram on a socket whose connection was judged before
    return _around("a connection", _shown(address), _GATE)


def _shown(address: object) -> str:
    if isinstance(address, tuple) and len(address) > 1:
        host, port = address[:2]
        return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    return os.fsdecode(address) if isinstance(address, (str, bytes)) else repr(address)


def _lookup(arguments: tuple[object, ...]) -> CallForbidden | None:
    """``socket.getaddrinfo``, ``gethostbyname``: (host, ...); literal addresses ask nobody."""
    host = arguments[0]
    if host is None or host in ("", b"") or _is_literal(host):
        return None
    return _around("a name lookup", _shown(host), _GATE)


def _reverse(arguments: tuple[object, ...]) -> CallForbidden:
    """``socket.gethostbyaddr``, ``getnameinfo``: a literal address is just what they ask about."""
    return _around("a reverse lookup", _shown(arguments[0]), _GATE)


def _is_literal(host: object) -> bool:
    try:
        ip_address(os.fsdecode(host) if isinstance(host, (str, bytes)) else "")
    except ValueError:
        return False
    return True


def _child(arguments: tuple[object, ...]) -> CallForbidden:
    """Everything that starts a program: its name alone is told, arguments may hold secrets."""
    program = arguments[0] if arguments else ""
    if isinstance(program, (list, tuple)):
        program = program[0] if program else ""
    name = os.fsdecode(program) if isinstance(program, (str, bytes, os.PathLike)) else ""
    return _around("a subprocess", name.split(maxsplit=1)[0] if name.strip() else "fork", CHILD)


_ATTEMPTS: dict[str, Callable[[tuple[object, ...]], CallForbidden | None]] = {
    "socket.connect": _connection,
    "socket.sendto": _connection,
    "socket.sendmsg": _connection,
    "socket.getaddrinfo": _lookup,
    "socket.gethostbyname": _lookup,
    "socket.gethostbyaddr": _reverse,
    "socket.getnameinfo": _reverse,
    "subprocess.Popen": _child,
    "os.system": _child,
    "os.exec": _child,
    "os.posix_spawn": _child,
    "os.spawn": _child,
    "os.startfile": _child,
    "pty.spawn": _child,
    "os.fork": _child,
    "os.forkpty": _child,
    "_winapi.CreateProcess": _child,
}


# What raises no audit event, but has a name that can be wrapped.


def _wrap_asyncio_lookup() -> None:
    """Take a passage along into the thread in which asyncio looks names up."""
    original = asyncio.BaseEventLoop.getaddrinfo

    @functools.wraps(original)
    async def getaddrinfo(
        self: asyncio.BaseEventLoop, host: str, port: int, **named: int
    ) -> object:
        if not passage.is_open():
            return await original(self, host, port, **named)
        look = functools.partial(socket.getaddrinfo, host, port, **named)
        return await self.run_in_executor(None, contextvars.copy_context().run, look)

    setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)  # noqa: B010 - mypy sees a method


def _wrap(guard: _Guard, module: ModuleType) -> None:
    """Put a refusal before the functions of a module that connect unseen."""
    paths, hint = WRAPPED[module.__name__]
    for path in paths:
        full = f"{module.__name__}.{path}"
        owner: object = module
        *parents, name = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        _replace(guard, owner, name, functools.partial(_around, "a call", full, hint))


def _changed(owner: object, name: str) -> CallForbidden:
    return CallForbidden(
        f"a module has changed (no {name} in {getattr(owner, '__name__', owner)}): it would go "
        "out unseen",
        hint="Use a version of it that this version of Tenure knows.",
    )


def _replace(guard: _Guard, owner: object, name: str, error: Callable[[], CallForbidden]) -> None:
    """Ask the guard before a function or classmethod; awaitables are passed on as they are."""
    method = vars(owner).get(name)
    if method is None:
        guard.meet(_changed(owner, name))
        return
    plain: Callable[..., object] = method.__func__ if isinstance(method, classmethod) else method

    @functools.wraps(plain)
    def guarded(*arguments: object, **named: object) -> object:
        if not passage.is_open():
            guard.meet(error())
        return plain(*arguments, **named)

    setattr(owner, name, classmethod(guarded) if isinstance(method, classmethod) else guarded)


# Imports.


def _native(module: str) -> NativeRefused:
    return NativeRefused(
        f"a module was imported whose connections nobody can see ({module}): it would reach the "
        "outside around the gate",
        hint=NATIVE[module],
    )


class _Finder(MetaPathFinder):
    """Stands first in line for imports: refuses native clients, wraps what goes out unseen."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """None for all but the listed names, which later finders then find as ever."""
        if fullname not in NATIVE and fullname not in WRAPPED:
            return None
        spec = self._elsewhere(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        if fullname in NATIVE:
            self._guard.meet(_native(fullname))
        else:
            spec.loader = _Wrapping(self._guard, spec.loader)
        return spec

    def _elsewhere(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        """What the finders behind this one find."""
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


class _Wrapping(Loader):
    """Loads a module by its own loader, gives it back to that loader, and wraps its functions."""

    def __init__(self, guard: _Guard, loader: Loader) -> None:
        self._guard = guard
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As the module's own loader does; then the refusals are put in place."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _wrap(self._guard, module)


def check_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Refuse an event loop whose connections raise no audit events: all but asyncio's selector."""
    if _guard is None or isinstance(loop, asyncio.SelectorEventLoop):
        return
    kind = f"{type(loop).__module__}.{type(loop).__qualname__}"
    _guard.meet(
        CallForbidden(
            f"the event loop cannot be watched ({kind}): its connections raise no audit events",
            hint="Leave the event loop policy as it is in processes for dry-run and shadow jobs.",
        )
    )
