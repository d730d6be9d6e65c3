"""From a unit's text to a tree whose statements can be compiled one by one."""

from __future__ import annotations
import __future__

import ast
import re
from collections.abc import Coroutine, Sequence
from typing import Any

from grader.entry import Unit

_RELATIVE = re.compile(r"\bfrom\s+\.")
_CODE_CELLS = frozenset({"time", "timeit", "capture", "prun"})


def parse(unit: Unit, name: str) -> ast.Module:
    """The tree of a unit. Raises SyntaxError, or RecursionError, MemoryError, ValueError for what no person writes."""
    tree = ast.parse(unit.source, name)
    if _RELATIVE.search(unit.source):
        _Absolute(unit.file).visit(tree)
    if "run_cell_magic" in unit.source:
        tree.body = [opened for node in tree.body for opened in _open_cell_magic(node)]
    return tree


def take_future(trees: Sequence[ast.Module | None]) -> int:
    """The compiler flags of all `from __future__` imports, which are taken out: they may only come first."""
    flags = 0
    for tree in trees:
        if tree is None:
            continue
        kept = []
        for node in tree.body:
            if not isinstance(node, ast.ImportFrom) or node.module != "__future__":
                kept.append(node)
                continue
            for alias in node.names:
                flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
        tree.body = kept
    return flags


def drive(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that waits for nothing, without an event loop. Raises RuntimeError when it does wait."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise RuntimeError("this `await` waits for something that never comes while the work is graded")


class _Absolute(ast.NodeTransformer):
    """`from .helpers import f` in "src/attention.py" becomes `from src.helpers import f`."""

    def __init__(self, file: str) -> None:
        self._folders = file.split("/")[:-1]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if not node.level:
            return node
        up = node.level - 1
        base = self._folders[: len(self._folders) - up] if up else self._folders
        parts = [*base, *([node.module] if node.module else [])]
        if parts:
            return ast.copy_location(ast.ImportFrom(module=".".join(parts), names=node.names, level=0), node)
        return ast.copy_location(ast.Import(names=node.names), node)


def _open_cell_magic(node: ast.stmt) -> list[ast.stmt]:
    """`get_ipython().run_cell_magic("time", "", "def f(): ...")`, as exports write it: the code in the text."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 3:
        return [node]
    magic, _, body = (argument.value if isinstance(argument, ast.Constant) else None for argument in call.args)
    if call.func.attr != "run_cell_magic" or magic not in _CODE_CELLS or not isinstance(body, str):
        return [node]
    try:
        opened = ast.parse(body).body
    except SyntaxError:
        return [node]
    for statement in opened:
        for inner in ast.walk(statement):
            if isinstance(inner, (ast.stmt, ast.expr, ast.arg, ast.keyword, ast.alias, ast.excepthandler)):
                inner.lineno, inner.end_lineno = node.lineno, node.end_lineno
    return opened
