"""What all modules of one submission share: its files, what went wrong, and the builtins that they see."""

from __future__ import annotations

import builtins
import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grader.entry import Problem, Unit
from grader.sandbox.failure import SOURCES
from grader.sandbox.stand_ins import builtins_for_notebooks

if TYPE_CHECKING:
    from grader.sandbox.execution import Code


class Workspace:
    """Grows while modules are loaded."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
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

    def own(self, module: str) -> bool:
        """Whether a dotted module name is one of the student's files or folders."""
        top = module.partition(".")[0]
        return any(top in (part, part.removesuffix(".py")) for path in self.files for part in path.split("/"))

    def _open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        """`open`, with the files that were handed in readable under their names."""
        name = re.sub(r"^(?:\./)+", "", file) if isinstance(file, str) else ""
        if name in self.files and not set(mode) & set("wax+"):
            raw = io.BytesIO(self.files[name])
            return raw if "b" in mode else io.TextIOWrapper(raw, options.get("encoding") or "utf-8")
        return open(file, mode, *args, **options)  # noqa: PTH123  (theirs may be a number)
