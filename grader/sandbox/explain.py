"""What a student reads about the function that was asked for: not there, elsewhere, or not written yet."""

from __future__ import annotations

import ast

from grader.entry import Entry, Found, Problem
from grader.sandbox import find
from grader.sandbox.failure import place, where
from grader.sandbox.program import Program


def stub(program: Program, found: Found, entry: Entry) -> Problem | None:
    """The function has nothing of the student's in it, or a left-over `raise` that stops it at once."""
    name = entry.function
    if found.stub and found.place is not None:
        message = (
            f"`{name}` ({where(found.place)}) is not written yet: its body is still the one of the starter file. "
            "Replace it by your own code, save the file, and hand it in again. If you wrote it elsewhere, hand in that "
            "file."
        )
        return Problem(kind="stub", message=message, place=found.place)
    written = find.definition(program, name)
    for node in written[1].body[:-1] if written else []:
        if written and find.is_unfinished(node):
            spot = place(program.units[written[0]], node.lineno)
            message = (
                f"L{where(spot)[1:]} still has `raise NotImplementedError`, so `{name}` stops there and nothing below "
                "it runs. Delete that line, save the file, and hand it in again."
            )
            return Problem(kind="stub", message=message, place=spot)
        if not isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return None  # it may return before it comes to a `raise`
    return None


def missing(program: Program, entry: Entry) -> Problem | None:
    """The function is there, but not where it can be called from. (What else is there is in `Loaded.others`.)"""
    inside = find.hidden(program, entry.function)
    if inside is None:
        return None
    unit, outer, node = inside
    spot = place(program.units[unit], node.lineno)
    if isinstance(outer, ast.ClassDef):
        line = f"def {entry.function}({', '.join(entry.arguments)}):"
        message = (
            f"`{entry.function}` ({where(spot)}) is a method of the class `{outer.name}`, but a function is asked "
            f"for. Move it out of the class to the left margin, without `self`: `{line}`"
        )
    else:
        what = f"the function `{outer.name}`" if isinstance(outer, find.FUNCTIONS) else "another block"
        message = (
            f"`{entry.function}` ({where(spot)}) stands inside {what}, so nobody can call it from outside. Move it to "
            "the left margin, with no spaces before `def`."
        )
    return Problem(kind="no_function", message=message, place=spot)


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
