"""Every setting of Tenure: its name, its default, and one sentence on what it means.

``tenure.base.settings`` fills them in; ``tenure settings`` and the reference pages are made from
them.  Promises: a setting that is not listed here does not exist; no password is printed.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

import msgspec
from msgspec import Meta

from tenure.base import durations, redact

PREFIX = "TENURE_"

_Seconds = Annotated[float, Meta(ge=0, extra={"unit": "seconds"})]
_Count = Annotated[int, Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, all in force; durations are seconds, sizes are bytes."""

    database_url: Annotated[
        str, Meta(description="Address of the PostgreSQL database that holds Tenure's rows.")
    ] = ""
    database: Annotated[
        Literal["", "embedded"],
        Meta(description="`embedded` runs a PostgreSQL of Tenure's own instead of an address."),
    ] = ""
    app: Annotated[
        str, Meta(description="Where the automations are declared, as `module:name`.")
    ] = ""
    lease: Annotated[
        _Seconds, Meta(description="How long a claimed job is taken unless its lease is renewed.")
    ] = 60.0
    heartbeat: Annotated[
        _Seconds, Meta(description="How often a worker renews the leases it holds.")
    ] = 15.0
    margin: Annotated[
        _Seconds, Meta(description="How long before its lease ends a worker stops acting on it.")
    ] = 10.0
    call_timeout: Annotated[
        _Seconds, Meta(description="How long a call may take, from its first byte to its answer.")
    ] = 30.0
    max_inline_wait: Annotated[
        _Seconds, Meta(description="The longest wait that is slept; a longer one parks the job.")
    ] = 2.0
    poll: Annotated[_Seconds, Meta(description="How often an idle worker looks for jobs.")] = 1.0
    drain: Annotated[
        _Seconds, Meta(description="How long a stopping worker lets its jobs come to an end.")
    ] = 30.0
    processes: Annotated[_Count, Meta(description="How many processes a worker runs jobs in.")] = 1
    concurrency: Annotated[_Count, Meta(description="How many jobs one process runs at once.")] = 50
    input_limit: Annotated[
        _Count, Meta(description="The longest input of a job, in bytes of JSON.")
    ] = 1_000_000
    result_limit: Annotated[
        _Count, Meta(description="The longest result of a job, in bytes of JSON.")
    ] = 1_000_000
    event_limit: Annotated[_Count, Meta(description="The longest body of an event, in bytes.")] = (
        20_000_000
    )
    retention_finished: Annotated[
        _Seconds,
        Meta(description="How long a job that succeeded or was cancelled is kept, once finished."),
    ] = 30 * 86_400.0
    retention_failed: Annotated[
        _Seconds, Meta(description="How long a failed job is kept, once finished.")
    ] = 90 * 86_400.0
    host: Annotated[str, Meta(description="The address the web server listens on.")] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65_535, description="The port the web server listens on; 0: a free one.")
    ] = 8420
    pooler: Annotated[
        Literal["auto", "none", "transaction"],
        Meta(description="Whether a transaction pooler stands before the database; auto: see."),
    ] = "auto"
    embedded_directory: Annotated[
        str, Meta(description="Where the embedded PostgreSQL keeps its files.")
    ] = ".tenure"

    @property
    def pooled(self) -> bool | None:
        """Whether a transaction pooler stands before the database; None: see when connected."""
        return None if self.pooler == "auto" else self.pooler == "transaction"

    def __repr__(self) -> str:
        """All values, passwords masked."""
        shown = ", ".join(f"{setting.name}={setting.show(self)!r}" for setting in SETTINGS)
        return f"Settings({shown})"


class Setting(msgspec.Struct, frozen=True):
    """One setting as it is documented; ``unit`` is ``seconds`` for durations, else empty."""

    name: str
    meaning: str
    default: str | int | float
    unit: str

    @property
    def environment(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper()

    def value(self, settings: Settings) -> str | int | float:
        """Its value, passwords and all."""
        found: str | int | float = getattr(settings, self.name)
        return found

    def show(self, settings: Settings) -> str:
        """Its value for people, passwords masked."""
        value = self.value(settings)
        if self.unit:
            return durations.words(float(value))
        return redact.dsn(value) if isinstance(value, str) else str(value)


def _listed(field: msgspec.structs.FieldInfo) -> Setting:
    """A field of ``Settings`` as its annotations describe it."""
    metas = [meta for meta in get_args(field.type) if isinstance(meta, Meta)]
    return Setting(
        name=field.name,
        meaning=next(meta.description for meta in metas if meta.description),
        default=cast("str | int | float", field.default),
        unit=next((str(meta.extra["unit"]) for meta in metas if meta.extra), ""),
    )


SETTINGS = tuple(_listed(field) for field in msgspec.structs.fields(Settings))
