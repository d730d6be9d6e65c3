"""The staff master of an assignment: the one text from which both starters and the reference come.

It is `solutions/<name>/<name>.py` in percent format, or `<name>.ipynb`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.assignment import SETTINGS, Assignment
from grader.authoring.cells import NOTEBOOK, STAFF, Cell, read_percent
from grader.authoring.dialects import read_notebook
from grader.errors import AssignmentError


def master_path(assignment: Assignment) -> Path:
    """The master of the assignment. Raises AssignmentError when there is none, or more than one."""
    paths = [assignment.staff / f"{assignment.name}{suffix}" for suffix in (".py", ".ipynb")]
    found = [path for path in paths if path.is_file()]
    wanted = " or ".join(str(path) for path in paths)
    if not found:
        raise AssignmentError(f"There is no master: write {wanted}. docs/adding-an-assignment.md shows one.")
    if len(found) > 1:
        raise AssignmentError(f"There are two masters: keep {wanted}, and remove the other.")
    return found[0]


def read_master(path: Path) -> list[Cell]:
    """The cells of a master in order. Raises AssignmentError naming the file and the place in it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AssignmentError(f"{path} can't be read as UTF-8 text: {error}.") from None
    return read_notebook(path, text) if path.suffix == ".ipynb" else read_percent(path, text)


def reference_source(path: Path) -> str:
    """The reference solution as one Python text: the code cells that are neither demonstration nor check.

    Each line keeps the number that it has in a percent file, so that tracebacks point into the master.
    """
    lines: list[str] = []
    for cell in read_master(path):
        shown_only = cell.tags & {NOTEBOOK, STAFF} or cell.role.tests or cell.role.prompt
        if cell.kind == "code" and not shown_only:
            lines += [""] * (cell.line - 1 - len(lines))
            lines += cell.source.split("\n")
    return "\n".join(lines) + "\n"


def load_reference(assignment: Assignment) -> Callable[..., Any]:
    """The entry function of the reference solution. For staff processes only: it reads `solutions/`.

    Raises AssignmentError when the master can't be run or does not define the function.
    """
    path = master_path(assignment)
    module = types.ModuleType(f"reference_{assignment.name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # data classes look their own module up by its name
    try:
        exec(compile(reference_source(path), str(path), "exec"), module.__dict__)
    except Exception as error:
        line = getattr(error, "lineno", None) or _line_in(path, error)
        at = f", line {line}" if line else ""
        raise AssignmentError(f"{path}{at}: the reference fails: {type(error).__name__}: {error}") from error
    name = assignment.settings.entry.function
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        settings = assignment.public / SETTINGS
        raise AssignmentError(f"{path} does not define {name}(), the entry function that {settings} names.")
    return function


def _line_in(path: Path, error: BaseException) -> int | None:
    """The innermost line of `path` that the exception went through."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
