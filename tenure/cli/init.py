"""``tenure init``: the files that a folder of automations begins with.

Promises: nothing that is there is written over; an automation that runs without any provider or
secret; the next two commands are told.
"""

from __future__ import annotations

from pathlib import Path

import click

from tenure.base import settings as base_settings
from tenure.cli import output

_CODE = '''\
"""Automations: each is a function, and each run of it a row in PostgreSQL.

Whatever dies meanwhile, a run goes on from where it stopped: finished steps and calls return what
they returned before.
"""

from dataclasses import dataclass

from tenure import Context, Tenure

app = Tenure()

# A provider is the API that an automation calls: its limits and its credentials stand here once.
#
#     from tenure import Bearer, Budget, env
#
#     crm = app.provider(
#         "crm",
#         base_url="https://crm.example.com",
#         auth=Bearer(env("CRM_TOKEN")),
#         budgets=[Budget(100, per=10.0)],
#     )
#
# A source is a door for events at /hooks/NAME; it lets in what is signed, and nothing else.
#
#     leads = app.source("lead", scheme="standard-webhooks", secret=env("LEAD_SECRET"))


@dataclass
class Greeting:
    """What the automation takes; it is checked before a job is made."""

    name: str


def words(name: str) -> str:
    """A step: its result is remembered, and it is not run again."""
    return f"Hello, {name}!"


# With a source and a provider: @app.automation(on=leads, lane=crm)
@app.automation
async def hello(ctx: Context, greeting: Greeting) -> str:
    """Greet somebody."""
    said = await ctx.step("words", words, greeting.name)
    # An effect at a provider has a name, and a key that stays the same whenever it is sent:
    #
    #     await ctx.http(crm).post("/notes", step="note", json={"text": said})
    return said
'''

_SETTINGS = """\
# Every setting and where it stood: tenure settings
app = "automations:app"

# A PostgreSQL of Tenure's own, in .tenure/.  For one of yours, take this line away and set
# TENURE_DATABASE_URL.
database = "embedded"
"""

_IGNORED = ".tenure/"


@click.command()
def init() -> None:
    """Write an automation and its settings into this folder."""
    folder = Path.cwd()
    _write(folder / "automations.py", _CODE)
    if base_settings.stand_in_project(folder):
        output.notice("left the settings in pyproject.toml as they are")
    else:
        _write(folder / "tenure.toml", _SETTINGS)
    _ignore(folder / ".gitignore")
    click.echo("Next:")
    click.echo("  tenure dev")
    click.echo('  tenure enqueue hello \'{"name": "Ann"}\'')


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        output.notice(f"left {path.name} as it is")
    else:
        click.echo(f"wrote {path.name}")


def _ignore(path: Path) -> None:
    """Add the embedded database's folder to what Git passes over, once."""
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if _IGNORED in known.splitlines():
        return
    gap = "\n" if known and not known.endswith("\n") else ""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{gap}{_IGNORED}\n")
    click.echo(f"added {_IGNORED} to {path.name}")
