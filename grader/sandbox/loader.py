"""Load one submission, in the sandboxed child only: find the function, run what it needs, explain the rest.

loaded, namespace = load(units, files, entry, banned)
output = namespace.function(entry.function)(Q, K, V)      # may raise anything: describe(exception)
"""

from __future__ import annotations

import inspect
import linecache
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from types import FunctionType, ModuleType
from typing import Any

import msgspec

from grader.entry import Entry, Found, Loaded, Unit
from grader.reading.decoding import decode
from grader.results import Place
from grader.sandbox import banned as banned_names
from grader.sandbox import explain, find, words
from grader.sandbox.execution import Code
from grader.sandbox.failure import describe, place
from grader.sandbox.names import Function
from grader.sandbox.siblings import Siblings, forget
from grader.sandbox.stand_ins import Missing
from grader.sandbox.workspace import Workspace

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
        """Take back the import hook, the student's modules and their source lines (for a process that lives on)."""
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        forget()
        own = [code.module for code in self._work.modules]
        for name, module in sys.modules.copy().items():
            if any(module is mine for mine in own):
                del sys.modules[name]
        for name in self._work.sources:
            linecache.cache.pop(name, None)

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
        return value  # type: ignore[no-any-return]  # it is whatever the student made


def load(
    units: Sequence[Unit], files: Mapping[str, bytes], entry: Entry, banned: Sequence[str], *, whole: bool = False
) -> tuple[Loaded, Namespace]:
    """Load a submission.

    `units`: its main file or the code cells of its notebook, in order. `files`: path -> contents of what its
    code may import or open. `banned`: names of operators that the assignment wants written by hand. `whole`: run
    everything that importing the files would run, not only what the entry's name leads to: a registry that
    decorators fill, say, or a library that is patched.
    Nothing that the student's code does raises here; it ends up in `Loaded.problems`.
    """
    started = time.perf_counter()
    work = Workspace(files, units[0].file if units else "submission.py")

    def run_sibling(module: ModuleType, path: str, data: bytes) -> None:
        """One of the student's other files; its statements run when their names are used."""
        code = Code([Unit(path, None, decode(data).text)], module, work)
        if code.unreadable:
            raise ImportError(f"{path} can't be read", name=module.__name__, path=path)
        if whole:
            code.everything()

    finder = Siblings(files, str(PurePosixPath(work.main).parent).strip("."), run_sibling)
    sys.meta_path.insert(0, finder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = ModuleType(work.module_name)
        module.__file__ = work.main
        sys.modules[module.__name__] = module
        code = Code(units, module, work)
        if whole:
            code.everything()
        code.need([entry.function])
        try:
            found = _entry(code, work, entry)
        except BaseException as error:  # looking at an object of theirs can run code of theirs
            found = None
            work.problems.append(words.exception(error, place(units[0], 1)))
    found_out = explain.stub(code.program, found, entry) if found else explain.missing(code.program, entry)
    loaded = Loaded(
        entry=found,
        others=[] if found is None and code.lost(entry.function) else find.others(code.program, entry),
        problems=[*work.problems, *([found_out] if found_out else [])],
        notes=[*work.notes, *explain.left_out(code.program, code.done)],
        banned=_banned(work, banned),
        partial=any(one.partial for one in work.modules),
        seconds=time.perf_counter() - started,
    )
    return loaded, Namespace(code, work, finder)


def _entry(code: Code, work: Workspace, entry: Entry) -> Found | None:
    """What stands under the entry's name, if it can be called."""
    name = entry.function
    value = code.module.__dict__.get(name)
    definition = find.definition(code.program, name)
    if not callable(value) and value is not None and definition is not None:
        # `f = f(Q, K, V)` further down put a result in place of the function.
        code.run_again(definition[1], definition[0])
        work.notes.append(f"`{name}` is given another value after its definition; the definition was graded.")
        value = code.module.__dict__.get(name)
    if value is None or isinstance(value, (type, Missing)) or not callable(value):
        return None
    inner = value
    for _ in range(8):
        inner = getattr(inner, "__wrapped__", inner)
    if isinstance(inner, FunctionType):
        for module in work.modules:
            known = find.definition(module.program, inner.__name__)
            if known is not None and inner.__globals__ is module.module.__dict__:
                found = find.written(module.program, *known)
                stub = found.stub and value is inner and _made_by(inner, known[1])
                return Found(name=name, kind="function", parameters=found.parameters, stub=stub, place=found.place)
    if definition is not None:
        found = find.written(code.program, *definition)
        # an empty body says nothing once a decorator, or a later line, has put something else in its place
        return msgspec.structs.replace(found, stub=found.stub and value is inner and _made_by(inner, definition[1]))
    routine = inspect.isroutine(value)
    made_by = work.sources.get(inner.__code__.co_filename) if isinstance(inner, FunctionType) else None
    return Found(
        name=name,
        kind="function" if routine else "instance",
        parameters=_signature(value),
        stub=False,
        place=place(made_by, inner.__code__.co_firstlineno) if made_by else None,
    )


def _made_by(function: object, node: Function) -> bool:
    """Whether running this very `def` statement made the function."""
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    return isinstance(function, FunctionType) and function.__code__.co_firstlineno == first


def _signature(value: Callable[..., Any]) -> list[str]:
    try:
        found = inspect.signature(value).parameters.values()
        return [str(parameter.replace(annotation=parameter.empty)) for parameter in found]
    except Exception:
        return ["?"]


def _banned(work: Workspace, banned: Sequence[str]) -> list[Place]:
    """Lines that name something banned, in the code that was loaded."""
    places: list[Place] = []
    for code in work.modules:
        statements = code.program.statements
        for index, unit in enumerate(code.program.units):
            if banned and banned_names.mentions(unit.source, banned):
                loaded = [statements[number].node for number in sorted(code.done) if statements[number].unit == index]
                lines = banned_names.lines(code.program, loaded, banned, work.own)
                places.extend(place(unit, line) for line in lines)
    return places
