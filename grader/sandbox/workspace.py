"""What all modules of one submission share: its files, what went wrong, and the builtins that they see."""

from __future__ import annotations

import builtins
import io
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grader.entry import Problem, Unit
from grader.sandbox.failure import SOURCES
from grader.sandbox.stand_ins import builtins_for_notebooks

if TYPE_CHECKING:
    from grader.sandbox.execution import Code


class Workspace:
    """Grows while modules are loaded."""

    def __init__(self, files: Mapping[str, bytes], main: str) -> None:
        self.files = files
        self.main = main
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.modules: list[Code] = []
        self.sources: dict[str, Unit] = {}
        """By the file name that Python knows the unit under."""
        self.builtins: dict[str, Any] = {
            **builtins.__dict__,
            **builtins_for_notebooks(),
            "open": self._open,
            SOURCES: self.sources,
        }

    @property
    def module_name(self) -> str:
        """The name under which the main file can be imported: its own, unless another file or module has that."""
        stem, dot, suffix = self.main.rpartition("/")[2].rpartition(".")
        if dot and suffix == "py" and stem not in sys.modules and stem not in sys.stdlib_module_names:
            return stem
        return f"submitted_{stem or suffix}"

    def itself(self, units: Sequence[Unit]) -> str:
        """The module name by which code of `units` would import itself; "" when that is another file of theirs."""
        stem = units[0].file.rpartition("/")[2].rpartition(".")[0] if units else ""
        return "" if any(path.rpartition("/")[2] == f"{stem}.py" for path in self.files) else stem

    def own(self, module: str) -> bool:
        """Whether a dotted module name is no library: one of the student's files or folders, or not to be found."""
        top = module.partition(".")[0]
        parts = {part for path in (*self.files, self.main) for part in path.split("/")}
        return top in parts or f"{top}.py" in parts or top not in sys.modules

    def forgive(self, package: str) -> None:
        """Take back that `package` is missing: what it was imported for could be left out."""
        self.problems = [
            problem
            for problem in self.problems
            if problem.kind != "missing_package" or f"`{package}`" not in problem.message
        ]

    def _open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        """`open`, with the files that were handed in readable under their names."""
        name = re.sub(r"^(?:\./)+", "", file) if isinstance(file, str) else ""
        if name in self.files and not set(mode) & set("wax+"):
            raw = io.BytesIO(self.files[name])
            return raw if "b" in mode else io.TextIOWrapper(raw, options.get("encoding") or "utf-8")
        return open(file, mode, *args, **options)  # noqa: PTH123  (theirs may be a number)
