"""Running the needed statements of one module of the student's, with failures kept as data."""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import io
import linecache
import re
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

from grader.decoding import decode
from grader.entry import Problem, Unit
from grader.sandbox import words
from grader.sandbox.failure import SOURCES, file_name, place
from grader.sandbox.program import Program, Statement
from grader.sandbox.stand_ins import Missing, builtins_for_notebooks

_RELATIVE = re.compile(r"\bfrom\s+\.")


class Workspace:
    """What all modules of one submission share: its files, its problems, and the builtins it sees."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.problems: list[Problem] = []
        self.modules: list[Code] = []
        self.sources: dict[str, Unit] = {}
        self.builtins: dict[str, Any] = {
            **builtins.__dict__,
            **builtins_for_notebooks(),
            "open": self._open,
            SOURCES: self.sources,
        }

    def run_sibling(self, module: ModuleType, path: str, data: bytes) -> None:
        """Make one of the student's other files importable; its statements run when their names are used."""
        text = decode(data).text if path else ""
        code = Code([Unit(path, None, text)], module, self)
        if code.unreadable:
            raise ImportError(f"{path} can't be read", name=module.__name__, path=path)

    def _open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        """`open`, with the files that were handed in readable under their names."""
        name = re.sub(r"^(?:\./)+", "", file) if isinstance(file, str) else ""
        if name in self.files and not set(mode) & set("wax+"):
            raw = io.BytesIO(self.files[name])
            return raw if "b" in mode else io.TextIOWrapper(raw, options.get("encoding") or "utf-8")
        return open(file, mode, *args, **options)  # noqa: PTH123  (theirs may be a number)


class Code:
    """One module: its statements, and which of them have run."""

    def __init__(self, units: Sequence[Unit], module: ModuleType, work: Workspace) -> None:
        self.module = module
        self.unreadable = False
        """Some unit could not be parsed."""
        self.failures: dict[int, BaseException] = {}
        """Statement number -> how it ended."""
        self.done: set[int] = set()
        self._work = work
        self._flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        module.__dict__["__builtins__"] = work.builtins
        module.__dict__["__getattr__"] = self._lookup
        self.program = Program(units, [self._parse(unit) for unit in units])
        work.modules.append(self)

    def need(self, roots: Iterable[str]) -> list[int]:
        """Run what the names `roots` need and has not run yet. Gives the numbers of all that they need."""
        needed = self.program.needed(roots)
        fresh = [number for number in needed if number not in self.done]
        self.done.update(fresh)
        while fresh:
            unit = self.program.statements[fresh[0]].unit
            here = [number for number in fresh if self.program.statements[number].unit == unit]
            fresh = fresh[len(here) :]
            self._run(unit, here)
        return needed

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
            tree = ast.parse(unit.source, name)
        except SyntaxError as error:
            self._work.problems.append(words.syntax(unit, error))
        except (RecursionError, MemoryError, ValueError, UnicodeError) as error:
            self._work.problems.append(words.unparsable(unit, error))
        else:
            self._prepare(unit, tree)
            return tree
        self.unreadable = True
        return None

    def _prepare(self, unit: Unit, tree: ast.Module) -> None:
        """Take `from __future__` into the flags of the compiler, and make relative imports absolute."""
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    feature = getattr(__future__, alias.name, None)
                    self._flags |= getattr(feature, "compiler_flag", 0)
        tree.body = [
            node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        ]
        if _RELATIVE.search(unit.source):
            _Absolute(unit.file).visit(tree)

    def _run(self, unit: int, numbers: list[int]) -> None:
        """Run statements of one unit in order; one that fails does not keep the later ones from running."""
        statements = self.program.statements
        while numbers:
            chunk = [statements[number] for number in numbers]
            code = None
            try:
                code = self._compile(unit, chunk)
                self._execute(code)
            except BaseException as error:
                at = _failing(chunk, error, code)
                self._failed(numbers[at], error, compiled=code is not None)
                numbers = numbers[at + 1 :] if code is not None else numbers[:at] + numbers[at + 1 :]
            else:
                return

    def _compile(self, unit: int, chunk: Sequence[Statement]) -> CodeType:
        tree = ast.Module(body=[statement.node for statement in chunk], type_ignores=[])
        name = file_name(self.program.units[unit])
        code: CodeType = compile(tree, name, "exec", flags=self._flags, dont_inherit=True)
        return code

    def _execute(self, code: CodeType) -> None:
        if not code.co_flags & inspect.CO_COROUTINE:
            exec(code, self.module.__dict__)
            return
        import asyncio  # only for a top-level await

        coroutine = eval(code, self.module.__dict__)
        asyncio.run(coroutine)

    def _failed(self, number: int, error: BaseException, *, compiled: bool) -> None:
        statement = self.program.statements[number]
        unit = self.program.units[statement.unit]
        self.failures[number] = error
        if isinstance(error, SyntaxError) and not compiled:
            self._work.problems.append(words.syntax(unit, error))
            return
        problem = words.exception(error, place(unit, statement.node.lineno))
        self._work.problems.append(problem)
        if isinstance(error, ImportError) and isinstance(statement.node, (ast.Import, ast.ImportFrom)):
            package = words.missing_package(error)
            for name in statement.binds - {"*"}:
                self.module.__dict__.setdefault(name, Missing(f"No module named {package!r}", package))


class _Absolute(ast.NodeTransformer):
    """`from .helpers import f` in "src/attention.py" becomes `from src.helpers import f`."""

    def __init__(self, file: str) -> None:
        self._folders = file.split("/")[:-1]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if not node.level:
            return node
        base = self._folders[: len(self._folders) - node.level + 1] if node.level > 1 else self._folders
        parts = [*base, *([node.module] if node.module else [])]
        if parts:
            return ast.copy_location(ast.ImportFrom(module=".".join(parts), names=node.names, level=0), node)
        return ast.copy_location(ast.Import(names=node.names), node)


def _failing(chunk: Sequence[Statement], error: BaseException, code: CodeType | None) -> int:
    """Index in `chunk` of the statement that `error` came from."""
    line = error.lineno if code is None and isinstance(error, SyntaxError) else None
    traceback = error.__traceback__ if code is not None else None
    while traceback is not None and line is None:
        if traceback.tb_frame.f_code is code:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    for index, statement in enumerate(chunk):
        node = statement.node
        first = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))])
        if line is not None and first <= line <= (node.end_lineno or node.lineno):
            return index
    return 0
