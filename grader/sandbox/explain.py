"""What a student reads about the function that was asked for: not there, elsewhere, or not written yet."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from grader.entry import Entry, Found, Problem
from grader.sandbox import find
from grader.sandbox.failure import place, where
from grader.sandbox.program import Program


def stub(program: Program, found: Found, entry: Entry) -> Problem:
    """The function has nothing of the student's in it, or a left-over `raise` that stops it at once."""
    assert found.place is not None  # only what is written can be a stub
    name, at = entry.function, where(found.place)
    written = find.definition(program, found.name)
    body = written[1].body if written else []
    for number, node in enumerate(body):
        rest = body[number + 1 :]
        if find.is_unfinished(node) and rest and not find.is_stub(rest):
            assert written is not None
            spot = place(program.units[written[0]], node.lineno)
            message = (
                f"L{where(spot)[1:]} still has `raise NotImplementedError`, so `{name}` stops there and nothing "
                "below it runs. Delete that line, save the file, and hand it in again."
            )
            return Problem(kind="stub", message=message, place=spot)
    message = (
        f"`{name}` ({at}) is not written yet: its body is still the one of the starter file. Replace it by your own "
        "code, save the file, and hand it in again. If you wrote it elsewhere, hand in that file."
    )
    return Problem(kind="stub", message=message, place=found.place)


def missing(program: Program, entry: Entry, others: Sequence[Found]) -> Problem:
    """There is no function under the name that was asked for."""
    line = f"`def {entry.function}({', '.join(entry.arguments)}):`"
    inside = find.hidden(program, entry.function)
    if inside is not None:
        unit, outer, node = inside
        there = place(program.units[unit], node.lineno)
        what = f"the function `{outer.name}`" if isinstance(outer, find.FUNCTIONS) else "another block"
        message = (
            f"`{entry.function}` ({where(there)}) stands inside {what}, so nobody can call it from outside. Move it to "
            "the left margin, with no spaces before `def`."
        )
        return Problem(kind="no_function", message=message, place=there)
    start = f"No function called `{entry.function}` was found."
    if not others or find.rank(others[0], entry) == find.FAR:
        return Problem(kind="no_function", message=f"{start} It must stand at the left margin, as {line}")
    like = others[0]
    spot = like.place
    at = f" ({where(spot)})" if spot is not None else ""
    outer_name, _, method = like.name.rpartition(".")
    if like.kind == "class" and outer_name:
        mend = (
            f"The class `{outer_name}` has a method `{method}`{at}. Move it out of the class to the left margin, "
            f"without `self`, as {line}"
        )
    elif like.kind == "class":
        mend = f"There is a class `{like.name}`{at}, but a function is asked for. Write its steps as {line}"
    elif like.kind == "instance":
        mend = f"There is `{like.name}`{at}, made from a class, but a function is asked for, as {line}"
    else:
        mend = f"There is a function `{like.name}`{at}. If it is the one, rename it: {line}"
    return Problem(kind="no_function", message=f"{start} {mend}", place=spot)


def left_out(program: Program, done: set[int]) -> list[str]:
    """One sentence on the code outside of functions that did not run because nothing needed it."""
    spots: dict[str, None] = {}
    quiet = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)
    for number, statement in enumerate(program.statements):
        node = statement.node
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if number not in done and not text and not isinstance(node, quiet):
            unit = program.units[statement.unit]
            spots[f"cell {unit.cell}" if unit.cell is not None else f"line {node.lineno}"] = None
    if not spots:
        return []
    shown = list(spots)[:8]
    more = f" and {len(spots) - len(shown)} more places" if len(spots) > len(shown) else ""
    return [f"Not run, because the function does not need it: {', '.join(shown)}{more}."]
