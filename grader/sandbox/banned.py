"""Where code names what the assignment wants written by hand. Advisory: the operators themselves are blocked."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from grader.sandbox import names

_BY_TEXT = ("getattr", "__dict__", "vars", "attrgetter", "eval", "exec", "__getattribute__", "import_module")


def mentions(source: str, banned: Sequence[str]) -> bool:
    """A quick look at the text: whether a closer look at the tree can find anything."""
    return any(name in source for name in banned) or any(word in source for word in _BY_TEXT)


def lines(nodes: Iterable[ast.stmt], banned: Sequence[str], libraries: set[str], own: set[str]) -> list[int]:
    """Lines of `nodes` that name something banned.

    `libraries`: names that stand for an imported library, such as "torch", "F"; `own`: names that the student
    defines, which may well be called what the library calls its own. Texts count only as a whole: a constant,
    or constants joined with `+`, `%s`-free f-strings or `"".join([...])`, since that is how a name is hidden.
    """
    wanted = set(banned)
    found: set[int] = set()
    for top in nodes:
        skip = _docstrings(top)
        for node in ast.walk(top):
            if isinstance(node, ast.Attribute):
                if node.attr in wanted and names.root(node) in libraries:
                    found.add(node.lineno)
            elif isinstance(node, ast.ImportFrom):
                if any(alias.name in wanted for alias in node.names) and not node.level:
                    found.add(node.lineno)
            elif isinstance(node, ast.Name):
                if node.id in wanted and node.id in libraries - own and isinstance(node.ctx, ast.Load):
                    found.add(node.lineno)
            elif isinstance(node, ast.expr) and node not in skip:
                text = _text(node)
                if text is not None and any(part in wanted for part in text.split(".")):
                    found.add(node.lineno)
    return sorted(found)


def _docstrings(top: ast.stmt) -> set[ast.expr]:
    """Texts that stand alone: they only document."""
    return {node.value for node in ast.walk(top) if isinstance(node, ast.Expr)}


def _text(node: ast.expr) -> str | None:
    """The value of a text that is built from constants alone, or None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        return _joined(value.value if isinstance(value, ast.FormattedValue) else value for value in node.values)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and len(node.args) == 1
        and isinstance(node.args[0], (ast.List, ast.Tuple))
    ):
        separator = _text(node.func.value)
        parts = [_text(item) for item in node.args[0].elts]
        if separator is not None and all(part is not None for part in parts):
            return separator.join(part for part in parts if part is not None)
    return None


def _joined(nodes: Iterable[ast.expr]) -> str | None:
    parts = [_text(node) for node in nodes]
    return None if any(part is None for part in parts) else "".join(part for part in parts if part is not None)
