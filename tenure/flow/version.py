"""An automation's version: a hash of what its function does, not of how it is laid out.

Called when an automation is declared.  Promises: comments, blank lines, line breaks and docstrings
change nothing; a changed word in the function, in a function of its package that it reaches, or in
the schema of its input changes it; every Python that runs the same source says the same version.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import io
import textwrap
import tokenize
import types
from collections.abc import Callable, Iterator

from tenure.flow.provider import Provider

# Layout; what a block begins and ends with is told by its kind alone.
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER}
_BLOCKS = {tokenize.INDENT: "<in>", tokenize.DEDENT: "<out>"}
# From Python 3.12 on an f-string comes in pieces; it is read as the one word that it was before.
_STARTS = {getattr(tokenize, n) for n in ("FSTRING_START", "TSTRING_START") if hasattr(tokenize, n)}
_ENDS = {getattr(tokenize, n) for n in ("FSTRING_END", "TSTRING_END") if hasattr(tokenize, n)}

Place = tuple[int, int]


def of(fn: Callable[..., object], schema: str | None) -> str:
    """The version of a function and its input's schema: 16 hex digits."""
    seen: dict[str, str] = {}
    _reach(fn, fn.__module__.partition(".")[0], seen)
    digest = hashlib.sha256()
    for name in sorted(seen):
        digest.update(f"{name}\n{seen[name]}\n".encode("utf-8", "backslashreplace"))
    digest.update((schema or "").encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def _reach(target: object, package: str, seen: dict[str, str]) -> None:
    # What is asked where a call is in doubt is part of what the automation does.
    for probe in target.probes.values() if isinstance(target, Provider) else ():
        _reach(probe, package, seen)
    # What decorators wrap, and what an automation is made of, is the function inside.
    target = inspect.unwrap(getattr(target, "fn", target)) if callable(target) else target
    module = getattr(target, "__module__", None)
    name = f"{module}.{getattr(target, '__qualname__', '')}"
    if not isinstance(target, types.FunctionType | type) or name in seen:
        return
    if not module or module.partition(".")[0] != package:
        return
    source = _source(target)
    if source is None:
        code = getattr(target, "__code__", None)
        seen[name] = code.co_code.hex() if code else ""
        return
    tree = ast.parse(source)
    seen[name] = " ".join(_words(source, _docstrings(tree)))
    space = _space(target)
    for node in ast.walk(tree):
        _reach(_meant(node, space), package, seen)


def _space(target: types.FunctionType | type) -> dict[str, object]:
    """The names that a function or class can use: its module's, and those it closes over."""
    module = inspect.getmodule(target)
    space = dict(getattr(target, "__globals__", None) or (vars(module) if module else {}))
    if isinstance(target, types.FunctionType):
        for name, cell in zip(target.__code__.co_freevars, target.__closure__ or (), strict=False):
            with contextlib.suppress(ValueError):  # a name that is bound later
                space[name] = cell.cell_contents
    return space


def _meant(node: ast.AST, space: dict[str, object]) -> object:
    """What a name stands for, or a name in a module, at any depth; None for all else."""
    if isinstance(node, ast.Name):
        return space.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _meant(node.value, space)
        if isinstance(owner, types.ModuleType | type):
            return getattr(owner, node.attr, None)
    return None


def _source(target: types.FunctionType | type) -> str | None:
    """The source; None for what has none, such as code typed at a prompt."""
    try:
        source = textwrap.dedent(inspect.getsource(target))
        ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return None
    return source


def _docstrings(tree: ast.AST) -> set[Place]:
    """Where docstrings begin."""
    places = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            places.add((node.body[0].lineno, node.body[0].col_offset))
    return places


def _words(source: str, left_out: set[Place]) -> Iterator[str]:
    """The words of a source in order, without layout."""
    lines = source.splitlines(keepends=True)
    depth, begin = 0, (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _STARTS:
            begin = token.start if depth == 0 else begin
            depth += 1
        elif token.type in _ENDS:
            depth -= 1
            if depth == 0:
                yield _slice(lines, begin, token.end)
        elif depth == 0 and token.type in _BLOCKS:
            yield _BLOCKS[token.type]
        elif depth == 0 and token.type not in _LAYOUT and token.start not in left_out:
            yield token.string


def _slice(lines: list[str], begin: Place, end: Place) -> str:
    if begin[0] == end[0]:
        return lines[begin[0] - 1][begin[1] : end[1]]
    middle = lines[begin[0] : end[0] - 1]
    return "".join([lines[begin[0] - 1][begin[1] :], *middle, lines[end[0] - 1][: end[1]]])
