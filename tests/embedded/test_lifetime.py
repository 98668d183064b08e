"""How long the embedded server lives: from its first user to its last, whatever dies meanwhile."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tenure.base.clock import now
from tenure.embedded import start
from tests.embedded.conftest import (
    DEADLINE,
    End,
    User,
    ask,
    eventually,
    keeper,
    postmaster,
)


def test_the_first_user_starts_it_and_the_last_stops_it(directory: Path) -> None:
    """The server outlives the user who started it, and is gone when the last one's stop returns."""
    first = User(directory)
    url = first.hear()
    second = User(directory)
    assert second.hear() == url
    server = End(postmaster(directory))
    first.leave()
    assert second.ask("select row from kept") == "1"
    assert not server.come()
    second.leave()
    assert server.come()
    with pytest.raises(psycopg.OperationalError):
        ask(url, "select 1")


def test_a_killed_user_does_not_keep_it_up(directory: Path) -> None:
    """Users that are killed leave no server behind, the one who started it included."""
    first, second = User(directory), User(directory)
    first.hear()
    second.hear()
    server, parent = End(postmaster(directory)), End(keeper(directory))
    first.kill()
    assert second.ask("select row from kept") == "1"
    second.kill()
    server.wait()
    parent.wait()


def test_a_stop_with_another_user_about_returns_at_once(directory: Path) -> None:
    """Only the last user waits for the server's end; stopping twice is stopping once."""
    with start(directory) as kept:
        other = start(directory)
        server = End(postmaster(directory))
        other.stop()
        other.stop()
        assert not server.come()
        assert ask(kept.url, "select row from kept") == 1
    server.wait()


def test_rows_survive_a_killed_server(directory: Path) -> None:
    """What was committed is there after the postmaster was killed, for old users and new ones."""
    with start(directory) as embedded:
        ask(embedded.url, "insert into kept values (2) returning row")
        End(postmaster(directory)).kill()
        with start(directory) as again:
            assert again.url == embedded.url
            assert eventually(again.url, "select count(*) from kept") == 2
        assert eventually(embedded.url, "select count(*) from kept") == 2
        server = End(postmaster(directory))
    server.wait()


def test_a_killed_server_is_started_again_for_its_users(directory: Path) -> None:
    """Users who are there need do nothing but connect again."""
    with start(directory) as embedded:
        server = postmaster(directory)
        End(server).kill()
        assert eventually(embedded.url, "select row from kept") == 1
        assert postmaster(directory) != server


def test_a_session_that_outlives_its_server_holds_the_next_one_back(directory: Path) -> None:
    """Two servers never write to one data directory: the new one waits for what is left."""
    with start(directory) as embedded:
        busy = psycopg.connect(embedded.url)
        session = End(busy.info.backend_pid)
        busy.pgconn.send_query(b"do $$ begin loop end loop; end $$")
        active = "select true from pg_stat_activity where state = 'active' and query ~ '^do'"
        _until(lambda: ask(embedded.url, active) is True)
        End(postmaster(directory)).kill()
        try:
            # As often as a server may end: being held back does not count as that.
            _until(lambda: (directory / "pg.log").read_text().count("still in use") > 5)
            assert not _answers(embedded.url)
        finally:
            session.kill()
            busy.close()
        assert eventually(embedded.url, "select row from kept") == 1


def test_a_server_that_never_stays_up_is_given_up(directory: Path) -> None:
    """The keeper does not start a server for ever; a new user may."""
    with start(directory) as embedded:
        parent = End(keeper(directory))
        for _ in range(5):
            End(postmaster(directory)).kill()
            _until(lambda: parent.come() or _answers(embedded.url))
        parent.wait()
        assert "given up" in (directory / "pg.log").read_text()
        with start(directory) as again:
            assert ask(again.url, "select row from kept") == 1


def test_a_server_whose_keeper_was_killed_gets_another(directory: Path) -> None:
    """The next user finds the server that was left, and brings it under a keeper again."""
    first = User(directory)
    first.hear()
    left = End(postmaster(directory))
    End(keeper(directory)).kill()
    assert first.ask("select row from kept") == "1"
    with start(directory) as embedded:
        left.wait()
        assert ask(embedded.url, "select row from kept") == 1
        assert first.ask("select row from kept") == "1"
        server = End(postmaster(directory))
    first.leave()
    assert server.come()


