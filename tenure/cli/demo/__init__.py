"""``tenure demo``: real pieces, emulated providers, a killed worker, and what came of it.

The first command of a newcomer.  Promises: nothing of it is staged but the providers; it fails,
and says which promise was broken, where something is not as it should be; it leaves nothing behind.

    scene     the pieces: database, emulators, server, workers
    events    the plan of what is delivered; bodies writes it, sender delivers it
    crash     a worker is killed at its work
    ledgers   what the providers saw
    outcome   what came of it, promise by promise; summary prints that
"""

from __future__ import annotations

import os
import signal
from types import FrameType

import click

from tenure.cli import output

_PROVIDERS = ("stripe", "hubspot", "resend")


def _units(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """``resend=2`` as a provider and its units."""
    del ctx, param
    found = {}
    for text in given:
        name, _, units = text.partition("=")
        if name not in _PROVIDERS or not units.isdecimal() or int(units) < 1:
            raise click.BadParameter(
                f"{text!r} is none of {', '.join(_PROVIDERS)} with units, such as resend=2"
            )
        found[name] = int(units)
    return found


@click.command()
@click.option(
    "--seconds",
    type=click.FloatRange(2.0, 3_600.0),
    default=20.0,
    show_default=True,
    help="How long events come in.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Which events come in.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
@click.option("--keep", is_flag=True, help="Leave the database, to look around in it.")
@click.option(
    "--tighten",
    metavar="PROVIDER=UNITS",
    multiple=True,
    callback=_units,
    help="Let a provider allow less than the catalogue says: see the demo fail.",
)
def demo(*, seconds: float, seed: int, as_json: bool, keep: bool, tighten: dict[str, int]) -> None:
    """A tour: events come in, a worker is killed, no limit is overstepped, nothing is lost."""
    # The demo's own processes import this package for its automations, and need none of these.
    from tenure.cli.demo import summary  # noqa: PLC0415  as said above
    from tenure.cli.demo.play import play  # noqa: PLC0415  as said above
    from tenure.cli.demo.scene import Scene  # noqa: PLC0415  as said above

    # A shell starts what runs in its background deaf to SIGINT, which is how both ends come about.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    scene = Scene(
        url=os.environ.get("TENURE_DATABASE_URL", ""),
        seed=seed,
        tighter=tighten,
        keep=keep,
        tell=lambda line: output.notice(f"starting {line}"),
    )
    with scene:
        outcome = play(scene, seconds, seed)
    if as_json:
        output.json(summary.as_json(outcome))
    else:
        summary.show(outcome)
    if keep:
        output.notice(scene.kept)
    for promise in outcome.broken:
        output.notice(f"broken promise: {promise.promise}: {promise.shown_by}")
    if outcome.broken:
        raise click.exceptions.Exit(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does, which stops everything on its way out."""
    del number, frame
    signal.raise_signal(signal.SIGINT)
