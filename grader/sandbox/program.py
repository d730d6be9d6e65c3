"""A submission as top-level statements, and the choice of those that a name needs.

A notebook run from top to bottom trains, plots and downloads. A grader wants one function. So the statements
that the function needs, directly or through others, are found and run in the order in which they are
written; the rest is left alone.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from grader.entry import Unit
from grader.sandbox import names

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_OPEN = (ast.If, ast.With, ast.Try, getattr(ast, "TryStar", ast.Try))  # `except*` is of Python 3.11
_DYNAMIC = frozenset({"globals", "eval", "exec"})


@dataclass(frozen=True)
class Statement:
    """One top-level statement."""

    unit: int
    node: ast.stmt
    binds: set[str]
    changes: set[str]
    """Names whose object it changes in place."""
    guarded: bool = False
    """It is an `if __name__ == "__main__":` block."""

    @property
    def simple(self) -> bool:
        """It defines, imports or assigns, and so is cheap to run as far as anybody can tell."""
        return not isinstance(self.node, _LOOPS) and not self.guarded


class Program:
    """The statements of all units that could be parsed, in the order written.

    `annotations`: whether Python evaluates annotations (not after `from __future__ import annotations`);
    `itself`: the module name by which the code would import itself, as a check that was left in it does.
    """

    def __init__(
        self, units: Sequence[Unit], trees: Sequence[ast.Module | None], *, annotations: bool = True, itself: str = ""
    ) -> None:
        self.units = units
        self.statements = [
            statement for index, tree in enumerate(trees) if tree is not None for statement in _split(index, tree)
        ]
        self.binders: dict[str, list[int]] = {}
        """Name -> numbers of the statements that bind it; "*" -> the star imports."""
        self._changers: dict[str, list[int]] = {}
        self._annotations = annotations
        self._setters = self._find_setters()
        self._dynamic = [
            number
            for number, statement in enumerate(self.statements)
            if isinstance(statement.node, (ast.Expr, ast.Assign))
            and "globals" in self.units[statement.unit].source
            and "globals" in names.reads([statement.node])
        ]
        """Statements such as `globals()["d_k"] = 64`, which may bind anything."""

        def imports_itself(pair: tuple[int, Statement]) -> bool:
            node = pair[1].node
            return isinstance(node, ast.ImportFrom) and node.module == itself

        for number, statement in sorted(enumerate(self.statements), key=imports_itself):
            if imports_itself((number, statement)) and statement.binds <= {"*", *self.binders}:
                continue
            for name in statement.binds:
                self.binders.setdefault(name, []).append(number)
            for name in statement.changes | self._set_by_calls(statement):
                self._changers.setdefault(name, []).append(number)

    def definitions(self) -> Iterator[tuple[int, Definition]]:
        """(unit, node) of each function and class at top level, also inside `if`, `try` and `with`."""
        for statement in self.statements:
            for node in _flat([statement.node]):
                if isinstance(node, _DEFINITIONS):
                    yield statement.unit, node

    def libraries(self, own: Callable[[str], bool]) -> set[str]:
        """Names that stand for an imported library or a part of it: "torch", "F", or `f` after `f = F`.

        `own` tells whether a module is a file of the student's; "*" is there after `from torch... import *`.
        """
        found: set[str] = set()
        for statement in self.statements:
            node = statement.node
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names if not own(alias.name)}
            elif isinstance(node, ast.ImportFrom):
                if node.module and not node.level and not own(node.module):
                    found |= statement.binds
            elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
                found |= statement.binds if names.root(node.value) in found else set()
        return found

    def needed(self, roots: Iterable[str]) -> list[int]:
        """Numbers of the statements that must have run before the names `roots` can be used, in order."""
        chosen: set[int] = set()
        seen: set[str] = set()
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in _DYNAMIC and name not in self.binders:
                # The code looks names up by text: anything may be meant that is cheap.
                todo.extend(self._cheap_names())
            for number in self._sources(name):
                if number not in chosen:
                    chosen.add(number)
                    with contextlib.suppress(RecursionError):  # nobody nests functions that deeply in earnest
                        todo.extend(names.reads([self.statements[number].node], annotations=self._annotations))
        return sorted(chosen)

    def _sources(self, name: str) -> list[int]:
        """Numbers of the statements that give `name` its value."""
        binders = self.binders.get(name)
        if binders is None:
            # A library's `sum` may replace the built-in one.
            found = [] if name.startswith("__") else [*self.binders.get("*", []), *self._changers.get(name, [])]
            return found if hasattr(builtins, name) else [*found, *self._dynamic]
        chosen = [number for number in binders if self.statements[number].simple]
        if not chosen:
            chosen = [number for number in binders if not self.statements[number].guarded] or binders
        if all(isinstance(self.statements[number].node, (ast.Import, ast.ImportFrom)) for number in chosen):
            return chosen  # settings of a library, such as plt.rcParams[...] = ..., are not needed
        changers = self._changers.get(name, [])
        return chosen + [number for number in changers if not self.statements[number].guarded]

    def _find_setters(self) -> dict[str, set[str]]:
        """Function -> names that it gives a value with a `global` statement."""
        found: dict[str, set[str]] = {}
        for unit, node in self.definitions():
            if "global " in self.units[unit].source and not isinstance(node, ast.ClassDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Global):
                        found.setdefault(node.name, set()).update(inner.names)
        return found

    def _set_by_calls(self, statement: Statement) -> set[str]:
        """Names that a statement sets by calling one of those functions: `setup()`, `data = setup()`."""
        node = statement.node
        if not self._setters or not isinstance(node, (ast.Expr, ast.Assign)) or not isinstance(node.value, ast.Call):
            return set()
        return self._setters.get(names.root(node.value.func), set())

    def _cheap_names(self) -> Iterator[str]:
        for name, binders in self.binders.items():
            nodes = (self.statements[number].node for number in binders)
            if name != "*" and all(isinstance(node, (*_DEFINITIONS, ast.Assign, ast.AnnAssign)) for node in nodes):
                yield name


def _split(unit: int, tree: ast.Module) -> Iterator[Statement]:
    for node in tree.body:
        if isinstance(node, ast.Import) and len(node.names) > 1:
            for alias in node.names:  # one missing package must not cost the others
                single = ast.copy_location(ast.Import(names=[alias]), node)
                yield Statement(unit, single, names.imported(single), set())
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield Statement(unit, node, names.imported(node), set())
        elif isinstance(node, _DEFINITIONS):
            yield Statement(unit, node, {node.name}, set())
        elif isinstance(node, ast.If) and _is_main_guard(node.test):
            always = ast.copy_location(ast.Constant(True), node.test)
            opened = ast.copy_location(ast.If(test=always, body=node.body, orelse=[]), node)
            yield Statement(unit, opened, names.scope(node.body).stores, set(), guarded=True)
        else:
            found = names.scope([node])
            yield Statement(unit, node, found.stores, found.touches | _called_on(node))


def _is_main_guard(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, either way round."""
    if not isinstance(test, ast.Compare) or len(test.comparators) != 1:
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )


def _called_on(node: ast.stmt) -> set[str]:
    """The names that a lone call may change: `items.append(x)`, `layer.eval()`, `nn.init.zeros_(weight)`."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return set()
    call = node.value
    changed = set()
    if isinstance(call.func, ast.Attribute):
        changed.add(names.root(call.func))
        if call.func.attr.endswith("_"):
            changed.update(names.root(argument) for argument in call.args)
    return changed


def _flat(nodes: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, and those inside `if`, `try` and `with`, but not inside definitions or loops."""
    stack = [*nodes][::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _OPEN):
            inner = [*node.body, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
            for handler in getattr(node, "handlers", []):
                inner += handler.body
            stack.extend(reversed(inner))
