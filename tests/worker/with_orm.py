"""Handlers that use an ORM as authors do, and leave its connections behind; for real workers alone.

Django is told to keep its connections for ever, SQLAlchemy's session is never ended by a handler.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from uuid import UUID

import django  # type: ignore[import-untyped]  # it brings no types
import django.conf  # type: ignore[import-untyped]  # as above
import django.db  # type: ignore[import-untyped]  # as above
import sqlalchemy
from asgiref.sync import sync_to_async
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.orm import scoped_session, sessionmaker

from tenure import Context, Fail, SyncContext, Tenure, current

_URL = conninfo_to_dict(os.environ["TENURE_DATABASE_URL"])

django.conf.settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _URL["dbname"],
            "USER": _URL.get("user"),
            "PASSWORD": _URL.get("password"),
            "HOST": _URL["host"],
            "PORT": _URL["port"],
            "CONN_MAX_AGE": None,
            "OPTIONS": {"application_name": "orm"},
        }
    }
)
django.setup()

engine = sqlalchemy.create_engine(
    "postgresql+psycopg://",
    connect_args={**_URL, "application_name": "alchemy"},
    poolclass=sqlalchemy.NullPool,
)
Session = scoped_session(sessionmaker(engine))

app = Tenure()
app.after_job(Session.remove)


@app.after_job
def tell() -> None:
    """Says where it is called, and after which job."""
    _say(f"{threading.current_thread().name} after {current().job_id}")


@app.after_job
async def tell_in_the_loop() -> None:
    """As ``tell``, by something to be awaited."""
    _say(f"loop after {current().job_id}")


@app.after_job
def leave() -> None:
    """Goes wrong, as badly as it can."""
    if os.environ.get("KIT_SAID"):
        raise SystemExit(3)


_write = threading.Lock()


def _say(words: str) -> None:
    if said := os.environ.get("KIT_SAID"):
        with _write, Path(said).open("a") as file:
            file.write(f"{words}\n")


def _query() -> int:
    with django.db.connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        return int(cursor.fetchone()[0])


@app.automation
def threaded(ctx: SyncContext, n: int) -> int:
    """Asks the database over Django, and tells its thread."""
    ctx.step("ask", _query)
    return threading.get_ident()


@app.automation
async def stepping(ctx: Context, n: int) -> int:
    """Asks the database over Django in a step, which runs in a thread of ours."""
    return await ctx.step("ask", _query)


@app.automation
async def awaiting(ctx: Context, n: int) -> int:
    """Asks the database over Django as its async interface does, in a thread of Django's."""
    return await sync_to_async(_query)()


@app.automation
def session(ctx: SyncContext, n: int) -> int:
    """Asks the database over a session that is bound to the thread."""
    Session.execute(sqlalchemy.text("select 1"))
    return threading.get_ident()


@app.automation(max_attempts=1)
def ends(ctx: SyncContext, way: str) -> UUID:
    """Ends as it is told."""
    if way == "fail":
        raise Fail("no")
    if way == "nap":
        ctx.sleep(86_400.0)
    return ctx.job_id


@app.automation(max_attempts=1)
async def ends_awaited(ctx: Context, way: str) -> UUID:
    """As ``ends``, in a task."""
    if way == "fail":
        raise Fail("no")
    if way == "nap":
        await ctx.sleep(86_400.0)
    return ctx.job_id
