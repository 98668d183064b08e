"""The command line: one module a noun, each imported when its command is run.

Called as ``tenure`` and as ``python -m tenure``.  Promises: standard output holds what was asked
for and nothing else, notices and errors go to standard error; an error is one line and its hint;
the exit code says what kind of end it was.
"""

from __future__ import annotations

from tenure.cli.group import commands


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    commands.main(prog_name="tenure")
