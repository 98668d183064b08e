"""SQL we call is a file: one statement, one verb, one room that uses it, a header that explains."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, ROOT, Finding, files, hold, parsed, relative

LINES = 60
HEADER = range(4, 9)

_MIGRATIONS = "migrations"
_STATEMENT = re.compile(r"^[a-z][a-z_]*/[a-z][a-z_]*$")
_MIGRATION = re.compile(r"^(\d{4})_[a-z][a-z_]*\.sql$")
_SERVES = re.compile(r"^-- serves code from: \S", re.MULTILINE)

# tenure/sql/<room>/<verb>.sql -> reason.
SIGNED: dict[str, str] = {
    "tenure/sql/claims/claim.sql": "a claim is one statement: rows locked are rows returned",
}


def misplaced(package: Path, root: Path) -> Iterator[Finding]:
    """Statements without a proper header, too long, or not used by their own room alone."""
    uses = _uses(package)
    names: set[str] = set()
    for path in files(package / "sql", ".sql"):
        parts = path.relative_to(package / "sql").with_suffix("").parts
        place, name = relative(path, root), "/".join(parts)
        if parts[0] == _MIGRATIONS:
            continue
        names.add(name)
        if not _STATEMENT.match(name):
            yield Finding(place, place, "a statement is sql/<room>/<verb>.sql, in small letters")
            continue
        yield from _shape(path, place)
        yield from _users(place, name.partition("/")[0], package, uses[name])
    for name in sorted(uses.keys() - names):
        for user in sorted(uses[name]):
            if _room(user, package) == name.partition("/")[0]:
                where = relative(user, root)
                yield Finding(where, where, f"asks for {name}, and there is no such statement")


def _shape(path: Path, place: str) -> Iterator[Finding]:
    lines = path.read_text(encoding="utf-8").splitlines()
    header = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    if header not in HEADER:
        says = f"{header} lines of header: what it does, parameters, rows, locks, index, zero rows"
        yield Finding(place, place, says)
    if len(lines) > LINES:
        yield Finding(place, place, f"{len(lines)} lines: a statement has at most {LINES}")


def _users(place: str, room: str, package: Path, users: set[Path]) -> Iterator[Finding]:
    names = sorted(relative(user, package) for user in users)
    if len(names) != 1:
        by = ", ".join(names) or "nobody"
        yield Finding(place, place, f"is used by {by}: one module of the store uses a statement")
    elif any(_room(user, package) != room for user in users):
        yield Finding(place, place, f"is used by {names[0]}, not by store/{room}.py")


def _room(user: Path, package: Path) -> str:
    parts = user.relative_to(package).with_suffix("").parts
    return parts[1] if parts[0] == "store" and len(parts) > 1 else ""


def _uses(package: Path) -> defaultdict[str, set[Path]]:
    """Which modules hold which ``room/verb`` literal; naming one in a longer text is no use."""
    uses: defaultdict[str, set[Path]] = defaultdict(set)
    for path in files(package, ".py"):
        for node in ast.walk(parsed(path)):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, str) and _STATEMENT.match(value):
                uses[value].add(path)
    return uses


def disordered(migrations: Path, root: Path) -> Iterator[Finding]:
    """Migrations that break the row of numbers, or do not say which code they serve."""
    wanted = 1
    for path in files(migrations):
        place, match = relative(path, root), _MIGRATION.match(path.name)
        if match is None:
            yield Finding(place, place, "a migration is NNNN_concept.sql")
            continue
        if int(match[1]) != wanted:
            yield Finding(place, place, f"has number {match[1]} where {wanted:04} comes next")
        wanted = int(match[1]) + 1
        if not _SERVES.search(path.read_text(encoding="utf-8")):
            yield Finding(place, place, "does not state '-- serves code from: VERSION'")


def test_each_statement_explains_itself_and_has_one_user() -> None:
    """Every statement has a header of 4 to 8 lines, at most 60 lines, and its own room as user."""
    hold(misplaced(PACKAGE, ROOT), SIGNED)


def test_migrations_are_a_row_without_gaps() -> None:
    """Migrations are numbered from 0001 without gaps, and each says which code it serves."""
    hold(disordered(PACKAGE / "sql" / _MIGRATIONS, ROOT), {})


_GOOD = "-- What.\n-- Parameters.\n-- Rows.\n-- Locks.\nselect 1\n"


def _plant(top: Path, tree: dict[str, str]) -> None:
    for place, text in tree.items():
        (top / place).parent.mkdir(parents=True, exist_ok=True)
        (top / place).write_text(text)


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ({"sql/jobs/get.sql": _GOOD, "store/jobs.py": "run('jobs/get')"}, None),
        ({"sql/jobs/get.sql": _GOOD, "store/jobs/read.py": "run('jobs/get')"}, None),
        ({"sql/jobs/get.sql": _GOOD, "store/jobs.py": "'''See jobs/get.'''"}, "by nobody"),
        ({"sql/jobs/get.sql": _GOOD, "store/leases.py": "run('jobs/get')"}, "not by store/jobs.py"),
        ({"sql/jobs/get.sql": _GOOD, "web/jobs.py": "run('jobs/get')"}, "not by store/jobs.py"),
        (
            {
                "sql/jobs/get.sql": _GOOD,
                "store/jobs.py": "run('jobs/get')",
                "app.py": "run('jobs/get')",
            },
            "is used by app.py, store/jobs.py",
        ),
        ({"sql/jobs/get.sql": "select 1", "store/jobs.py": "run('jobs/get')"}, "0 lines of header"),
        (
            {"sql/jobs/get.sql": "--\n" * 5 + _GOOD, "store/jobs.py": "run('jobs/get')"},
            "9 lines of header",
        ),
        (
            {"sql/jobs/get.sql": _GOOD + "\n" * 56, "store/jobs.py": "run('jobs/get')"},
            "61 lines",
        ),
        ({"sql/get.sql": _GOOD}, "sql/<room>/<verb>.sql"),
        ({"sql/jobs/Get.sql": _GOOD}, "sql/<room>/<verb>.sql"),
        ({"store/jobs.py": "run('jobs/gone')"}, "no such statement"),
        ({"store/jobs.py": "kind = 'application/json'"}, None),
        ({"sql/migrations/0001_ground.sql": "create schema tenure"}, None),
    ],
)
def test_a_misplaced_statement_is_found(
    tmp_path: Path, tree: dict[str, str], says: str | None
) -> None:
    """Each way a statement can be wrong is found; a good one is let through."""
    package = tmp_path / "planted"
    _plant(package, tree)
    found = [str(finding) for finding in misplaced(package, package)]
    assert len(found) == (says is not None)
    assert all(says in line for line in found if says)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["0001_ground.sql", "0002_jobs.sql"], []),
        (["0002_jobs.sql"], ["0002 where 0001"]),
        (["0001_ground.sql", "0003_jobs.sql", "0004_steps.sql"], ["0003 where 0002"]),
        (["0001_a.sql", "0001_b.sql"], ["0001 where 0002"]),
        (["1_ground.sql"], ["NNNN_concept"]),
        (["0001_ground.txt"], ["NNNN_concept"]),
    ],
)
def test_a_gap_in_the_row_is_found(tmp_path: Path, names: list[str], says: list[str]) -> None:
    """A missing, doubled or misnamed number is found, once."""
    _plant(tmp_path, dict.fromkeys(names, "-- serves code from: 0.1\n"))
    found = [str(finding) for finding in disordered(tmp_path, tmp_path)]
    assert len(found) == len(says)
    assert all(part in line for part, line in zip(says, found, strict=True))


def test_a_migration_that_serves_nobody_is_found(tmp_path: Path) -> None:
    """A migration must say from which code version on it is served."""
    _plant(tmp_path, {"0001_ground.sql": "-- serves code from:\ncreate schema tenure;\n"})
    assert len(list(disordered(tmp_path, tmp_path))) == 1
