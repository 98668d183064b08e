"""What the embedded server is: durable, private, and able to run wherever it is put."""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.base.errors import ConfigurationError, DatabaseUnavailable
from tenure.embedded import binaries, start
from tests.embedded.conftest import User, ask, postmaster
from tests.house.tree import ROOT

# From 17 on, PostgreSQL brings a locale of its own, which also knows the case of letters.
_LOCALE = """
    select current_setting('server_version_num')::int < 170000
        or to_jsonb(pg_database) @> '{"datlocprovider": "b", "datlocale": "C.UTF-8"}'
    from pg_database limit 1
"""


def test_a_new_folder_is_made_and_answers(open_folder: Path) -> None:
    """A folder that is not there becomes a server with UTF-8, sorted alike everywhere."""
    with start(open_folder / "new" / ".tenure") as embedded:
        assert embedded.directory == open_folder / "new" / ".tenure"
        assert ask(embedded.url, "select length('ą')") == 1
        sorts = "select 'Z' < 'a' and 'a' < 'ą' and 'ą' < 'ć'"
        assert ask(embedded.url, sorts) is True
        assert ask(embedded.url, _LOCALE) is True
        assert ask(embedded.url, "show data_checksums") == "on"
    assert {path.name for path in embedded.directory.iterdir()} == {
        *("pg", "pg.log", "run", "turn.lock", "users.lock", "keeper.lock")
    }


def test_no_file_switches_durability_off(directory: Path) -> None:
    """What an edited configuration file says about fsync and commits does not count."""
    with (directory / "pg" / "postgresql.auto.conf").open("a") as settings:
        settings.write("fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n")
    with start(directory) as embedded:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert ask(embedded.url, f"show {name}") == "on"


def test_memory_and_sessions_are_as_asked(directory: Path) -> None:
    """The user who starts the server says how much memory it shares."""
    with start(directory, shared_buffers="16MB") as embedded:
        assert ask(embedded.url, "show shared_buffers") == "16MB"
        assert ask(embedded.url, "show max_connections") == "200"
    with start(directory) as embedded:
        assert ask(embedded.url, "show shared_buffers") == "128MB"


def test_nobody_else_can_connect(directory: Path) -> None:
    """The server listens on one socket in a private folder, and on no network."""
    with start(directory) as embedded:
        assert stat.S_IMODE((directory / "run").stat().st_mode) == 0o700
        assert stat.S_IMODE((directory / "pg").stat().st_mode) == 0o700
        assert ask(embedded.url, "show listen_addresses") == ""
        assert _network_sockets(postmaster(directory)) == []


def _network_sockets(process: int) -> list[str]:
    opened = {str(path.readlink()) for path in Path(f"/proc/{process}/fd").iterdir()}
    tables = [Path(f"/proc/{process}/net/{name}") for name in ("tcp", "tcp6", "udp", "udp6")]
    rows = [row for table in tables if table.exists() for row in table.read_text().split("\n")[1:]]
    return [row for row in rows if row and f"socket:[{row.split()[9]}]" in opened]


def test_a_socket_of_a_deep_folder_is_put_where_it_fits(directory: Path) -> None:
    """A path too long for an address gives a private folder elsewhere, gone with the server."""
    deep = directory.rename(directory.with_name("deep" * 40))
    (deep.parent / "link").symlink_to(deep)
    with start(deep) as embedded, start(deep.parent / "link") as same:
        elsewhere = (deep / "socket").readlink()
        assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700
        assert same.url == embedded.url
        assert ask(embedded.url, "select row from kept") == 1
    assert not elsewhere.exists()
    assert not (deep / "socket").is_symlink()


def test_a_folder_prepared_by_somebody_else_is_not_used_for_the_socket(directory: Path) -> None:
    """A socket's folder that others can enter is refused: whoever is there could answer."""
    deep = directory.rename(directory.with_name("deep" * 40))
    with start(deep):
        elsewhere = (deep / "socket").readlink()
    elsewhere.mkdir(0o755)
    with pytest.raises(ConfigurationError, match="not private"):
        start(deep)
    elsewhere.rmdir()


def test_it_runs_behind_closed_doors(directory: Path) -> None:
    """A folder under a private one works, for root too, and nobody's permissions change."""
    parents = [directory.parent, *directory.parent.parents]
    directory.parent.chmod(0o700)
    before = [(path.stat().st_mode, path.stat().st_uid) for path in parents]
    with start(directory) as embedded:
        assert ask(embedded.url, "select row from kept") == 1
        assert (directory / "pg").stat().st_uid == os.geteuid()
    assert [(path.stat().st_mode, path.stat().st_uid) for path in parents] == before
    directory.parent.chmod(0o711)
    with start(directory) as embedded:
        assert ask(embedded.url, "select row from kept") == 1


