"""Each exception to a rule of the linters is signed with its reason, where it is made."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, Finding, files, hold, relative

# Put together, so that the linters do not take these lines for exceptions.
_NOQA = "no" + "qa"
_IGNORE = "type: " + "ignore"
_SILENCED = re.compile(rf"#\s*({_NOQA}|{_IGNORE})\b(?P<codes>[:\[][\w, \[\]-]*)?(?P<rest>.*)$")
# What follows the codes: a dash and at least two words.
_REASON = re.compile(r"^\s*(?:-+|–|—|#)?\s*\w\S*\s+\S")
_RULE = re.compile(r'^\s*"(?P<rule>[A-Z]+\d+)",\s*(?P<reason># \S.*)?$')


def unreasoned(top: Path, root: Path) -> Iterator[Finding]:
    """Lines of Python that silence a linter without saying which rule, or why."""
    for path in files(top, ".py"):
        place = relative(path, root)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = _SILENCED.search(line)
            if match is None:
                continue
            where = f"{place}:{number}"
            if not match["codes"]:
                yield Finding(place, where, "silences every rule: name the one that is meant")
            elif not _reasoned(match["codes"] + match["rest"]):
                yield Finding(place, where, f"'{match[0].strip()}' gives no reason")


def _reasoned(after: str) -> bool:
    rest = re.sub(r"^[:\[]\s*[\w-]+(?:\s*,\s*[\w-]+)*\]?", "", after)
    return _REASON.match(rest) is not None


def unsigned_rules(config: Path, root: Path) -> Iterator[Finding]:
    """Rules that the configuration leaves out without a comment on their own line."""
    text = config.read_text(encoding="utf-8")
    place = relative(config, root)
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    per_file = lint.get("per-file-ignores", {}).values()
    wanted = sorted([*lint.get("ignore", []), *(rule for rules in per_file for rule in rules)])
    matches = [match for line in text.splitlines() if (match := _RULE.match(line))]
    for match in matches:
        if not match["reason"]:
            yield Finding(place, place, f"{match['rule']} is left out without a reason")
    for rule in set(wanted) - {match["rule"] for match in matches}:
        yield Finding(
            place, place, f"{rule} is left out on a line it shares: no room for its reason"
        )


def test_no_line_silences_a_rule_without_saying_why() -> None:
    """Whoever silences a linter in a line names the rule and the reason there."""
    hold(unreasoned(ROOT, ROOT), {})


def test_no_rule_is_left_out_without_saying_why() -> None:
    """Each rule that the configuration leaves out stands on a line of its own with its reason."""
    hold(unsigned_rules(ROOT / "pyproject.toml", ROOT), {})


@pytest.mark.parametrize(
    "comment",
    [
        "{noqa}",
        "{noqa}: S101",
        "{noqa}: S101, B023",
        "{ignore}",
        "{ignore}[arg-type]",
        "{noqa}: S101 why",
    ],
)
def test_a_silent_exception_is_found(tmp_path: Path, comment: str) -> None:
    """No rule named, or no reason given: either is found."""
    line = f"x = 1  # {comment.format(noqa=_NOQA, ignore=_IGNORE)}\n"
    (tmp_path / "planted.py").write_text(line)
    assert len(list(unreasoned(tmp_path, tmp_path))) == 1


@pytest.mark.parametrize(
    "comment",
    [
        "{noqa}: S101 - the caller has checked",
        "{noqa}: S101, B023 the caller has checked",
        "{ignore}[arg-type]  # the stubs are wrong",
        "{ignore}[arg-type, misc] - the stubs are wrong",
    ],
)
def test_a_signed_exception_is_let_through(tmp_path: Path, comment: str) -> None:
    """A rule and a reason are all that is asked for."""
    line = f"x = 1  # {comment.format(noqa=_NOQA, ignore=_IGNORE)}\n"
    (tmp_path / "planted.py").write_text(line)
    assert list(unreasoned(tmp_path, tmp_path)) == []


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ('"A001",  # a reason\n', 0),
        ('"A001",\n', 1),
        ('"A001", "A002",  # one reason for two\n', 2),
    ],
)
def test_a_rule_left_out_in_silence_is_found(tmp_path: Path, rules: str, found: int) -> None:
    """A rule without a reason of its own is found, in the general list and per file."""
    config = tmp_path / "pyproject.toml"
    config.write_text(f"[tool.ruff.lint]\nignore = [\n{rules}]\n")
    assert len(list(unsigned_rules(config, tmp_path))) == found
    config.write_text(f'[tool.ruff.lint.per-file-ignores]\n"a.py" = [\n{rules}]\n')
    assert len(list(unsigned_rules(config, tmp_path))) == found
