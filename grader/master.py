"""Read the staff master of an assignment: the one text from which both starters and the reference come.

A master is `solutions/<name>/<name>.py` in percent format (`# %%`, `# %% [markdown]`) or `<name>.ipynb`. Notebooks
may be written for nbgrader or for otter. Which of the two is decided once per notebook, before any line is read
as a marker, because the two disagree about the same comment.
"""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader.assignment import Assignment
from grader.errors import AssignmentError

Dialect = Literal["percent", "nbgrader", "otter"]

NOTEBOOK = "notebook"
"""Tag of a cell that only the starter notebook gets: demonstrations and drawings."""
SCRIPT = "script"
"""Tag of a cell that only the starter script gets."""
STAFF = "staff"
"""Tag of a cell that no student gets."""
TAGS = {NOTEBOOK, SCRIPT, STAFF}

_MARKER = re.compile(r"#\s*%%(?P<rest>.*)")
_REST = re.compile(r"(?:\[(?P<kind>\w+)\])?\s*(?:tags\s*=\s*(?P<tags>\[[^\]]*\]))?")
_OTTER_CONFIG = re.compile(r"#\s*ASSIGNMENT CONFIG", re.IGNORECASE)
_OTTER_BLOCK = re.compile(
    r"#\s*(?P<edge>BEGIN|END)\s+(?P<block>QUESTION|PROMPT|SOLUTION|TESTS)\s*$", re.IGNORECASE
)
_FENCE = re.compile(r"\s*```otter\s*\n(?P<body>.*?)\n?```\s*", re.DOTALL)


@dataclass(frozen=True)
class Role:
    """What a grading tool's metadata says a notebook cell is for."""

    solution: bool = False
    """The student's answer goes here."""
    tests: bool = False
    """It holds checks."""
    fence: tuple[str, str] | None = None
    """An otter block edge: ("begin" | "end", "question" | "prompt" | "solution" | "tests"), or ("config", "")."""


@dataclass(frozen=True)
class Cell:
    """One cell of a master."""

    kind: Literal["code", "markdown", "raw"]
    source: str
    """Without the percent format's own comment signs; no newline at the end."""
    file: Path
    number: int
    """1-based among all cells of the file."""
    line: int
    """1-based line of the file on which `source` begins; 1 in a notebook."""
    tags: frozenset[str] = frozenset()
    dialect: Dialect = "percent"
    role: Role = Role()
    id: str = ""
    """nbgrader's grade_id, which starters keep."""

    def place(self, line: int = 1) -> str:
        """Where the `line`-th line of the cell is, in words."""
        if self.file.suffix == ".ipynb":
            return f"{self.file}, cell {self.number}, line {line}"
        return f"{self.file}, cell {self.number}, line {self.line + line - 1}"


def master_path(assignment: Assignment) -> Path:
    """The master of the assignment. Raises AssignmentError when there is none, or more than one."""
    paths = [assignment.staff / f"{assignment.name}{suffix}" for suffix in (".py", ".ipynb")]
    found = [path for path in paths if path.is_file()]
    if len(found) == 1:
        return found[0]
    wanted = " or ".join(str(path) for path in paths)
    if found:
        raise AssignmentError(f"There are two masters: {wanted}. Keep one of them.")
    raise AssignmentError(f"There is no master. Write {wanted}; docs/adding-an-assignment.md shows one.")


def read_master(path: Path) -> list[Cell]:
    """The cells of a master in order.

    Raises AssignmentError naming the file and the place: unreadable, not a notebook, an unknown kind of cell
    or tag, or code before the first cell.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AssignmentError(f"{path} can't be read as UTF-8 text: {error}.") from None
    return _read_notebook(path, text) if path.suffix == ".ipynb" else _read_percent(path, text)


def reference_source(path: Path) -> str:
    """The reference solution as one Python text: the code cells that are not demonstrations or checks.

    Lines stay on the line number that they have in a percent file, so that tracebacks point into the master.
    """
    lines: list[str] = []
    for cell in read_master(path):
        if cell.kind != "code" or cell.tags & {NOTEBOOK, STAFF} or cell.role.tests:
            continue
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
    sys.modules[module.__name__] = module  # data classes look their own module up by name
    try:
        exec(compile(reference_source(path), str(path), "exec"), module.__dict__)
    except Exception as error:
        line = getattr(error, "lineno", None) or _line_in(path, error)
        at = f", line {line}" if line else ""
        raise AssignmentError(
            f"{path}{at}: the reference can't be run: {type(error).__name__}: {error}"
        ) from error
    wanted = assignment.settings.entry.function
    function = getattr(module, wanted, None)
    if not callable(function):
        raise AssignmentError(
            f"{path} does not define {wanted}(), which {assignment.public / 'assignment.toml'} names."
        )
    return function  # type: ignore[no-any-return]  # `callable` tells nothing about what it returns


def _line_in(path: Path, error: BaseException) -> int | None:
    """The innermost line of `path` that the exception went through."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _read_percent(path: Path, text: str) -> list[Cell]:
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [index for index, line in enumerate(lines) if _MARKER.fullmatch(line)]
    if not starts:
        raise AssignmentError(f"{path} has no cells. Begin each one with a line '# %%' or '# %% [markdown]'.")
    _check_preamble(path, lines[: starts[0]])
    return [
        _percent_cell(path, number, begin, lines[begin:end])
        for number, (begin, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True), 1)
    ]


