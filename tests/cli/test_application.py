"""Finding the author's code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure.app import Tenure
from tenure.base.defaults import Settings
from tenure.base.errors import ConfigurationError, UnknownName
from tenure.cli import application


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module in the working folder, which is on nobody's path."""
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    module = tmp_path / "cli_application_code.py"
    module.write_text("from tenure import Tenure\napp = Tenure()\nnothing = 3\n")
    return module


def test_an_application_of_the_working_folder_is_found(code: Path) -> None:
    """The folder one works in is searched, and the settings in force are the application's."""
    settings = Settings(app="cli_application_code:app", poll=7.0)
    app = application.load(settings)
    assert isinstance(app, Tenure)
    assert app.settings.poll == 7.0


def test_a_path_is_proved_without_importing_anything(tmp_path: Path) -> None:
    """The path of a module that would fail is taken as it is: it is not imported here."""
    (tmp_path / "cli_application_bad.py").write_text("raise SystemExit('imported')\n")
    settings = Settings(app="cli_application_bad:app")
    assert application.path(settings) == "cli_application_bad:app"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "no application is set"),
        ("cli_application_gone:app", "there is no module 'cli_application_gone'"),
        ("cli_application_code:nothing", "is a int and no application"),
        ("cli_application_code", "names no object"),
    ],
)
def test_a_path_that_leads_nowhere_says_why(code: Path, path: str, says: str) -> None:
    """Each way in which a path can be wrong is one line with what to do."""
    with pytest.raises(ConfigurationError, match=says) as wrong:
        application.load(Settings(app=path))
    assert wrong.value.hint


def test_a_name_that_is_nearly_right_is_told(code: Path) -> None:
    """A name that is not there is an error with the nearest one that is."""
    with pytest.raises(UnknownName) as wrong:
        application.load(Settings(app="cli_application_code:apps"))
    assert wrong.value.hint == "Did you mean 'app'?"
