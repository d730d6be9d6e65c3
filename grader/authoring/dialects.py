"""Notebook masters, as this grader, nbgrader and otter each mark them.

Which tool a notebook is written for is decided once for the whole of it, before any line is read as a marker:
the three disagree about the same comment. The rules are those of nbgrader's preprocessors and of `otter assign`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from grader.authoring.cells import TAGS, Cell, Dialect, Role
from grader.errors import AssignmentError

_CONFIG = re.compile(r"#\s*ASSIGNMENT CONFIG", re.IGNORECASE)
_EDGE = re.compile(r"#\s*(BEGIN|END)\s+(QUESTION|PROMPT|SOLUTION|TESTS)\s*", re.IGNORECASE)
_FENCE = re.compile(r"\s*```otter[ \t]*\n(.*?)\n?```\s*", re.DOTALL)


def read_notebook(path: Path, text: str) -> list[Cell]:
    """The cells of a notebook with the part that each plays.

    Raises AssignmentError naming the file and the cell: not a notebook, no cells, or a block of otter's that is
    not closed or closes another one.
    """
    import nbformat  # takes a quarter of a second to import, and percent masters need none of it

    try:
        notebook: Any = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
        cells = [(cell.cell_type, cell.source.rstrip("\n"), cell.metadata) for cell in notebook.cells]
    except Exception as error:  # nbformat raises whatever its parsers and validators do
        raise AssignmentError(f"{path} is not a notebook: {type(error).__name__}: {error}") from None
    if not cells:
        raise AssignmentError(f"{path} holds no cells.")
    dialect = _dialect(cells)
    roles = _otter_roles(path, cells) if dialect == "otter" else [_nbgrader_role(meta) for *_, meta in cells]
    return [
        Cell(
            kind,
            source,
            path,
            number,
            tags=frozenset(metadata.get("tags", [])) & TAGS,
            dialect=dialect,
            role=role,
            id=str(metadata.get("nbgrader", {}).get("grade_id", "")),
        )
        for number, ((kind, source, metadata), role) in enumerate(zip(cells, roles, strict=True), 1)
    ]


def _dialect(cells: list[tuple[str, str, Any]]) -> Dialect:
    if any("nbgrader" in metadata for *_, metadata in cells):
        return "nbgrader"
    if any(_otter_edge(kind, source) for kind, source, _ in cells):
        return "otter"
    return "percent"


def _nbgrader_role(metadata: Any) -> Role:
    """A graded cell that is no solution holds checks; a solution, graded by hand or not, is the student's."""
    about = metadata.get("nbgrader", {})
    solution = bool(about.get("solution"))
    return Role(solution=solution, tests=bool(about.get("grade")) and not solution)


def _otter_edge(kind: str, source: str) -> tuple[str, str] | None:
    """The block edge that the cell is, if any: a raw cell, or a markdown cell of nothing but an otter fence."""
    fence = _FENCE.fullmatch(source) if kind == "markdown" else None
    if kind != "raw" and fence is None:
        return None
    first = (fence[1] if fence else source).strip().split("\n")[0]
    if _CONFIG.match(first):
        return ("config", "")
    edge = _EDGE.fullmatch(first)
    return (edge[1].lower(), edge[2].lower()) if edge else None


def _otter_roles(path: Path, cells: list[tuple[str, str, Any]]) -> list[Role]:
    roles = []
    inside: list[tuple[str, int]] = []  # the open blocks, with the number of the cell that opened each
    prompted = False
    for number, (kind, source, _) in enumerate(cells, 1):
        edge = _otter_edge(kind, source)
        block = inside[-1][0] if inside else ""
        if edge is None:
            roles.append(
                Role(
                    solution=block == "solution",
                    tests=block == "tests",
                    prompt=block == "prompt",
                    replaced=block == "solution" and prompted,
                )
            )
            continue
        roles.append(Role(edge=edge))
        if edge[0] == "begin":
            inside.append((edge[1], number))
            prompted = edge[1] == "prompt" or (prompted and edge[1] != "question")
        elif edge[0] == "end" and (not inside or inside.pop()[0] != edge[1]):
            raise AssignmentError(f"{path}, cell {number}, line 1: END {edge[1].upper()} closes no such block.")
    if inside:
        block, number = inside[-1]
        raise AssignmentError(
            f"{path}, cell {number}, line 1: BEGIN {block.upper()} is not closed. "
            f"Add a raw cell '# END {block.upper()}'."
        )
    return roles
