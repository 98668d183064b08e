"""``tenure settings``: what is in force here, and where it stood.

Promises: no password is printed; no database and no application is needed.
"""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from tenure.base import settings as base_settings
from tenure.base.settings import SETTINGS
from tenure.cli import options, output


class _Shown(msgspec.Struct, frozen=True):
    name: str
    value: str
    origin: str
    meaning: str
    environment: str


@click.command()
@options.as_json
def settings(*, as_json: bool) -> None:
    """Show every setting, and where it stood."""
    resolved = base_settings.resolve(environ=os.environ, directory=Path.cwd())
    shown = [
        _Shown(
            setting.name,
            setting.show(resolved.settings),
            resolved.origins[setting.name],
            setting.meaning,
            setting.environment,
        )
        for setting in SETTINGS
    ]
    if as_json:
        output.json(shown)
    else:
        rows = [(each.name, each.value, each.origin, each.meaning) for each in shown]
        output.table(
            ("setting", "value", "from", "meaning"),
            rows,
            spare=("meaning",),
            fold=("value", "from"),
        )
    for variable in resolved.foreign:
        output.notice(f"{variable} is no setting: it was passed over")
