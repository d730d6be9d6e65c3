"""Small syntactic changes of the reference: wrong implementations that nobody thought of when writing the bank."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from grader.authoring.master import reference_source

FUNCTION = "scaled_dot_product_attention"
OTHER_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.FloorDiv, ast.Mod, ast.Pow)
OTHER_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.Gt, ast.LtE, ast.GtE)
OTHER_METHODS = {
    "softmax": ("log_softmax", "sigmoid", "tanh", "exp", "relu", "cumsum", "argsort", "sum"),
    "masked_fill": ("masked_fill_",),
    "transpose": ("flip", "movedim", "narrow", "roll"),
    "size": ("stride",),
    "sqrt": ("log", "exp", "floor", "sin", "cbrt", "log2", "atan"),
}
SPLIT = """
def scaled_dot_product_attention(Q, K, V, mask=None):
    d_k = Q.size(-1)
    scores = torch.matmul(Q, K.transpose(-2, -1))
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        hidden = mask == 0
        scores = scores.masked_fill(hidden, float("-inf"))
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(shifted)
    total = powers.sum(dim=-1, keepdim=True)
    weights = powers / total
    output = torch.matmul(weights, V)
    return output, weights
"""
"""The same, with a line for each step: more places to change."""


def mutants(reference: Path) -> Iterator[tuple[str, Callable[..., Any]]]:
    """(what was changed, function) for every mutant that compiles; each text only once."""
    seen = set()
    for source in (reference_source(reference), SPLIT):
        tree = ast.parse(source)
        for words, changed in _changes(_function(tree)):
            text = ast.unparse(ast.fix_missing_locations(changed))
            if text in seen:
                continue
            seen.add(text)
            try:
                code = compile(text, "mutant", "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                continue
            space: dict[str, Any] = {"torch": torch, "math": math, "Tensor": torch.Tensor}
            exec(code, space)
            yield words, space[FUNCTION]


def _function(tree: ast.Module) -> ast.FunctionDef:
    found = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION)
    found.returns = None
    for argument in found.args.args:
        argument.annotation = None
    if isinstance(found.body[0], ast.Expr) and isinstance(found.body[0].value, ast.Constant):
        found.body = found.body[1:]
    return found


def _changes(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Module]]:
    """Each single change of each node."""
    count = sum(1 for _ in ast.walk(function))
    for index in range(count):
        for choice in range(64):
            changed = copy.deepcopy(function)
            node = list(ast.walk(changed))[index]
            before = ast.unparse(node) if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
            if not _change(changed, node, choice):
                break
            line = getattr(node, "lineno", 0)
            yield f"line {line}: {before[:50]!r}, change {choice}", ast.Module([changed], [])


def _change(function: ast.FunctionDef, node: ast.AST, choice: int) -> bool:
    """Make change number `choice` of the node in place; False when there are no more."""
    options: list[Callable[[], None]] = []
    if isinstance(node, ast.BinOp):
        options += [_setter(node, "op", kind()) for kind in OTHER_OPERATORS if not isinstance(node.op, kind)]
        options.append(_swapper(node))
    elif isinstance(node, ast.Compare):
        options += [_setter(node, "ops", [kind()]) for kind in OTHER_COMPARISONS if not isinstance(node.ops[0], kind)]
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        options += [_setter(node, "value", value) for value in (0, 1, 2, 3, -1, -2, -3, 0.5) if value != node.value]
    elif isinstance(node, ast.Constant) and node.value == "-inf":
        options += [_setter(node, "value", value) for value in ("inf", "nan", "0", "-1", "-30", "-1e9", "1e-9", "5")]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in ("torch", "math", "float"):
        names = ("Q", "K", "V", "scores", "weights", "mask")
        options += [_setter(node, "id", name) for name in names if name != node.id]
    elif isinstance(node, ast.Attribute) and node.attr in OTHER_METHODS:
        options += [_setter(node, "attr", name) for name in OTHER_METHODS[node.attr]]
    elif isinstance(node, (ast.FunctionDef, ast.If)):
        options += [_remover(node, statement) for statement in node.body if not isinstance(statement, ast.Return)]
        options += [_swap_statements(node, place) for place in range(len(node.body) - 1)]
    elif isinstance(node, ast.Call) and node.args:
        options += [_setter(node, "args", node.args[::-1])]
        if isinstance(node.func, ast.Attribute):
            options.append(_replacer(function, node, node.func.value))
    elif isinstance(node, ast.UnaryOp):
        options.append(_replacer(function, node, node.operand))
    if choice >= len(options):
        return False
    options[choice]()
    return True


def _setter(node: ast.AST, field: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def _swapper(node: ast.BinOp) -> Callable[[], None]:
    def swap() -> None:
        node.left, node.right = node.right, node.left

    return swap


def _remover(parent: ast.FunctionDef | ast.If, statement: ast.stmt) -> Callable[[], None]:
    def remove() -> None:
        parent.body = [other for other in parent.body if other is not statement] or [ast.Pass()]

    return remove


def _swap_statements(parent: ast.FunctionDef | ast.If, place: int) -> Callable[[], None]:
    def swap() -> None:
        parent.body[place], parent.body[place + 1] = parent.body[place + 1], parent.body[place]

    return swap


def _replacer(function: ast.FunctionDef, old: ast.expr, new: ast.expr) -> Callable[[], None]:
    class Replacer(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is old else self.generic_visit(node)

    return lambda: Replacer().visit(function)
