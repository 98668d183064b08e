"""Settings come from where people put them; mistakes in them are found before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure.base.errors import ConfigurationError, UnknownName
from tenure.base.settings import SETTINGS, Settings, load, resolve


def test_nothing_given_is_the_defaults(tmp_path: Path) -> None:
    """Without any source, every setting has its documented default."""
    resolved = resolve(environ={}, directory=tmp_path)
    assert resolved.settings == Settings()
    assert set(resolved.origins.values()) == {"default"}
    for setting in SETTINGS:
        assert setting.value(resolved.settings) == setting.default


def test_every_setting_says_what_it_means() -> None:
    """Each has one sentence, an environment variable, and a value that can be shown."""
    for setting in SETTINGS:
        assert setting.meaning.endswith(".")
        assert setting.environment == f"TENURE_{setting.name.upper()}"
        assert isinstance(setting.show(Settings()), str)
    units = {setting.name for setting in SETTINGS if setting.unit == "seconds"}
    floats = {setting.name for setting in SETTINGS if isinstance(setting.default, float)}
    assert units == floats


def test_the_stronger_source_wins(tmp_path: Path) -> None:
    """Argument before environment before file before default, and each value knows its source."""
    (tmp_path / "tenure.toml").write_text('poll = 2\nlease = "3m"\nport = 1\nhost = "::1"\n')
    environ = {"TENURE_LEASE": "2m", "TENURE_PORT": "2", "TENURE_HOST": ""}
    overrides = {"port": 3, "app": None}
    resolved = resolve(overrides, environ=environ, directory=tmp_path)
    settings = resolved.settings
    assert (settings.poll, settings.lease, settings.port, settings.host) == (2.0, 120.0, 3, "::1")
    origins = resolved.origins
    assert origins["poll"] == "tenure.toml"
    assert origins["lease"] == "TENURE_LEASE"
    assert origins["port"] == "argument"
    assert origins["host"] == "tenure.toml"
    assert origins["app"] == "default"


def test_pyproject_may_hold_them(tmp_path: Path) -> None:
    """The table of a project that has one is read, and everything else in it left alone."""
    (tmp_path / "pyproject.toml").write_text('[tool.other]\nx = 1\n[tool.tenure]\ndrain = "1m"\n')
    resolved = resolve(environ={}, directory=str(tmp_path))
    assert resolved.settings.drain == 60.0
    assert resolved.origins["drain"] == "pyproject.toml"


@pytest.mark.parametrize("text", ["[project]\nname = 'x'\n", "[tool]\n", "tool = 1\n", ""])
def test_a_pyproject_without_the_table_says_nothing(tmp_path: Path, text: str) -> None:
    """A project that does not mention Tenure is no mistake."""
    (tmp_path / "pyproject.toml").write_text(text)
    assert load(environ={}, directory=tmp_path) == Settings()


def test_two_files_are_one_too_many(tmp_path: Path) -> None:
    """Settings in both files are refused, for nobody could say which of them holds."""
    (tmp_path / "tenure.toml").write_text("poll = 2\n")
    (tmp_path / "pyproject.toml").write_text("[tool.tenure]\npoll = 3\n")
    with pytest.raises(ConfigurationError, match="two files"):
        load(environ={}, directory=tmp_path)


@pytest.mark.parametrize("content", [b"poll = ", b"\xff", b"poll = 1\npoll = 2\n"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    """A broken file is an error that names it, never a file without settings."""
    (tmp_path / "tenure.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"tenure\.toml"):
        load(environ={}, directory=tmp_path)


def test_unknown_names_in_a_file_are_refused(tmp_path: Path) -> None:
    """A key that is no setting is an error that names the nearest one."""
    (tmp_path / "tenure.toml").write_text("hart_beat = 5\n")
    with pytest.raises(UnknownName, match=r"tenure\.toml.*'hart_beat'.*Did you mean 'heartbeat'"):
        load(environ={}, directory=tmp_path)
    (tmp_path / "tenure.toml").write_text("[budgets]\ncrm = 5\n")
    with pytest.raises(UnknownName, match="budgets"):
        load(environ={}, directory=tmp_path)


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("TENURE_DATABSE_URL", "TENURE_DATABASE_URL"),
        ("TENURE_LEAS", "TENURE_LEASE"),
        ("TENURE_PROT", "TENURE_PORT"),
        ("TENURE_Lease", "TENURE_LEASE"),
        ("TENURE_CALL_TIMEOU", "TENURE_CALL_TIMEOUT"),
    ],
)
def test_a_misspelt_variable_is_refused(tmp_path: Path, variable: str, nearest: str) -> None:
    """A variable that is nearly a setting's is an error that names the setting's."""
    with pytest.raises(UnknownName, match=f"{variable}.*Did you mean '{nearest}'"):
        load(environ={variable: "1"}, directory=tmp_path)


def test_other_variables_are_told_and_let_through(tmp_path: Path) -> None:
    """Secrets of the user's own and what a platform sets are no settings, but are listed."""
    environ = {
        "TENURE_TOKEN": "tnr_x",
        "TENURE_CRM_SECRET": "hush",
        "TENURE_SERVICE_HOST": "10.0.0.1",
        "HOME": "/",
    }
    resolved = resolve(environ=environ, directory=tmp_path)
    assert resolved.foreign == ("TENURE_CRM_SECRET", "TENURE_SERVICE_HOST", "TENURE_TOKEN")
    assert resolved.settings == Settings()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("lease", "soon", "not a duration"),
        ("port", "http", "int"),
        ("port", "70000", "65535"),
        ("concurrency", "0", ">= 1"),
        ("pooler", "pgbouncer", "pgbouncer"),
        ("database", "sqlite", "sqlite"),
        ("concurrency", True, "int"),
        ("host", 5, "str"),
        ("poll", -1, "not a duration"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(
    tmp_path: Path, name: str, value: object, says: str
) -> None:
    """The error is one line with the setting, the value and where it stood, and says what to do."""
    with pytest.raises(ConfigurationError, match=f"{name}.*argument.*{says}") as caught:
        load({name: value}, environ={}, directory=tmp_path)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_a_platforms_port_is_explained(tmp_path: Path) -> None:
    """What Kubernetes puts into TENURE_PORT for a service of that name is not mistaken for ours."""
    with pytest.raises(ConfigurationError, match="enableServiceLinks"):
        load(environ={"TENURE_PORT": "tcp://10.0.0.1:8420"}, directory=tmp_path)


@pytest.mark.parametrize(
    "overrides",
    [
        {"heartbeat": 50},
        {"lease": 25},
        {"margin": 45},
        {"margin": 60},
        {"lease": 0},
        {"heartbeat": 0},
        {"poll": 0},
        {"call_timeout": 0},
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    tmp_path: Path, overrides: dict[str, object]
) -> None:
    """A lease that would be over before it is renewed, or a wait of nothing, never starts."""
    with pytest.raises(ConfigurationError) as caught:
        load(overrides, environ={}, directory=tmp_path)
    assert "\n" not in str(caught.value)


def test_the_heartbeat_may_come_just_in_time(tmp_path: Path) -> None:
    """The bound is exact: anything below lease less margin is allowed."""
    assert load({"heartbeat": 49.9}, environ={}, directory=tmp_path).heartbeat == 49.9


def test_the_stronger_of_two_databases_is_taken(tmp_path: Path) -> None:
    """An address in production overrides the embedded database that a file asks for."""
    (tmp_path / "tenure.toml").write_text('database = "embedded"\n')
    environ = {"TENURE_DATABASE_URL": "postgresql://h/db"}
    settings = load(environ=environ, directory=tmp_path)
    assert (settings.database, settings.database_url) == ("", "postgresql://h/db")
    settings = load({"database": "embedded"}, environ=environ, directory=tmp_path)
    assert (settings.database, settings.database_url) == ("embedded", "")
    environ["TENURE_DATABASE"] = "embedded"
    with pytest.raises(ConfigurationError, match="two databases"):
        load(environ=environ, directory=tmp_path)


def test_no_password_is_printed(tmp_path: Path) -> None:
    """Neither the settings nor one shown alone holds the password of the database's address."""
    settings = load({"database_url": "postgresql://u:hush@h/db"}, environ={}, directory=tmp_path)
    assert "hush" not in repr(settings) + str(settings) + repr([settings])
    shown = {setting.name: setting.show(settings) for setting in SETTINGS}
    assert shown["database_url"] == "postgresql://u:[redacted]@h/db"
    assert shown["lease"] == "1 min"
    assert shown["lease"] == "1 min"
