"""Tenure: automations as leased rows in your own PostgreSQL.

The names below are the whole public surface; what is not listed may change without notice.  Each is
imported when it is first used, so that the command line and emulators start without what they do
not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.app import Automation, Tenure
    from tenure.base.backoff import Backoff
    from tenure.base.budget import Budget
    from tenure.base.entries import KeyRule
    from tenure.base.errors import CallFailed, CallForbidden, CallRefused, TenureError
    from tenure.base.http import Response
    from tenure.base.model import Event
    from tenure.base.secrets import Basic, Bearer, Header, env, file
    from tenure.base.ticks import Tick
    from tenure.base.unique import Unique
    from tenure.flow.context import Context
    from tenure.flow.current import current
    from tenure.flow.http import Http
    from tenure.flow.probes import (
        CannotTell,
        DidNot,
        Happened,
        ProbeContext,
        Sent,
        SyncProbeContext,
    )
    from tenure.flow.provider import Provider
    from tenure.flow.schedule import Schedule
    from tenure.flow.signals import Defer, Fail, Hold, Retry
    from tenure.flow.source import Source
    from tenure.flow.sync import SyncContext, SyncHttp
    from tenure.store.jobs import Enqueued

__all__ = [
    "Automation",
    "Backoff",
    "Basic",
    "Bearer",
    "Budget",
    "CallFailed",
    "CallForbidden",
    "CallRefused",
    "CannotTell",
    "Context",
    "Defer",
    "DidNot",
    "Enqueued",
    "Event",
    "Fail",
    "Happened",
    "Header",
    "Hold",
    "Http",
    "KeyRule",
    "ProbeContext",
    "Provider",
    "Response",
    "Retry",
    "Schedule",
    "Sent",
    "Source",
    "SyncContext",
    "SyncHttp",
    "SyncProbeContext",
    "Tenure",
    "TenureError",
    "Tick",
    "Unique",
    "current",
    "env",
    "file",
]

_ROOMS = {
    "app": ("Automation", "Tenure"),
    "base.backoff": ("Backoff",),
    "base.budget": ("Budget",),
    "base.entries": ("KeyRule",),
    "base.errors": ("CallFailed", "CallForbidden", "CallRefused", "TenureError"),
    "base.http": ("Response",),
    "base.model": ("Event",),
    "base.secrets": ("Basic", "Bearer", "Header", "env", "file"),
    "base.ticks": ("Tick",),
    "base.unique": ("Unique",),
    "flow.context": ("Context",),
    "flow.current": ("current",),
    "flow.http": ("Http",),
    "flow.probes": (
        "CannotTell",
        "DidNot",
        "Happened",
        "ProbeContext",
        "Sent",
        "SyncProbeContext",
    ),
    "flow.provider": ("Provider",),
    "flow.schedule": ("Schedule",),
    "flow.signals": ("Defer", "Fail", "Hold", "Retry"),
    "flow.source": ("Source",),
    "flow.sync": ("SyncContext", "SyncHttp"),
    "store.jobs": ("Enqueued",),
}
_HOMES = {name: f"tenure.{room}" for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> object:
    """A public name from the room it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tenure' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return __all__
