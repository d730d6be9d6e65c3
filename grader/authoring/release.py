"""The starters that students receive, written from the staff master.

Both starters are a function of the master, the settings and the helper file alone: the same input gives the same
bytes, so a starter that is out of date is one whose bytes differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.authoring.cells import NOTEBOOK, SCRIPT
from grader.authoring.master import master_path, read_master
from grader.authoring.strip import Stripped, refuse_leaks, strip
from grader.errors import AssignmentError
from grader.run_directory import write

_INCLUDE = re.compile(r"# include (?P<name>[\w.]+)")
_BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
_GITHUB = "https://github.com/"


def release(assignment: Assignment, check: bool = False) -> list[Path]:
    """Write the starters `<name>.py` and `<name>.ipynb` into the public half; the paths of those that changed.

    With `check` nothing is written. Raises AssignmentError: the master has a fault or would give a solution away
    (names file, cell and line), or, with `check`, a starter is not what the master gives now.
    """
    master = read_master(master_path(assignment))
    cells = strip(master)
    starters = {
        assignment.public / f"{assignment.name}.py": script(cells).encode(),
        assignment.public / f"{assignment.name}.ipynb": notebook(assignment, cells).encode(),
    }
    for path in sorted(assignment.public.glob("*")):
        if path.suffix in {".py", ".md"} and path not in starters:
            refuse_leaks(path, master)
    old = [path for path, data in starters.items() if not path.is_file() or path.read_bytes() != data]
    if check and old:
        paths = " and ".join(str(path) for path in old)
        raise AssignmentError(f"{paths}: out of date. Run 'grader release {assignment.name}' and commit the result.")
    for path in old:
        write(path, starters[path])
    return old


def script(cells: list[Stripped]) -> str:
    """The starter as a Python file: the code cells that are neither demonstrations nor checks."""
    parts = [
        piece.source.strip("\n")
        for piece in cells
        if piece.cell.kind == "code" and NOTEBOOK not in piece.cell.tags and not piece.cell.role.tests
    ]
    if not parts:
        raise AssignmentError("The master has no code cell for the starter script.")
    text = parts[0]
    for before, after in pairwise(parts):
        text += ("\n\n\n" if _defines(before) or _defines(after) else "\n\n") + after
    return text + "\n"


def notebook(assignment: Assignment, cells: list[Stripped]) -> str:
    """The starter as a notebook (format 4.5): no outputs, nothing personal, ids that stay when words change."""
    result: list[dict[str, Any]] = []
    if assignment.settings.colab:
        result.append(_badge(assignment))
    seen: dict[str, int] = {}
    for piece in cells:
        if SCRIPT in piece.cell.tags:
            continue
        include = _INCLUDE.fullmatch(piece.source.strip())
        source = _included(assignment, piece, include["name"]) if include else piece.source
        known = f"{piece.cell.kind}:{_first_words(piece.cell.kind, source)}"
        seen[known] = seen.get(known, 0) + 1
        name = piece.cell.id if re.fullmatch(r"[\w-]{1,64}", piece.cell.id, re.ASCII) else ""
        key = name or hashlib.sha256(f"{assignment.name}:{known}:{seen[known]}".encode()).hexdigest()[:12]
        result.append(_cell(piece.cell.kind, key, source, {"cellView": "form"} if include else {}))
    ids = [cell["id"] for cell in result]
    for piece_id in ids:
        if ids.count(piece_id) > 1:
            raise AssignmentError(f"{master_path(assignment)}: two cells have the id {piece_id}. Rename one of them.")
    content = {
        "cells": result,
        "metadata": {
            "colab": {"provenance": []},
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, key: str, source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": key, "metadata": metadata}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": source.strip("\n").splitlines(keepends=True)}


def _badge(assignment: Assignment) -> dict[str, Any]:
    """A link that opens the notebook in Colab; the id is the one that Colab gives to a badge of its own."""
    address = assignment.settings.colab.rstrip("/")
    if not address.startswith(_GITHUB) or "/blob/" not in address:
        raise AssignmentError(
            f"{assignment.public / 'assignment.toml'}: colab is '{address}', but should be the address of a branch, "
            'such as "https://github.com/OWNER/REPO/blob/main".'
        )
    path = f"{address.removeprefix(_GITHUB)}/assignments/{assignment.name}/{assignment.name}.ipynb"
    text = f"[![Open in Colab]({_BADGE})](https://colab.research.google.com/github/{path})"
    return _cell("markdown", "view-in-github", text, {"colab_type": "text", "id": "view-in-github"})


def _included(assignment: Assignment, piece: Stripped, name: str) -> str:
    """A cell that writes a file of the public half beside the notebook: Colab needs nothing but the notebook."""
    path = assignment.public / name
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise AssignmentError(f"{piece.cell.place()}: can't include {path}: {error.strerror}.") from None
    return f"%%writefile {name}\n# @title Run this cell once: it holds the public checks.\n{text}"


def _defines(source: str) -> bool:
    return re.search(r"^(def |async def |class |@)", source, re.MULTILINE) is not None


def _first_words(kind: str, source: str) -> str:
    """The heading, or the first line of code: it seldom changes when the rest of the cell does."""
    lines = [line.strip() for line in source.split("\n") if line.strip()]
    code = [line for line in lines if not line.startswith("#")] if kind == "code" else []
    return (code or lines or [""])[0]
