"""Where code names what the assignment wants written by hand. Advisory: the operators themselves are blocked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from grader.sandbox import names
from grader.sandbox.program import Program

_BY_TEXT = ("getattr", "__dict__", "vars", "attrgetter", "eval", "exec", "__getattribute__", "import_module")
_DEEPEST = 30


def mentions(source: str, banned: Sequence[str]) -> bool:
    """A quick look at the text: whether a closer look at the tree can find anything."""
    return any(name in source for name in banned) or any(word in source for word in _BY_TEXT)


def lines(program: Program, nodes: Iterable[ast.stmt], banned: Sequence[str], own: Callable[[str], bool]) -> list[int]:
    """Lines of `nodes`, statements of `program`, that name something banned.

    Students may call their own functions, methods and files what the library calls its own (`own` tells whether a
    module is theirs), so a name counts only where it comes from a library. Texts count as well, whole or put
    together from constants, since that is how a name is hidden; texts that stand alone, as docstrings do, do not.
    """
    nodes = list(nodes)
    wanted = set(banned)
    libraries = program.libraries(own)
    defined = {node.name for _, node in program.definitions()}
    everything = [node for top in nodes for node in ast.walk(top)]
    for node in everything:
        if isinstance(node, ast.Import):
            libraries |= {alias.asname or alias.name.partition(".")[0] for alias in node.names if not own(alias.name)}
    alone = {id(node.value) for node in everything if isinstance(node, ast.Expr)}
    found: set[int] = set()
    for node in everything:
        if isinstance(node, ast.Attribute):
            hit = node.attr in wanted and names.root(node) in libraries
        elif isinstance(node, ast.ImportFrom):
            theirs = node.level > 0 or own(node.module or "")
            hit = not theirs and any(
                alias.name in wanted and (alias.asname or alias.name) not in defined for alias in node.names
            )
        elif isinstance(node, ast.Name):
            hit = node.id in wanted - defined and ("*" in libraries or node.id in libraries)
        else:
            text = _text(node, _DEEPEST) if isinstance(node, ast.expr) and id(node) not in alone else None
            hit = text is not None and any(part in wanted for part in text.split("."))
        if hit:
            found.add(node.lineno)  # type: ignore[attr-defined]  # every kind that can be a hit has a line
    return sorted(found)


def _text(node: ast.expr, depth: int) -> str | None:
    """The value of a text that is put together from constants alone, or None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not depth:
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined("", [node.left, node.right], depth)
    if isinstance(node, ast.JoinedStr):
        values = [value.value if isinstance(value, ast.FormattedValue) else value for value in node.values]
        return _joined("", values, depth)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and len(node.args) == 1
        and isinstance(node.args[0], (ast.List, ast.Tuple))
    ):
        separator = _text(node.func.value, depth - 1)
        return None if separator is None else _joined(separator, node.args[0].elts, depth)
    return None


def _joined(separator: str, nodes: Sequence[ast.expr], depth: int) -> str | None:
    parts = []
    for node in nodes:
        part = _text(node, depth - 1)
        if part is None:
            return None
        parts.append(part)
    return separator.join(parts)
