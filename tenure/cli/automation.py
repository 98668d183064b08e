"""``tenure automation``: what was declared, where it stands, and how it came there."""

from __future__ import annotations

import click
import msgspec

from tenure.base.backoff import Backoff
from tenure.base.durations import words
from tenure.cli import database, options, output
from tenure.store import listing
from tenure.store.listing import Lane, ListedAutomation, ShownAutomation


@click.group()
def automation() -> None:
    """List automations, or show one."""


@automation.command("list")
@options.as_json
def list_(*, as_json: bool) -> None:
    """List automations by name."""
    with database.opened() as opened:
        found = listing.automations(opened)
    if as_json:
        output.json(found)
        return
    rows = [
        (each.name, each.stage, each.workers, each.lane, each.listens, each.replaces)
        for each in found
    ]
    if rows:
        columns = ("automation", "stage", "workers", "lane", "listens to", "replaces")
        output.table(columns, rows)
    else:
        output.notice("no automation is declared: start a worker, which declares those of the code")


@automation.command()
@click.argument("name")
@options.as_json
def show(*, name: str, as_json: bool) -> None:
    """Show an automation with its lanes and its promotions."""
    with database.opened() as opened:
        shown = listing.automation(opened, name)
    if as_json:
        output.json(shown)
        return
    _about(shown)
    output.heading("\nIts lanes")
    for lane in shown.lanes:
        if not lane.quarantine:
            output.sentence(_standing(lane), indent=2)
    output.heading("\nIts promotions")
    for move in shown.moves:
        waived = f", waiving {', '.join(move.waived)}" if move.waived else ""
        until = f" until {output.instant(move.waived_until)}" if move.waived_until else ""
        output.sentence(
            f"{output.instant(move.at)} {move.actor}: {move.from_stage} to {move.to_stage}"
            f"{waived}{until}: {move.reason}",
            indent=2,
        )
    if not shown.moves:
        output.sentence("none: it stands where it began", indent=2)


def _about(shown: ShownAutomation) -> None:
    found = shown.automation
    output.heading(f"{found.name} stands at {found.stage}.")
    label = f" ({found.label})" if found.label else ""
    said_at = output.instant(found.declared_at)
    listens, replaces = ", ".join(found.listens) or "nothing", found.replaces or "nothing"
    facts = [
        f"Version {found.version}{label}, declared at {said_at} by {found.declared_by}.",
        f"Lane {found.lane}, priority {found.priority}.",
        f"Attempts: {found.max_attempts}; crashes: {found.max_crashes}.",
        f"Listens to {listens}; replaces {replaces}.",
        f"Living workers that know it: {found.workers}.",
    ]
    facts += _settings(found)
    if found.first_event is not None:
        facts.append(f"Events from {found.first_event} on are its own.")
    for fact in facts:
        output.sentence(fact, indent=2)


def _settings(found: ListedAutomation) -> list[str]:
    """What it declares beyond the defaults, a sentence each."""
    said = []
    if found.backoff is not None:
        backoff = msgspec.json.decode(found.backoff, type=Backoff)
        jitter = ", with full jitter" if backoff.jitter == "full" else ""
        said.append(
            f"After a failure it waits {words(backoff.base)}, {backoff.factor:g} times longer each "
            f"time, up to {words(backoff.cap)}{jitter}."
        )
    if found.lease is not None:
        said.append(f"Lease {words(found.lease)}.")
    if found.timeout is not None:
        said.append(f"A handler is stopped after {words(found.timeout)}.")
    if found.concurrency is not None:
        said.append(f"At most {found.concurrency} of its jobs run at once.")
    if found.unique_by is not None:
        said.append(f"One job for each {found.unique_by}, {found.unique_until}.")
    if found.expires is not None:
        said.append(f"A job that nobody claims within {words(found.expires)} is cancelled.")
    if found.tags:
        said.append(f"Tags: {', '.join(found.tags)}.")
    return said


def _standing(lane: Lane) -> str:
    kind = "live" if lane.live else "dry-run and shadow"
    said = []
    if lane.paused_by is not None:
        until = output.instant(lane.paused_until) or "it is resumed"
        said.append(f"paused by {lane.paused_by} until {until}: {lane.pause_reason}")
    if lane.closed_by is not None:
        said.append(f"closed by {lane.closed_by} until {output.instant(lane.closed_until)}")
    return f"{lane.lane}, {kind} jobs: {'; '.join(said) or 'open'}"
