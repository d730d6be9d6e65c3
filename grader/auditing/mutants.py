"""Small syntactic changes of a reference solution: what a slip of the hand could turn it into.

Each mutant differs from the reference in one place: an operator, a constant, a name, an argument, a statement.
A mutant that hidden checks give full marks is either right all the same or shows a hole in the checks.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Made = tuple[ast.AST, str]
"""A node to put in the place of another, and what kind of change that is."""

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """The reference with one change. `name` says which: the statement before and after."""

    name: str
    kind: str
    line: int
    source: str

    def load(self, function: str) -> Callable[..., Any]:
        """The changed function. Raises whatever running the changed source raises."""
        namespace: dict[str, Any] = {"__name__": "mutant"}
        exec(compile(self.source, "<mutant>", "exec"), namespace)
        made: Callable[..., Any] = namespace[function]
        return made


def mutants(source: str) -> list[Mutant]:
    """All changes of all functions in `source`, each once, in the order of their place."""
    tree = ast.parse(source)
    plain = ast.unparse(tree)
    found: dict[str, Mutant] = {}
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        parameters = [argument.arg for argument in function.args.args]
        for owner, field, index, node in _places(function):
            statement = node if isinstance(node, (ast.stmt, ast.arguments)) else _statement(function, node)
            before = _text(statement)
            for other, kind in _changes(node, parameters):
                text, changed = _with(tree, owner, field, index, other, statement)
                if text in (plain, *found):
                    continue
                after = changed if isinstance(node, ast.expr) else _text(other)
                line = getattr(statement, "lineno", function.lineno)
                found[text] = Mutant(f"{before}  =>  {after}", kind, line, text)
    return sorted(found.values(), key=lambda mutant: mutant.line)


def _places(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """(owner, field, index, node) of each node in the function that may be changed; annotations may not."""
    for owner in ast.walk(function):
        for field, value in ast.iter_fields(owner):
            if field in ("annotation", "returns", "decorator_list", "ctx", "op", "ops"):
                continue
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(node, (ast.expr, ast.stmt, ast.arguments)) and not _is_text(node):
                    yield owner, field, index, node


def _changes(node: ast.AST, parameters: list[str]) -> Iterator[Made]:
    if isinstance(node, ast.stmt):
        yield from _statements(node)
    elif isinstance(node, ast.arguments):
        if node.defaults:
            yield _but(node, defaults=node.defaults[:-1]), "default dropped"
    elif isinstance(node, ast.expr):
        yield from _expressions(node, parameters)


def _statements(node: ast.stmt) -> Iterator[Made]:
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
        yield ast.Pass(), "statement dropped"
    if isinstance(node, ast.If):
        yield _but(node, test=ast.Constant(True)), "condition always true"
        yield _but(node, test=ast.Constant(False)), "condition never true"


def _expressions(node: ast.expr, parameters: list[str]) -> Iterator[Made]:
    if isinstance(node, ast.BinOp):
        for operator in OPERATORS.get(type(node.op), ()):
            yield _but(node, op=operator()), "operator"
        yield _but(node, left=node.right, right=node.left), "operands swapped"
        yield node.left, "operation dropped"
        yield node.right, "operation dropped"
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield node.operand, "sign dropped"
    elif isinstance(node, ast.BoolOp):
        yield _but(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And()), "operator"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield _but(node, ops=[COMPARISONS[type(node.ops[0])]()]), "comparison"
    elif isinstance(node, ast.Constant):
        for value in _constants(node.value):
            yield ast.Constant(value), "constant"
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in parameters:
        for name in parameters:
            if name != node.id:
                yield ast.Name(name, ast.Load()), "name"
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        yield _but(node, elts=node.elts[::-1]), "order"
        for index in range(len(node.elts)):
            yield _but(node, elts=[node.elts[index]] * len(node.elts)), "one value for all"


def _calls(node: ast.Call) -> Iterator[Made]:
    for index in range(len(node.keywords)):
        yield _but(node, keywords=node.keywords[:index] + node.keywords[index + 1 :]), "keyword dropped"
    if node.args:
        yield _but(node, args=node.args[:-1]), "argument dropped"
        yield node.args[0], "call dropped"
    if len(node.args) > 1:
        yield _but(node, args=[node.args[1], node.args[0], *node.args[2:]]), "arguments swapped"
    if isinstance(node.func, ast.Attribute):
        yield node.func.value, "call dropped"


def _constants(value: object) -> tuple[int | float | str, ...]:
    """Neighbours of a constant. A number in quotes, as in float("-inf"), counts as a number."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, float):
        return (2 * value, 0.0, -value)
    if isinstance(value, str):
        try:
            return (str(-float(value)), "0", "-1")
        except ValueError:
            return ()
    return ()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _but(node: ast.AST, **changed: Any) -> ast.AST:
    """A copy of the node with other fields."""
    return type(node)(**{**dict(ast.iter_fields(node)), **changed})


def _statement(function: ast.FunctionDef, node: ast.AST) -> ast.AST:
    """The innermost statement that the node is a part of."""
    found: ast.AST = function
    for each in ast.walk(function):  # breadth first, so the innermost comes last
        if isinstance(each, (ast.stmt, ast.arguments)) and each is not function:
            found = each if any(part is node for part in ast.walk(each)) else found
    return found


def _text(node: ast.AST) -> str:
    """A statement as one line; of one with a body, the head."""
    text = ast.unparse(ast.fix_missing_locations(node))
    return text.split("\n")[0]


def _with(
    tree: ast.Module, owner: ast.AST, field: str, index: int | None, other: ast.AST, statement: ast.AST
) -> tuple[str, str]:
    """(the source, the changed statement) with `other` put into its place in the tree for a moment."""
    value = getattr(owner, field)
    kept = value if index is None else value[index]
    if index is None:
        setattr(owner, field, copy.deepcopy(other))
    else:
        value[index] = copy.deepcopy(other)
    try:
        return ast.unparse(ast.fix_missing_locations(tree)), _text(statement)
    finally:
        if index is None:
            setattr(owner, field, kept)
        else:
            value[index] = kept