def test_several_that_find_a_server_without_a_keeper_all_get_the_same_next_one(
    directory: Path,
) -> None:
    """Nobody is given the server that is about to be stopped."""
    first = User(directory)
    first.hear()
    left = End(postmaster(directory))
    End(keeper(directory)).kill()
    users = [User(directory) for _ in range(4)]
    for user in users:
        user.tell("select pg_postmaster_start_time()")
    assert len({user.hear() for user in users}) == 1
    assert left.come()
    assert len({user.hear() for user in users}) == 1
    assert first.ask("select row from kept") == "1"
    for user in (first, *users):
        user.leave()


def test_the_last_user_stops_a_server_whose_keeper_was_killed(directory: Path) -> None:
    """Without a keeper the last user's stop ends the server itself."""
    with start(directory):
        left = End(postmaster(directory))
        End(keeper(directory)).kill()
    left.wait()


def test_a_keeper_that_is_told_to_end_stops_the_server(directory: Path) -> None:
    """A polite signal, as at the machine's shutdown, is a clean stop."""
    with start(directory):
        server = End(postmaster(directory))
        os.kill(keeper(directory), signal.SIGTERM)
        server.wait()
    assert "database system is shut down" in (directory / "pg.log").read_text()


def test_a_dead_servers_id_may_belong_to_somebody_else(directory: Path) -> None:
    """A lock file left by a killed server whose id lives on as another program stops nothing."""
    with start(directory):
        server, parent = End(postmaster(directory)), End(keeper(directory))
        parent.kill()
        server.kill()
        locks = directory / "pg" / "postmaster.pid", directory / "run" / ".s.PGSQL.5432.lock"
        owner = locks[0].stat().st_uid
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=owner) as cat:
            for lock in locks:
                lines = lock.read_text().split("\n")
                lock.write_text("\n".join([str(cat.pid), *lines[1:]]))
            with start(directory) as embedded:
                assert ask(embedded.url, "select row from kept") == 1
            assert cat.poll() is None


def test_an_initdb_that_was_killed_midway_is_begun_again(open_folder: Path) -> None:
    """A data directory is whole or absent, so a start after a killed one simply makes it."""
    directory = open_folder / "t"
    first = User(directory)
    _until(lambda: bool(list(directory.glob("pg.new-*/base"))))
    first.kill()
    End(_parent_of_initdb(directory)).kill()
    assert not (directory / "pg").exists()
    with start(directory) as embedded:
        assert ask(embedded.url, "select 1") == 1
    with start(directory) as embedded:
        assert ask(embedded.url, "select 1") == 1
    assert not list(directory.glob("pg.new-*"))


def test_four_that_start_at_once_share_one_server(open_folder: Path) -> None:
    """Processes that come at the same moment to a folder that is not there all get one server."""
    users = [User(open_folder / "t") for _ in range(4)]
    assert len({user.hear() for user in users}) == 1
    started = {user.ask("select pg_postmaster_start_time()") for user in users}
    assert len(started) == 1
    server = End(postmaster(open_folder / "t"))
    for user in users:
        user.leave()
    assert server.come()


def test_coming_while_the_last_one_goes_always_ends_with_a_server(directory: Path) -> None:
    """A user who arrives while the server is being stopped waits, and gets a new one."""
    for _ in range(3):
        first, second = User(directory), User(directory)
        assert first.hear()
        first.leave()
        assert second.hear()
        assert second.ask("select row from kept") == "1"
        second.leave()
    assert not (directory / "pg" / "postmaster.pid").exists()


def test_a_forked_child_takes_nothing_from_its_parent(directory: Path) -> None:
    """A child's stop and end leave the parent its server."""
    forking = User(directory, "fork")
    assert forking.hear()
    assert forking.ask("select row from kept") == "1"
    server = End(postmaster(directory))
    forking.leave()
    assert server.come()


def _parent_of_initdb(directory: Path) -> int:
    wanted = os.fsencode(directory)
    return next(
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit()
        and b"tenure.embedded.keeper" in (words := _words(process))
        and wanted in words
    )


def _words(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _answers(url: str) -> bool:
    try:
        return ask(url, "select 1") == 1
    except psycopg.OperationalError:
        return False


def _until(fact: Callable[[], bool]) -> None:
    deadline = now() + DEADLINE
    while not fact():
        assert now() < deadline
        select.select([], [], [], 0.01)
