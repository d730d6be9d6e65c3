"""Load one submission, in the sandboxed child only: find the function, run what it needs, explain the rest.

loaded, namespace = load(units, files, entry, banned)
output = namespace.function(entry.function)(Q, K, V)      # may raise anything: describe(exception)
"""

from __future__ import annotations

import ast
import inspect
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from types import FunctionType, ModuleType
from typing import Any

from grader.entry import Entry, Found, Loaded, Problem, Unit
from grader.results import Place
from grader.sandbox import banned as banned_names
from grader.sandbox import find
from grader.sandbox.execution import Code, Workspace
from grader.sandbox.failure import describe, place
from grader.sandbox.siblings import Siblings, is_ours

__all__ = ["Namespace", "describe", "load"]


class Namespace:
    """The loaded code of one submission. `release` undoes what loading did to this process."""

    def __init__(self, code: Code, work: Workspace, finder: Siblings) -> None:
        self._code = code
        self._work = work
        self._finder = finder
        self._made: dict[str, Callable[..., Any]] = {}

    def function(self, name: str) -> Callable[..., Any]:
        """The callable called `name`: a function, an instance, a class ("Attention"), or a method of one
        ("Attention.score"). A class is instantiated without arguments, once.

        Raises what the student's code raises on the way, and NameError or TypeError when there is nothing to
        call under that name.
        """
        if name not in self._made:
            self._made[name] = self._find(name)
        return self._made[name]

    def release(self) -> None:
        """Take back the import hook and the student's modules (for a process that lives on)."""
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        own = [code.module for code in self._work.modules]
        for name, module in list(sys.modules.items()):
            if is_ours(module) or any(module is mine for mine in own):
                del sys.modules[name]

    def _find(self, name: str) -> Callable[..., Any]:
        head, _, method = name.partition(".")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            needed = self._code.need([head])
        values = self._code.module.__dict__
        if head not in values:
            for number in needed:
                if number in self._code.failures:
                    raise self._code.failures[number]
            raise NameError(f"name {head!r} is not defined")
        value = values[head]
        if isinstance(value, type):
            value = value()
            if not method and not callable(value):
                method = "forward"
        if method:
            value = getattr(value, method)
        if not callable(value):
            raise TypeError(f"{name!r} is a {type(value).__name__}, not a function")
        return value  # type: ignore[no-any-return]


def load(
    units: Sequence[Unit], files: Mapping[str, bytes], entry: Entry, banned: Sequence[str]
) -> tuple[Loaded, Namespace]:
    """Load a submission.

    `units`: its main file or the code cells of its notebook, in order. `files`: path -> contents of what its
    code may import or open. `banned`: names of operators that the assignment wants written by hand.
    Nothing that the student's code does raises here; it ends up in `Loaded.problems`.
    """
    started = time.perf_counter()
    work = Workspace(files)
    main = units[0].file if units else "submission.py"
    folder = str(PurePosixPath(main).parent).strip(".")
    finder = Siblings(files, folder, work.run_sibling)
    sys.meta_path.insert(0, finder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = Code(units, _main_module(main), work)
        needed = code.need([entry.function])
        found = _entry(code, work, entry)
    others = find.others(code.program, entry)
    problems = [*work.problems, *_missing_function(code, entry, found, others)]
    loaded = Loaded(
        entry=found,
        others=others,
        problems=problems,
        notes=_left_out(code, set(needed)),
        banned=_banned(work, banned),
        seconds=time.perf_counter() - started,
    )
    return loaded, Namespace(code, work, finder)


def _main_module(path: str) -> ModuleType:
    """An empty module for the main file, importable under its name unless that is taken."""
    name = PurePosixPath(path).stem
    if name in sys.modules or name in sys.stdlib_module_names:
        name = f"submitted_{name}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    return module


def _entry(code: Code, work: Workspace, entry: Entry) -> Found | None:
    """What stands under the entry's name, if it can be called."""
    name = entry.function
    value = code.module.__dict__.get(name)
    if value is None or isinstance(value, type) or not callable(value):
        return None
    inner = value
    for _ in range(8):
        inner = getattr(inner, "__wrapped__", inner)
    if isinstance(inner, FunctionType):
        for module in work.modules:
            found = find.definition(module.program, inner.__name__)
            if found is not None and found.kind == "function" and inner.__globals__ is module.module.__dict__:
                return Found(
                    name=name,
                    kind="function",
                    parameters=found.parameters,
                    stub=found.stub,
                    place=found.place,
                )
    written = find.definition(code.program, name)
    if written is not None:
        return written
    return Found(
        name=name,
        kind="function" if inspect.isroutine(value) else "instance",
        parameters=_signature(value),
        stub=False,
    )


def _signature(value: Callable[..., Any]) -> list[str]:
    try:
        signature = inspect.signature(value)
        return [str(parameter.replace(annotation=parameter.empty)) for parameter in signature.parameters.values()]
    except Exception:
        return ["?"]


def _missing_function(code: Code, entry: Entry, found: Found | None, others: Sequence[Found]) -> list[Problem]:
    """Why there is nothing to call, or nothing written yet, when no other problem says so."""
    line = f"def {entry.function}({', '.join(entry.arguments)}):"
    if found is not None and found.stub:
        at = (
            ""
            if found.place is None
            else f" (line {found.place.line}"
            + (f" of cell {found.place.cell})" if found.place.cell is not None else ")")
        )
        message = (
            f"`{entry.function}`{at} is not written yet: its body is still the one from the starter file. "
            "Replace `raise NotImplementedError`, `pass` or `...` by your own code, save the file, "
            "and hand it in again."
        )
        return [Problem(kind="stub", message=message, place=found.place)]
    if found is not None or code.unreadable or code.failures:
        return []
    if not others:
        message = f"No function called `{entry.function}` was found. It must stand at the left margin: `{line}`"
        return [Problem(kind="no_function", message=message)]
    like = others[0]
    message = (
        f"No function called `{entry.function}` was found. The closest is `{like.name}`. "
        f"Rename it, or define the function at the left margin: `{line}`"
    )
    return [Problem(kind="no_function", message=message, place=like.place)]


def _left_out(code: Code, needed: set[int]) -> list[str]:
    """One sentence on the top-level code that did not run because the function does not need it."""
    spots: dict[str, None] = {}
    for number, statement in enumerate(code.program.statements):
        node = statement.node
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        defines = isinstance(
            node,
            (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass),
        )
        if number not in needed and number not in code.done and not text and not defines:
            unit = code.program.units[statement.unit]
            spots[f"cell {unit.cell}" if unit.cell is not None else f"line {node.lineno}"] = None
    if not spots:
        return []
    shown = list(spots)[:8]
    more = f" and {len(spots) - len(shown)} more places" if len(spots) > len(shown) else ""
    return [f"Not run, because the function does not need it: {', '.join(shown)}{more}."]


def _banned(work: Workspace, banned: Sequence[str]) -> list[Place]:
    """Lines that name something banned, in the code that was loaded."""
    places: list[Place] = []
    for code in work.modules:
        program = code.program
        for index, unit in enumerate(program.units):
            if banned and banned_names.mentions(unit.source, banned):
                nodes = [program.statements[n].node for n in sorted(code.done) if program.statements[n].unit == index]
                for line in banned_names.lines(nodes, banned, program.libraries(), program.own()):
                    places.append(place(unit, line))
    return places
