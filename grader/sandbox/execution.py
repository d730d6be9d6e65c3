"""Running the needed statements of one module of the student's, with failures kept as data."""

from __future__ import annotations
import __future__

import ast
import contextlib
import copy
import inspect
import linecache
from collections.abc import Iterable, Sequence
from types import CodeType, ModuleType
from typing import Any

from grader.entry import Unit
from grader.sandbox import parsing, words
from grader.sandbox.failure import file_name, place, text_of
from grader.sandbox.program import Program, Statement
from grader.sandbox.stand_ins import Missing
from grader.sandbox.workspace import Workspace

_ANNOTATIONS = __future__.annotations.compiler_flag


class Code:
    """One module: its statements, and which of them have run."""

    def __init__(self, units: Sequence[Unit], module: ModuleType, work: Workspace) -> None:
        self.module = module
        self.unreadable: list[Unit] = []
        """Units that could not be parsed."""
        self.failures: dict[int, BaseException] = {}
        """Statement number -> how it ended."""
        self.done: set[int] = set()
        self._work = work
        module.__dict__["__builtins__"] = work.builtins
        module.__dict__["__getattr__"] = self._lookup
        trees = [self._parse(unit) for unit in units]
        future = parsing.take_future(trees)
        self._flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | future
        self.program = Program(units, trees, annotations=not future & _ANNOTATIONS, itself=work.itself(units))
        work.modules.append(self)

    def need(self, roots: Iterable[str]) -> list[int]:
        """Run what the names `roots` need and has not run yet. Gives the numbers of all that they need."""
        needed = self.program.needed(roots)
        self._run_fresh(needed)
        return needed

    def everything(self) -> None:
        """Run what an import would run: every statement but those for when the file is the main program."""
        self._run_fresh(range(len(self.program.statements)), guarded=False)

    @property
    def partial(self) -> bool:
        """Whether `everything` would run more than has run."""
        return any(
            number not in self.done and not statement.guarded and not isinstance(statement.node, ast.Pass)
            for number, statement in enumerate(self.program.statements)
        )

    def _run_fresh(self, numbers: Iterable[int], *, guarded: bool = True) -> None:
        statements = self.program.statements
        fresh = [
            number for number in numbers if number not in self.done and (guarded or not statements[number].guarded)
        ]
        self.done.update(fresh)
        while fresh:
            unit = statements[fresh[0]].unit
            here = [number for number in fresh if statements[number].unit == unit]
            fresh = fresh[len(here) :]
            self._run(unit, here)

    def lost(self, name: str) -> bool:
        """Whether `name` is defined by code that could not be parsed, or that failed; its problem says why."""
        if any(f"def {name}" in unit.source for unit in self.unreadable):
            return True
        return any(number in self.failures for number in self.program.binders.get(name, []))

    def run_again(self, node: ast.stmt, unit: int) -> None:
        """Run one statement once more, for a definition whose name was overwritten. Raises what it raises."""
        self._execute(self._compile(unit, [node]))

    def _lookup(self, name: str) -> Any:
        """An attribute of the module that is not there (yet): PEP 562."""
        if name == "__all__" and name not in self.program.binders:
            self.need(name for name in self.program.binders if name != "*")  # from this import *
        elif name in self.program.binders:
            self.need([name])
        try:
            return self.module.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}") from None

    def _parse(self, unit: Unit) -> ast.Module | None:
        name = file_name(unit)
        self._work.sources[name] = unit
        lines = [line + "\n" for line in unit.source.split("\n")]
        linecache.cache[name] = (len(unit.source), None, lines, name)
        try:
            return parsing.parse(unit, name)
        except SyntaxError as error:
            self._work.problems.append(words.syntax(unit, error))
        except (RecursionError, MemoryError, ValueError) as error:
            self._work.problems.append(words.unparsable(unit, error))
        self.unreadable.append(unit)
        return None

    def _run(self, unit: int, numbers: list[int]) -> None:
        """Run statements of one unit in order; one that fails does not keep the later ones from running."""
        statements = self.program.statements
        while numbers:
            chunk = [statements[number] for number in numbers]
            try:
                code = self._compile(unit, [statement.node for statement in chunk])
            except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
                at = self._uncompilable(unit, chunk)
                self._failed(numbers.pop(at), error)
                continue
            try:
                self._execute(code)
            except BaseException as error:
                at = _failing(chunk, error, code)
                self._failed(numbers[at], error)
                numbers = numbers[at + 1 :]
            else:
                return

    def _compile(self, unit: int, nodes: list[ast.stmt], flags: int = 0) -> CodeType:
        tree = ast.Module(body=nodes, type_ignores=[])
        name = file_name(self.program.units[unit])
        code: CodeType = compile(tree, name, "exec", flags=self._flags | flags, dont_inherit=True)
        return code

    def _uncompilable(self, unit: int, chunk: Sequence[Statement]) -> int:
        """Index of the first statement of `chunk` that can't be compiled, though it could be parsed."""
        for index, statement in enumerate(chunk):
            try:
                self._compile(unit, [statement.node])
            except (SyntaxError, RecursionError, MemoryError, ValueError):
                return index
        return 0

    def _execute(self, code: CodeType) -> None:
        if not code.co_flags & inspect.CO_COROUTINE:
            exec(code, self.module.__dict__)
            return
        import asyncio  # only for a top-level await

        coroutine = eval(code, self.module.__dict__)
        try:
            asyncio.run(coroutine)
        except OSError:
            if inspect.getcoroutinestate(coroutine) != inspect.CORO_CREATED:
                raise
            parsing.drive(coroutine)  # the sandbox may refuse the socket that an event loop wakes itself with

    def _failed(self, number: int, error: BaseException) -> None:
        statement = self.program.statements[number]
        unit = self.program.units[statement.unit]
        if isinstance(error, (NameError, ImportError)) and self._defined_plainly(statement):
            self._work.notes.append(words.ornament(error, place(unit, statement.node.lineno)))
            if isinstance(error, ImportError):
                self._work.forgive(words.missing_package(error))
            return
        self.failures[number] = error
        if isinstance(error, SyntaxError) and error.filename == file_name(unit):
            self._work.problems.append(words.syntax(unit, error))
            return
        importing = isinstance(statement.node, (ast.Import, ast.ImportFrom))
        told = isinstance(error, ImportError) and error.path in self._work.files  # the file's own problem says why
        if not told and not (importing and self._work.modules[0] is not self):
            self._work.problems.append(words.exception(error, place(unit, statement.node.lineno)))
        if isinstance(error, ImportError) and importing:
            for name in statement.binds - {"*"}:
                self.module.__dict__.setdefault(name, Missing(text_of(error), words.missing_package(error)))

    def _defined_plainly(self, statement: Statement) -> bool:
        """Whether a definition that failed over a name does well without annotations, or else without decorators."""
        node = statement.node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        bare = copy.copy(node)
        bare.decorator_list = []
        for simpler in (node, bare):
            with contextlib.suppress(BaseException):
                self._execute(self._compile(statement.unit, [simpler], flags=_ANNOTATIONS))
                return True
        return False


def _failing(chunk: Sequence[Statement], error: BaseException, code: CodeType) -> int:
    """Index in `chunk` of the statement at top level that `error` came through."""
    traceback = error.__traceback__
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code is code:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    for index, statement in enumerate(chunk):
        node = statement.node
        first = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))])
        if first <= line <= (node.end_lineno or node.lineno):
            return index
    return 0