def _check_preamble(path: Path, lines: list[str]) -> None:
    """Before the first cell stands only the staff's own note: a docstring or comments, which nobody receives."""
    try:
        body = compile("\n".join(lines), str(path), "exec", flags=0x400).body  # type: ignore[attr-defined]
    except SyntaxError as error:
        raise AssignmentError(f"{path}, line {error.lineno}: {error.msg}.") from None
    if len(body) > 1 or (
        body and not isinstance(getattr(getattr(body[0], "value", None), "value", None), str)
    ):
        raise AssignmentError(
            f"{path}, line {body[0].lineno}: code before the first cell. Put a line '# %%' above it."
        )


def _percent_cell(path: Path, number: int, begin: int, lines: list[str]) -> Cell:
    """`lines` are the marker line, at index `begin` of the file, and what follows it."""
    rest = _MARKER.fullmatch(lines[0])["rest"].strip()  # type: ignore[index]  # found by this pattern
    match = _REST.fullmatch(rest)
    kind = match and (match["kind"] or "code").lower()
    if match is None or kind not in ("code", "markdown"):
        raise AssignmentError(
            f'{path}, cell {number}, line {begin + 1}: "{rest}" is not understood after "# %%". Write nothing, [markdown], '
            'or tags=["notebook"].'
        )
    try:
        tags = frozenset(json.loads(match["tags"] or "[]"))
    except (json.JSONDecodeError, TypeError):
        tags = frozenset({match["tags"]})
    if tags - TAGS:
        unknown, known = ", ".join(map(str, sorted(tags - TAGS))), ", ".join(sorted(TAGS))
        raise AssignmentError(
            f"{path}, cell {number}, line {begin + 1}: unknown tag {unknown}. Known are: {known}."
        )
    body = lines[1:]
    while body and not body[-1].strip():
        body.pop()
    first = next((index for index, line in enumerate(body) if line.strip()), 0)
    body = body[first:]
    if kind == "markdown":
        body = [_uncomment(path, number, begin + 2 + first + index, line) for index, line in enumerate(body)]
        return Cell("markdown", "\n".join(body), path, number, begin + 2 + first, tags)
    return Cell("code", "\n".join(body), path, number, begin + 2 + first, tags)


def _uncomment(path: Path, number: int, at: int, line: str) -> str:
    if not line.strip():
        return ""
    if not line.startswith("#"):
        raise AssignmentError(
            f"{path}, cell {number}, line {at}: a line of a markdown cell must begin with '# '."
        )
    return line[2:] if line.startswith("# ") else line[1:]


def _read_notebook(path: Path, text: str) -> list[Cell]:
    import nbformat  # takes a quarter of a second, and percent masters need none of it

    try:
        notebook = nbformat.reads(text, as_version=4)
        raw = [(cell.cell_type, cell.source.rstrip("\n"), cell.metadata) for cell in notebook.cells]
    except Exception as error:  # nbformat raises whatever its parsers and validators do
        raise AssignmentError(f"{path} is not a notebook: {type(error).__name__}: {error}") from None
    if not raw:
        raise AssignmentError(f"{path} holds no cells.")
    dialect = _dialect(raw)
    cells, inside = [], [""]
    for number, (kind, source, metadata) in enumerate(raw, 1):
        if kind not in ("code", "markdown", "raw"):
            raise AssignmentError(f"{path}, cell {number}: unknown kind of cell {kind!r}.")
        role = _nbgrader_role(metadata) if dialect == "nbgrader" else Role()
        if dialect == "otter":
            role = _otter_role(kind, source, inside[-1])
            if role.fence and role.fence[0] == "begin":
                inside.append(role.fence[1])
            elif role.fence and role.fence[0] == "end" and len(inside) > 1:
                inside.pop()
        tags = frozenset(metadata.get("tags", [])) & TAGS
        name = str(metadata.get("nbgrader", {}).get("grade_id", ""))
        cells.append(Cell(kind, source, path, number, 1, tags, dialect, role, name))
    return cells


def _dialect(cells: list[tuple[str, str, Any]]) -> Dialect:
    if any("nbgrader" in metadata for _, _, metadata in cells):
        return "nbgrader"
    for kind, source, _ in cells:
        first = _otter_first_line(kind, source)
        if first is not None and (_OTTER_CONFIG.match(first) or _OTTER_BLOCK.match(first)):
            return "otter"
    return "percent"


def _nbgrader_role(metadata: Any) -> Role:
    """A cell with a grade and no solution holds checks; a solution cell, graded by hand or not, is the student's."""
    about = metadata.get("nbgrader", {})
    solution, grade = bool(about.get("solution")), bool(about.get("grade"))
    return Role(solution=solution, tests=grade and not solution)


def _otter_first_line(kind: str, source: str) -> str | None:
    """The first line of what otter reads as a block edge: a raw cell, or a markdown cell of one otter fence."""
    fence = _FENCE.fullmatch(source) if kind == "markdown" else None
    if kind != "raw" and fence is None:
        return None
    text = fence["body"] if fence else source
    return text.strip().split("\n")[0].strip()


def _otter_role(kind: str, source: str, inside: str) -> Role:
    first = _otter_first_line(kind, source)
    if first is not None and _OTTER_CONFIG.match(first):
        return Role(fence=("config", ""))
    edge = _OTTER_BLOCK.match(first) if first is not None else None
    if edge:
        return Role(fence=(edge["edge"].lower(), edge["block"].lower()))
    return Role(solution=inside == "solution", tests=inside == "tests")