def test_it_runs_programs_behind_closed_doors(directory: Path) -> None:
    """Programs that only root can reach serve root too: an environment in a private home."""
    closed = directory.with_name("home")
    closed.mkdir(0o700)
    (closed / "bin").symlink_to(binaries.find())
    with start(directory, binaries=closed / "bin") as embedded:
        assert ask(embedded.url, "select row from kept") == 1
        assert Path(f"/proc/{postmaster(directory)}").stat().st_uid == os.geteuid()


def test_where_no_account_will_do_the_error_says_so(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root alone, without a way to look like another, gets a reason; others just run."""
    directory.parent.chmod(0o700)
    monkeypatch.setenv("PATH", str(directory))
    refused = pytest.raises(ConfigurationError, match="refuses to run as root")
    with refused if os.geteuid() == 0 else contextlib.nullcontext(), start(directory) as embedded:
        assert ask(embedded.url, "select row from kept") == 1


def test_root_gives_the_server_to_a_lesser_account(directory: Path) -> None:
    """The server itself is never root's where another account reaches the folder."""
    with start(directory):
        runs_as = Path(f"/proc/{postmaster(directory)}").stat().st_uid
    lesser = [_uid(name) for name in ("postgres", "nobody")]
    assert runs_as in (lesser if os.geteuid() == 0 else [os.geteuid()])


def test_a_folder_stays_its_owners_when_root_has_used_it(open_folder: Path) -> None:
    """Root starts the server as the folder's owner, who can then start it too."""
    directory = open_folder / "t"
    directory.mkdir(0o700)
    lesser = [0, _uid("postgres"), _uid("nobody")]
    if os.geteuid() == 0:
        stranger = next(user for user in pwd.getpwall() if user.pw_uid not in lesser)
        os.chown(directory, stranger.pw_uid, stranger.pw_gid)
    with start(directory) as embedded:
        ask(embedded.url, "create table kept as select 1 as row")
        assert Path(f"/proc/{postmaster(directory)}").stat().st_uid == directory.stat().st_uid
    assert {path.stat().st_uid for path in directory.iterdir()} == {directory.stat().st_uid}
    owner = User(directory, command=_as_owner(directory))
    assert owner.hear() == embedded.url
    assert owner.ask("select row from kept") == "1"
    owner.leave()


def test_a_user_without_a_name_has_a_server_too(open_folder: Path) -> None:
    """A user id that the password file does not know, as in containers, is no obstacle."""
    directory = open_folder / "t"
    directory.mkdir(0o700)
    if os.geteuid() == 0:
        os.chown(directory, 54321, 54321)
    nameless = User(directory, command=_as_owner(directory))
    assert nameless.hear()
    assert nameless.ask("select 1") == "1"
    assert Path(f"/proc/{postmaster(directory)}").stat().st_uid == directory.stat().st_uid
    nameless.leave()


def _uid(name: str) -> int:
    """The user of that name, or one that nobody is."""
    return next((user.pw_uid for user in pwd.getpwall() if user.pw_name == name), -1)


def _as_owner(directory: Path) -> list[str]:
    """A Python that runs as the folder's owner: ourselves, or one that the owner can reach."""
    owner = directory.stat().st_uid
    if owner == os.geteuid():
        return [sys.executable]
    library = next(path for path in sys.path if path.endswith("site-packages"))
    become = ["setpriv", f"--reuid={owner}", "--clear-groups", "env", f"PYTHONPATH={library}"]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        tried = [*become, python, "-c", "import psycopg, tests.embedded.user"]
        if subprocess.run(tried, cwd=ROOT, check=False, capture_output=True).returncode == 0:
            return [*become, python]
    return [sys.executable]  # no Python is within the owner's reach: as root once more


def test_data_of_another_version_is_left_alone(directory: Path) -> None:
    """Programs that cannot open the data directory are refused, with the version to look for."""
    (directory / "pg" / "PG_VERSION").write_text("14\n")
    with pytest.raises(ConfigurationError, match="made by PostgreSQL 14") as caught:
        start(directory)
    assert "TENURE_PG_BIN" in caught.value.hint


def test_a_failed_start_shows_the_log(directory: Path) -> None:
    """The error of a server that does not start holds what the server said."""
    with pytest.raises(DatabaseUnavailable, match='parameter "shared_buffers": "lots"'):
        start(directory, shared_buffers="lots")
    with start(directory) as embedded:
        assert ask(embedded.url, "select row from kept") == 1


def test_a_folder_that_cannot_be_used_says_so(open_folder: Path) -> None:
    """Something else in the place of the folder, or of a lock in it, is an error that names it."""
    (open_folder / "file").touch()
    (open_folder / "folder" / "users.lock").mkdir(parents=True)
    for name in ("file", "folder"):
        with pytest.raises(ConfigurationError, match=rf"{name}\) cannot be used"):
            start(open_folder / name)
