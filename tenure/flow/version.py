"""An automation's version: a hash of what its function does, not of how it is laid out.

Called when an automation is declared.  Promises: comments, blank lines and docstrings change
nothing; a changed line in the function, in a function of its package that it reaches, or in the
schema of its input changes it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
import types
from collections.abc import Callable


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
    module = getattr(target, "__module__", None)
    name = f"{module}.{getattr(target, '__qualname__', '')}"
    if not isinstance(target, types.FunctionType | type) or name in seen:
        return
    if not module or module.partition(".")[0] != package:
        return
    tree = _tree(target)
    if tree is None:
        code = getattr(target, "__code__", None)
        seen[name] = code.co_code.hex() if code else ""
        return
    seen[name] = ast.dump(_bare(tree))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for reached in _globals(target, names):
        _reach(inspect.unwrap(reached) if callable(reached) else reached, package, seen)


def _globals(target: types.FunctionType | type, names: set[str]) -> list[object]:
    module = inspect.getmodule(target)
    space = getattr(target, "__globals__", None) or (vars(module) if module else {})
    return [space[name] for name in sorted(names) if name in space]


def _tree(target: types.FunctionType | type) -> ast.AST | None:
    """The source's tree; None for what has no source, such as code typed at a prompt."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(target)))
    except (OSError, TypeError, SyntaxError):
        return None


def _bare(tree: ast.AST) -> ast.AST:
    """The tree without docstrings."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node, clean=False):
            node.body = node.body[1:] or [ast.Pass()]
    return tree
