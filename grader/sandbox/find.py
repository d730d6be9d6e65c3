"""Finding the function that an assignment asks for, and what else might have been meant as it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.entry import Entry, Found
from grader.sandbox.failure import place
from grader.sandbox.names import Function
from grader.sandbox.program import Program

FAR = 9
"""Rank of what resembles the entry in nothing but the number of its parameters."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST = 8


def parameters(args: ast.arguments, *, method: bool = False) -> list[str]:
    """As written: "Q", "mask=None", "*rest", "**options", and the marks "/" and "*"; `self` is left out."""
    written: list[str] = []
    positional = [*args.posonlyargs, *args.args]
    without = len(positional) - len(args.defaults)
    for number, arg in enumerate(positional):
        written.append(_parameter(arg, args.defaults[number - without] if number >= without else None))
        if number == len(args.posonlyargs) - 1:
            written.append("/")
    if args.vararg:
        written.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        written.append("*")
    written += [_parameter(arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        written.append(f"**{args.kwarg.arg}")
    return written[1:] if method and positional else written


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return arg.arg
    try:
        return f"{arg.arg}={ast.unparse(default)[:60]}"
    except RecursionError:
        return f"{arg.arg}=..."


def is_stub(body: Sequence[ast.stmt]) -> bool:
    """Whether a body is still the starter's: nothing but a docstring, pass, ..., `raise NotImplementedError`,
    names set to None or ..., and giving those names back."""
    empty: set[str] = set()
    for node in body:
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if is_unfinished(node):
            return body[-1] is node or is_stub(body[body.index(node) + 1 :])
        if isinstance(node, ast.Assign) and _is_nothing(node.value):
            empty.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Return):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            return all(
                value is None or _is_nothing(value) or (isinstance(value, ast.Name) and value.id in empty)
                for value in values
            )
        else:
            return False
    return True


def is_unfinished(node: ast.stmt) -> bool:
    """`raise NotImplementedError`, with or without a text."""
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value is ...)


def definition(program: Program, name: str) -> tuple[int, Function] | None:
    """(unit, node) of the last function called `name` at top level."""
    last = None
    for unit, node in program.definitions():
        if node.name == name and isinstance(node, FUNCTIONS):
            last = (unit, node)
    return last


def written(program: Program, unit: int, node: Function) -> Found:
    """A function as it is written."""
    return Found(
        name=node.name,
        kind="function",
        parameters=parameters(node.args),
        stub=is_stub(node.body),
        place=place(program.units[unit], node.lineno),
    )


def candidates(program: Program) -> Iterator[Found]:
    """What the student defines at top level and can be called like a function: functions, classes, instances."""
    classes: dict[str, Found] = {}
    for unit, node in program.definitions():
        if isinstance(node, FUNCTIONS):
            yield written(program, unit, node)
            continue
        methods = {item.name: item for item in node.body if isinstance(item, FUNCTIONS)}
        called = methods.get("forward") or methods.get("__call__")
        if called is not None:
            classes[node.name] = Found(
                name=node.name,
                kind="class",
                parameters=parameters(called.args, method=True),
                stub=is_stub(called.body),
                place=place(program.units[unit], node.lineno),
            )
            yield classes[node.name]
    for statement in program.statements:
        value = statement.node.value if isinstance(statement.node, ast.Assign) else None
        spot = place(program.units[statement.unit], statement.node.lineno)
        for name in sorted(statement.binds) if value is not None else ():
            if isinstance(value, ast.Lambda):
                yield Found(name=name, kind="function", parameters=parameters(value.args), stub=False, place=spot)
            elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in classes:
                made = classes[value.func.id]
                yield Found(name=name, kind="instance", parameters=made.parameters, stub=made.stub, place=spot)


def others(program: Program, entry: Entry) -> list[Found]:
    """Candidates that could have been meant as the entry, likeliest first.

    A function with nothing in common but the number of its parameters is one only when there is no other function.
    """
    least = sum("=" not in argument and argument[0] not in "*/" for argument in entry.arguments)
    last = {found.name: found for found in candidates(program)}  # a later definition wins
    ranked = []
    for number, found in enumerate(last.values()):
        near = rank(found, entry)
        takes = sum(parameter not in ("/", "*") for parameter in found.parameters)
        alone = takes >= least and len(last) == 1
        if (found.name != entry.function or found.kind == "class") and (near < FAR or alone):
            ranked.append(((found.stub, near, takes < least, number), found))
    return [found for _, found in sorted(ranked, key=lambda pair: pair[0])[:_MOST]]


def rank(found: Found, entry: Entry) -> int:
    """How far a candidate is from the entry: 0 the same name, 1 to 4 an alias, 5 the same but for case and
    underscores, 6 a word in common, 7 parameters that begin with the same letters, 8 a class, FAR nothing."""
    names = [entry.function, *entry.aliases]
    if found.name in names:
        return min(names.index(found.name), 4)
    plain = _plain(found.name)
    if plain in map(_plain, names):
        return 5
    words = {word for name in names if name != "forward" for word in name.lower().split("_") if len(word) > 3}
    if any(word in plain for word in words):
        return 6
    if len(found.parameters) >= len(entry.arguments) - 1 >= 2 and all(
        mine[0].lower() == wanted[0].lower()
        for mine, wanted in zip(found.parameters, entry.arguments, strict=False)
        if "=" not in wanted
    ):
        return 7
    return 8 if found.kind != "function" else FAR


def hidden(program: Program, name: str) -> tuple[int, ast.AST, Function] | None:
    """A function called `name` that stands inside a function, class or loop: (unit, what it is in, node)."""
    for statement in program.statements:
        for outer in ast.walk(statement.node):
            for node in getattr(outer, "body", []) if isinstance(getattr(outer, "body", None), list) else []:
                if isinstance(node, FUNCTIONS) and node.name == name:
                    return statement.unit, outer, node
    return None


def _plain(name: str) -> str:
    return name.lower().replace("_", "")
