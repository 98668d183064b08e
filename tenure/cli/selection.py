"""Which jobs an act is on: by their ids, or by what is asked of them.

Called by the commands that act on many.  Promises: ids and filters are never mixed; an act on
everything is never meant by having said nothing; what will be done is said in the same words
wherever it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar, cast
from uuid import UUID

import click
import msgspec

from tenure.cli import options, output
from tenure.store import events, listing, many
from tenure.store.database import Database
from tenure.store.many import Act, Effects, Filter, Preview

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS = (
    click.option("--automation", metavar="NAME", help="Jobs of this automation."),
    click.option("--state", type=click.Choice(listing.STATES), help="Jobs in this state."),
    click.option("--lane", metavar="LANE", help="Jobs in this lane."),
    click.option("--provider", metavar="NAME", help="Jobs in a lane of this provider."),
    click.option("--source", metavar="NAME", help="Jobs of this source's events."),
    click.option("--tag", metavar="TAG", help="Jobs with this tag."),
    click.option("--error-class", metavar="NAME", help="Jobs whose last error is of this class."),
    click.option("--since", type=options.MOMENT, help="Made from then on: a moment, or 2h ago."),
    click.option("--until", type=options.MOMENT, help="Made before then: a moment, or 2h ago."),
    click.option("--limit", type=click.IntRange(1), help="So many at most, the oldest first."),
    click.option("--preview", is_flag=True, help="Say what would be done, and do nothing."),
)
_NAMES = (
    "automation",
    "state",
    "lane",
    "provider",
    "source",
    "tag",
    "error_class",
    "since",
    "until",
)


def filters(command: F) -> F:
    """The options of a filter, in the order in which they are told."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked(database: Database, given: Mapping[str, object], jobs: tuple[UUID, ...]) -> Filter | None:
    """The filter that was given; None where jobs were named.

    A usage error where both were, or neither.
    """
    values = {name: given[name] for name in _NAMES if given[name] is not None}
    more = [name for name in ("limit", "preview") if given[name]]
    if jobs and (values or more):
        name = [*values, *more][0].replace("_", "-")
        raise click.UsageError(f"--{name} goes with a filter: name jobs, or filter them")
    if jobs:
        return None
    if not values:
        raise click.UsageError(
            "no job is named and no filter is given: all of them are never meant"
        )
    for name in ("since", "until"):
        if name in values:
            values[name] = _ago(database, cast("datetime | float", values[name]))
    return msgspec.convert(values, Filter)


def _ago(database: Database, given: datetime | float) -> datetime:
    if isinstance(given, datetime):
        return given
    return events.clock(database) - timedelta(seconds=given)


def told(act: Act, found: Preview) -> list[str]:
    """What an act on those jobs would do, a line each."""
    lines = [f"{act.capitalize()} {output.jobs(found.jobs)}:"]
    lines += [f"  {each.automation}, {each.state}: {each.jobs}" for each in found.counts]
    more = ", …" if found.jobs > len(found.first) else ""
    lines.append(f"The first: {', '.join(str(job) for job in found.first)}{more}")
    lines.append(_meaning(act, found))
    return lines


def _meaning(act: Act, found: Preview) -> str:
    if act == "cancel":
        return "Those that run are asked, and end at their next heartbeat or call."
    if act == "retry":
        return "They run under the same keys: what is done is remembered and not sent again."
    if not found.effects:
        return "New jobs, which would send nothing that these ones sent."
    of = f" (of the first {found.looked_at} jobs)" if found.looked_at < found.jobs else ""
    said = "; ".join(_effect(each) for each in found.effects)
    return f"New jobs with new keys: sent again{of}: {said}."


def _effect(effects: Effects) -> str:
    times = [f"{effects.again} times"] if effects.again else []
    times += [f"{effects.anew} times for the first time"] if effects.anew else []
    return f"{effects.operation} to {effects.provider}, {' and '.join(times)}"


def many_done(tally: many.Tally) -> str:
    """What an act came to, in one line."""
    became = ", ".join(f"{n} {what}" for what, n in sorted(tally.became.items()))
    parts = [f"{output.jobs(tally.done)} done" + (f" ({became})" if became else "")]
    if tally.changed:
        parts.append(f"{tally.changed} passed over: changed meanwhile, or held by somebody")
    if tally.refused:
        parts.append(f"{tally.refused} refused")
    return "; ".join(parts)
