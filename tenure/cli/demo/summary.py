"""The demo's end in words, and as one JSON object.

Promises: the words are few and each number in them was counted; the job whose worker was killed is
explained by the sentences that ``tenure explain`` prints.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter

import click

from tenure.cli import output
from tenure.cli.demo.ledgers import Seen
from tenure.cli.demo.outcome import Outcome

_TITLES = {"stripe": "Stripe", "hubspot": "HubSpot", "resend": "Resend"}
_NAME = 14
_LEAST = 20  # characters to the right of a name
# What there is to say of a job that has ended well.
_PARTS = ("state", "attempt", "step", "call", "journal")


def show(outcome: Outcome) -> None:
    """Print it for people."""
    _ran(outcome)
    _events(outcome)
    _jobs(outcome)
    _providers(outcome)
    _crash(outcome)
    _waiver(outcome)
    _promises(outcome)


def as_json(outcome: Outcome) -> dict[str, object]:
    """The whole of it for programs."""
    return {
        "ok": not outcome.broken,
        "events": len(outcome.accepted),
        "duplicates": outcome.doubled,
        "lost": len(outcome.lost),
        "workers_killed": int(outcome.crash is not None),
        "providers": [
            {
                "name": seen.name,
                "limit": seen.limit,
                "peak": seen.peak,
                "per_seconds": seen.per,
                "budget": seen.budget,
                "requests": seen.requests,
                "effects": seen.effects,
                "throttled": seen.throttled,
                "repeated": seen.repeated,
            }
            for seen in outcome.ledgers.seen
        ],
        "seconds": round(outcome.seconds, 1),
        "deliveries": {
            "sent": len(outcome.told),
            "accepted": len(outcome.accepted),
            "duplicates": outcome.repeats,
            "refused": dict(sorted(outcome.refused.items())),
        },
        "jobs": dict(sorted(outcome.states.items())),
        "calls": {
            "sent": outcome.left,
            "suppressed": outcome.sent("suppressed"),
            "repeated_under_the_same_key": outcome.again,
        },
        "killed": outcome.crash,
        "promotions": [
            {
                "automation": move.automation,
                "to": move.to_stage,
                "waived": move.waived,
                "by": move.actor,
                "why": move.reason,
                "until": move.waived_until,
            }
            for move in outcome.moves
        ],
        "questions": {"open": outcome.questions, "answered": outcome.answered},
        "promises": outcome.promises,
        "explanation": [it.sentence for it in outcome.explained],
    }


def _ran(outcome: Outcome) -> None:
    output.sentence(
        f"PostgreSQL {outcome.postgres}, a server, {outcome.workers} workers, all real; three "
        f"emulated providers with their published limits; {outcome.seconds:.0f} seconds from the "
        "first event to the end of the last job."
    )


def _events(outcome: Outcome) -> None:
    _heading("What came in")
    kinds = Counter(it.type for it in outcome.replay.genuine.values())
    said = ", ".join(f"{count} {name}" for name, count in kinds.most_common())
    _row("accepted", f"{len(outcome.accepted)} events: {said}")
    at_once = _at_once(outcome)
    _row(
        "duplicates",
        f"{outcome.repeats} answered with the id of the first; {at_once} came at the same moment",
    )
    early = outcome.replay.overtaken
    _row("out of order", f"{_count(early, 'refund')} came before the order it was for")
    reasons = ", ".join(f"{count} {_plain(name)}" for name, count in outcome.refused.most_common())
    _row("refused", f"{outcome.refused.total()} at the door: {reasons}")


def _at_once(outcome: Outcome) -> int:
    """Pairs of deliveries of one event at one moment."""
    times = Counter((it.event, it.at) for it in outcome.replay.deliveries if it.genuine)
    return sum(count - 1 for count in times.values())


def _jobs(outcome: Outcome) -> None:
    _heading("What became of it")
    states = outcome.states
    said = ", ".join(f"{count} {name}" for name, count in states.most_common())
    _row("jobs", f"{said}; {len(outcome.lost)} events lost")
    _row(
        "calls",
        f"{outcome.left} sent, {outcome.sent('suppressed')} suppressed in dry-run, "
        f"{outcome.again} repeated under the same key",
    )
    if outcome.answered:
        _row("asked", _asked(outcome))
    for question in outcome.questions:
        _row("held", f"{question.question}")
        _row("", f"Answer it with: tenure hold answer {question.id} --happened, or --did-not")


def _asked(outcome: Outcome) -> str:
    """What became of the calls that no key could bring to their end."""
    happened = sum(it.happened for it in outcome.answered)
    count = len(outcome.answered)
    calls = "a call" if count == 1 else f"{count} calls"
    return (
        f"{calls} in doubt, which no key absorbs: each job was held with a question, and answered "
        f"after a look at the provider: {happened} happened, {count - happened} did not"
    )


def _providers(outcome: Outcome) -> None:
    _heading("What the providers saw, at the limit that came closest")
    output.table(
        ("  provider", "limit", "peak", "used", "requests", "throttled", "duplicate effects"),
        [
            (
                f"  {_TITLES.get(seen.name, seen.name)}",
                seen.words,
                seen.peak,
                f"{seen.share:.0%}",
                seen.requests,
                seen.throttled,
                _doubled(outcome, seen),
            )
            for seen in outcome.ledgers.seen
        ],
    )


def _doubled(outcome: Outcome, seen: Seen) -> int:
    doubled = outcome.ledgers.duplicates.items()
    return sum(count - 1 for name, count in doubled if name.startswith(f"{seen.name}/"))


def _crash(outcome: Outcome) -> None:
    crash = outcome.crash
    if crash is None:
        return
    _heading("What happened to the job whose worker was killed")
    _row("kill -9", f"process {crash.pid}, while Stripe had POST {crash.path} in its hands:")
    _row("", "the charge was marked, the answer never arrived")
    for sentence in outcome.explained:
        if sentence.part in _PARTS:
            output.sentence(sentence.sentence, indent=2)
    output.sentence(
        "These are the words of tenure explain; --keep leaves all jobs to ask.", indent=2
    )


def _waiver(outcome: Outcome) -> None:
    _heading("Who let it act")
    names = ", ".join(move.automation for move in outcome.moves)
    for move in outcome.moves[:1]:
        _row("live", f"{names}, by {move.actor}")
        _row("waived", f"{', '.join(move.waived)}, until {output.instant(move.waived_until)}")
        _row("why", move.reason)
    _row("dry-run", "digest: it has earned nothing yet, so it changes nothing")


def _promises(outcome: Outcome) -> None:
    _heading("What was promised")
    width = max(len(promise.promise) for promise in outcome.promises)
    for promise in outcome.promises:
        word, colour = ("kept", "green") if promise.kept else ("BROKEN", "red")
        line = _hung(f"  {word:<8}{promise.promise:<{width}}  ", promise.shown_by)
        if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            line = line.replace(word, click.style(word, fg=colour, bold=True), 1)
        click.echo(line)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _heading(text: str) -> None:
    click.echo()
    output.heading(text)


def _row(name: str, said: str) -> None:
    click.echo(_hung(f"  {name:<{_NAME}}", said))


def _hung(first: str, said: str) -> str:
    """A name and what there is to say, broken so that the name stands alone at the left."""
    columns = output.width()
    if columns is None or columns <= len(first) + _LEAST:
        return first + said
    return textwrap.fill(
        said,
        columns,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plain(reason: str) -> str:
    return reason.replace("_", " ")
