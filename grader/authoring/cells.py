"""A master as cells, and the percent format that writes cells in a Python file."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.errors import AssignmentError

Kind = Literal["code", "markdown", "raw"]
Dialect = Literal["percent", "nbgrader", "otter"]

NOTEBOOK = "notebook"
"""Tag of a cell that only the starter notebook gets: demonstrations and drawings."""
SCRIPT = "script"
"""Tag of a cell that only the starter script gets."""
STAFF = "staff"
"""Tag of a cell that no student gets."""
TAGS = {NOTEBOOK, SCRIPT, STAFF}

_MARKER = re.compile(r"# ?%%(?P<rest>.*)")
_REST = re.compile(r"(?:\[(?P<kind>\w+)\])?\s*(?:tags\s*=\s*(?P<tags>\[.*\]))?")


@dataclass(frozen=True)
class Role:
    """What a grading tool's marks say a notebook cell is for."""

    solution: bool = False
    """The student's answer goes here."""
    tests: bool = False
    """It holds checks."""
    prompt: bool = False
    """Students get it instead of the solution, which is `replaced` by it."""
    replaced: bool = False
    edge: tuple[str, str] | None = None
    """The begin or end of an otter block, e.g. ("begin", "tests"), or ("config", "")."""


@dataclass(frozen=True)
class Cell:
    """One cell of a master."""

    kind: Kind
    source: str
    """Without the percent format's own comment signs; no newline at the end."""
    file: Path
    number: int
    """1-based among all cells of the file."""
    line: int = 1
    """1-based line of the file on which `source` begins; 1 in a notebook."""
    tags: frozenset[str] = frozenset()
    dialect: Dialect = "percent"
    role: Role = Role()
    id: str = ""
    """nbgrader's grade_id, which starters keep."""

    def place(self, line: int = 1) -> str:
        """Where the `line`-th line of the cell is, in words."""
        return f"{self.file}, cell {self.number}, line {self.line + line - 1}"


def read_percent(path: Path, text: str) -> list[Cell]:
    """The cells of a Python file in percent format (`# %%`, `# %% [markdown]`, `# %% tags=["notebook"]`).

    Raises AssignmentError naming the line: no cell at all, an unknown kind or tag, code before the first cell.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [index for index, line in enumerate(lines) if _MARKER.fullmatch(line)]
    if not starts:
        raise AssignmentError(f"{path} has no cells. Begin each one with a line '# %%' or '# %% [markdown]'.")
    _check_preamble(path, lines[: starts[0]])
    return [
        _cell(path, number, begin, lines[begin:end])
        for number, (begin, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True), 1)
    ]


def _check_preamble(path: Path, lines: list[str]) -> None:
    """Before the first cell stands only the staff's own note, a docstring or comments: nobody receives it."""
    try:
        body = ast.parse("\n".join(lines)).body
    except SyntaxError as error:
        raise AssignmentError(f"{path}, line {error.lineno}: {error.msg}.") from None
    for node in body:
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise AssignmentError(f"{path}, line {node.lineno}: code before the first cell. Put '# %%' above it.")


def _cell(path: Path, number: int, begin: int, lines: list[str]) -> Cell:
    """`lines` are the marker line, at index `begin` of the file, and all that follows it up to the next."""
    marker = _MARKER.fullmatch(lines[0])
    assert marker is not None  # the caller cut the file at these lines
    kind, tags = _header(path, number, begin + 1, marker["rest"].strip())
    body = lines[1:]
    while body and not body[-1].strip():
        body.pop()
    blank = next((index for index, line in enumerate(body) if line.strip()), 0)
    body, first = body[blank:], begin + 2 + blank
    if kind == "markdown":
        body = [_uncomment(path, number, first + index, line) for index, line in enumerate(body)]
    return Cell(kind, "\n".join(body), path, number, first, tags)


def _header(path: Path, number: int, line: int, rest: str) -> tuple[Kind, frozenset[str]]:
    """What a marker line says after its `# %%`."""
    where = f"{path}, cell {number}, line {line}"
    match = _REST.fullmatch(rest)
    if match is None or match["kind"] not in (None, "markdown"):
        raise AssignmentError(
            f"{where}: '{rest}' is not understood after '# %%'. Write nothing, [markdown], or tags=[\"notebook\"]."
        )
    try:
        tags = frozenset(str(tag) for tag in json.loads(match["tags"] or "[]"))
    except json.JSONDecodeError:
        raise AssignmentError(f'{where}: write the tags as in tags=["notebook"], with double quotes.') from None
    if tags - TAGS:
        unknown, known = ", ".join(sorted(tags - TAGS)), ", ".join(sorted(TAGS))
        raise AssignmentError(f"{where}: unknown tag {unknown}. The known ones are: {known}.")
    return ("markdown" if match["kind"] else "code"), tags


def _uncomment(path: Path, number: int, line: int, text: str) -> str:
    if text and not text.startswith("#"):
        raise AssignmentError(
            f"{path}, cell {number}, line {line}: a line of a markdown cell must begin with '# '. "
            "Put '# %%' above it if it is code."
        )
    return text[2:] if text.startswith("# ") else text[1:]
