"""Finding the function that an assignment asks for, and what else might have been meant as it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.entry import Entry, Found
from grader.sandbox.failure import place
from grader.sandbox.names import Function
from grader.sandbox.program import Program

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST = 8


def parameters(args: ast.arguments, *, method: bool = False) -> list[str]:
    """As written: "Q", "mask=None", "*rest", "**options", and the marks "/" and "*"; `self` is left out."""
    written: list[str] = []
    positional = [*args.posonlyargs, *args.args]
    without = len(positional) - len(args.defaults)
    for number, arg in enumerate(positional):
        default = args.defaults[number - without] if number >= without else None
        written.append(arg.arg if default is None else f"{arg.arg}={ast.unparse(default)[:60]}")
        if args.posonlyargs and number == len(args.posonlyargs) - 1:
            written.append("/")
    if args.vararg:
        written.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        written.append("*")
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        written.append(arg.arg if default is None else f"{arg.arg}={ast.unparse(default)[:60]}")
    if args.kwarg:
        written.append(f"**{args.kwarg.arg}")
    return written[1:] if method and positional else written


def is_stub(body: Sequence[ast.stmt]) -> bool:
    """Whether a body is still the starter's: nothing but a docstring, pass, ..., `raise NotImplementedError`,
    names set to None or ..., and giving those names back."""
    empty: set[str] = set()
    for node in body:
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if unfinished(node):
            return True
        if isinstance(node, ast.Assign) and _nothing(node.value):
            empty.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Return):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            return all(
                value is None or _nothing(value) or (isinstance(value, ast.Name) and value.id in empty)
                for value in values
            )
        else:
            return False
    return True


def unfinished(node: ast.stmt) -> bool:
    """`raise NotImplementedError`, with or without a text."""
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, ...)


def definition(program: Program, name: str) -> Found | None:
    """The last function or class called `name` at top level, as written."""
    last = None
    for found in candidates(program):
        if found.name == name:
            last = found
    return last


def candidates(program: Program) -> Iterator[Found]:
    """Everything callable that the student defines at top level, in the order written."""
    classes: dict[str, Found] = {}
    for unit, node in program.definitions():
        spot = place(program.units[unit], node.lineno)
        if isinstance(node, _FUNCTIONS):
            yield Found(
                name=node.name,
                kind="function",
                parameters=parameters(node.args),
                stub=is_stub(node.body),
                place=spot,
            )
            continue
        methods = {item.name: item for item in node.body if isinstance(item, _FUNCTIONS)}
        called = methods.get("forward") or methods.get("__call__")
        if called is not None:
            classes[node.name] = _method(program, unit, node.name, called)
            yield classes[node.name]
        for item in methods.values():
            if not item.name.startswith("__") and item is not called:
                yield _method(program, unit, f"{node.name}.{item.name}", item)
    for statement in program.statements:
        value = statement.node.value if isinstance(statement.node, ast.Assign) else None
        spot = place(program.units[statement.unit], statement.node.lineno)
        for name in sorted(statement.binds) if value is not None else ():
            if isinstance(value, ast.Lambda):
                yield Found(name=name, kind="function", parameters=parameters(value.args), stub=False, place=spot)
            elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in classes:
                made = classes[value.func.id]
                yield Found(name=name, kind="instance", parameters=made.parameters, stub=made.stub, place=made.place)


def _method(program: Program, unit: int, name: str, node: Function) -> Found:
    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
    return Found(
        name=name,
        kind="class",
        parameters=parameters(node.args, method=not static),
        stub=is_stub(node.body),
        place=place(program.units[unit], node.lineno),
    )


def others(program: Program, entry: Entry) -> list[Found]:
    """Candidates that could have been meant as the entry, likeliest first."""
    least = sum("=" not in argument and argument[0] not in "*/" for argument in entry.arguments)
    ranked = []
    last = {found.name: found for found in candidates(program)}  # a later definition wins
    for number, found in enumerate(last.values()):
        if found.name == entry.function and found.kind != "class":
            continue
        rank = _rank(found, entry)
        takes = sum(parameter not in ("/", "*") for parameter in found.parameters)
        if rank == 9 and (takes < least or found.name.partition(".")[2]):
            continue
        ranked.append((found.stub, rank, takes < least, number, found))
    ranked.sort(key=lambda item: item[:4])
    return [item[4] for item in ranked[:_MOST]]


def _rank(found: Found, entry: Entry) -> int:
    """0 for the very name ... 8 for a name with a word in common, 9 for none."""
    names = [entry.function, *entry.aliases]
    for name in {found.name, found.name.rpartition(".")[2]}:
        if name in names:
            return min(names.index(name), 4)
    plain = _plain(found.name.rpartition(".")[2])
    if plain in map(_plain, names):
        return 5
    words = {word for name in names if name != "forward" for word in name.lower().split("_") if len(word) > 3}
    if any(word in plain for word in words):
        return 6
    return 7 if found.kind != "function" and "." not in found.name else 9


def _plain(name: str) -> str:
    return name.lower().replace("_", "")
