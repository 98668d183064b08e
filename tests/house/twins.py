"""What a ``def`` handler is given, made from what an ``async def`` handler is given.

    python -m tests.house.twins            write tenure/flow/sync.py anew

For each class in ``TWINS`` a twin is drawn with the same public names, signatures and docstrings: a
coroutine is waited for in the handler's thread, a plain method is called in the job's loop, a
property is read where it is asked for, and what has a twin itself is given as its twin.
"""

from __future__ import annotations

import ast
import copy
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tests.house.tree import PACKAGE, Function

Node = TypeVar("Node", bound=ast.stmt)

TARGET = PACKAGE / "flow" / "sync.py"
# The module that a class stands in, in the order in which twins need each other; its twin's name.
TWINS = {("http", "Http"): "SyncHttp", ("context", "Context"): "SyncContext"}

_NAMES = {name: twin for (_, name), twin in TWINS.items()}
_HEAD = '''
"""What a ``def`` handler is given; generated from ``flow/context.py`` and ``flow/http.py``.

Written by ``make twins`` and by nobody else: change the classes for ``async def`` handlers, and
make it anew.  Promises: whatever is asked here is done in the job's event loop as for an ``async
def`` handler, and the handler's thread waits for it.
"""
from __future__ import annotations
'''


def drawn(flow: Path = PACKAGE / "flow") -> str:
    """The generated module, as it stands in the package."""
    modules = {name: ast.parse((flow / f"{name}.py").read_text()) for name, _ in TWINS}
    classes = [_twin(modules[module], name) for module, name in TWINS]
    lines = [_HEAD, *sorted(_imports(modules, classes)), *map(ast.unparse, classes)]
    return _formatted("\n\n".join(lines))


def _formatted(source: str) -> str:
    """The source as the linter's sorting and the formatter leave it."""
    for order in (["check", "--quiet", "--select", "I", "--fix-only"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *order, "--stdin-filename", str(TARGET), "-"]
        source = subprocess.run(
            command, input=source, capture_output=True, check=True, text=True
        ).stdout
    return source


def _twin(module: ast.Module, name: str) -> ast.ClassDef:
    [found] = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name]
    says = f"As ``{name}``, for a ``def`` handler: each method waits in the thread that calls it."
    body: list[ast.stmt] = [ast.Expr(ast.Constant(says))]
    body += [_method(method) for method in _methods(found)]
    made = _parsed(f"class {_NAMES[name]}(Twin[{name}]): ...", ast.ClassDef)
    made.body = body
    return made


def _parsed(source: str, kind: type[Node]) -> Node:
    """The one statement of a source."""
    [node] = ast.parse(source).body
    assert isinstance(node, kind), source
    return node


def _methods(found: ast.ClassDef) -> Iterator[Function]:
    """Public methods in their order; of overloads, the one for plain functions alone."""
    plain: dict[str, Function] = {}
    for node in found.body:
        if not isinstance(node, Function) or node.name.startswith("_"):
            continue
        if _has(node, "overload"):
            if "Awaitable[" not in ast.unparse(node.args):
                plain[node.name] = node
            continue
        if node.name not in plain:
            yield node
            continue
        drawn = copy.deepcopy(node)
        drawn.args, drawn.returns = plain[node.name].args, plain[node.name].returns
        yield drawn


def _has(node: Function, decorator: str) -> bool:
    return any(ast.unparse(line) == decorator for line in node.decorator_list)


def _method(node: Function) -> ast.FunctionDef:
    returns = ast.unparse(node.returns) if node.returns else ""
    given = _given(node.args)
    ask = f"lambda: self._twin.{node.name}({given})" if given else f"self._twin.{node.name}"
    if returns in _NAMES:
        act = f"{_NAMES[returns]}(self._twin.{node.name}({given}), self._crossing)"
    elif _has(node, "property"):
        act = f"self._twin.{node.name}"
    else:
        way = "over" if isinstance(node, ast.AsyncFunctionDef) else "call"
        act = f"self._crossing.{way}({ask})"
    made = _parsed(f"def {node.name}(): ...", ast.FunctionDef)
    made.args, made.decorator_list = node.args, node.decorator_list
    made.returns = ast.Name(_NAMES[returns]) if returns in _NAMES else node.returns
    says = ast.Expr(ast.Constant(ast.get_docstring(node, clean=False)))
    made.body = [says, *ast.parse(act if returns == "None" else f"return {act}").body]
    return ast.fix_missing_locations(made)


def _given(arguments: ast.arguments) -> str:
    """The arguments of a method as it passes them on."""
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][1:]
    if arguments.vararg:
        names.append(f"*{arguments.vararg.arg}")
    names += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
    if arguments.kwarg:
        names.append(f"**{arguments.kwarg.arg}")
    return ", ".join(names)


def _imports(modules: dict[str, ast.Module], classes: Iterable[ast.ClassDef]) -> set[str]:
    """Imports of what the twins name, from where their originals have it or from these."""
    used = {
        node.id for twin in classes for node in ast.walk(twin) if isinstance(node, ast.Name)
    } - set(_NAMES.values())
    lines = {"from tenure.flow.crossing import Twin"}
    for name, module in modules.items():
        for node in module.body:
            for known in _defined(node) & used:
                lines.add(f"from tenure.flow.{name} import {known}")
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                lines |= {
                    f"from {node.module} import {ast.unparse(alias)}"
                    for alias in node.names
                    if (alias.asname or alias.name) in used - set(_NAMES)
                }
            if isinstance(node, ast.Import):
                lines |= {f"import {alias.name}" for alias in node.names if alias.name in used}
    return lines


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return set()


if __name__ == "__main__":
    TARGET.write_text(drawn(), encoding="utf-8")
