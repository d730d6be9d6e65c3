"""Each grader's ordinary way to mark one right answer with the classic four checks, made ready to be measured."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.rivals.environment import Environment

Command = tuple[str, ...]
HERE = Path(__file__).resolve().parent
CHECKS = ("shape", "row_sum", "causal_zero", "parity")


@dataclass(frozen=True)
class Way:
    """What to run for one submission; or for one more in a batch, as the difference between `many` and `few`."""

    title: str
    many: Command
    few: Command | None = None
    more: int = 1
    goal: int = 0  # how many times cheaper this grader is meant to be


def gradescope_utils(rivals: Environment, folder: Path, answer: str) -> list[Way]:
    """unittest and JSONTestRunner in a fresh process, as run_autograder starts them for each submission."""
    shutil.copytree(HERE / "gradescope", folder)
    shutil.copy(HERE / "four_checks.py", folder)
    (folder / "attention.py").write_text(answer, encoding="utf-8")
    rivals.run(folder, "python", "run_tests.py", "results.json")
    _full_marks(json.loads((folder / "results.json").read_text(encoding="utf-8"))["score"])
    return [Way("a process each", rivals.command(folder, "python", "run_tests.py", "results.json"), goal=30)]


def nbgrader(rivals: Environment, folder: Path, answer: str) -> list[Way]:
    """`nbgrader autograde` of a class, alone and with the reports of `nbgrader generate_feedback`."""
    more = 3
    batches, reports = [], []
    for count in (1, 1 + more):
        course = folder / str(count)
        source = course / "source" / "attention"
        source.mkdir(parents=True)
        shutil.copy(HERE / "four_checks.py", source)
        _write(source / "attention.ipynb", [_answer("raise NotImplementedError"), *map(_check, CHECKS)])
        (course / "nbgrader_config.py").write_text("", encoding="utf-8")
        for number in range(count):
            work = course / "submitted" / f"student{number}" / "attention"
            work.mkdir(parents=True)
            _write(work / "attention.ipynb", [_answer(f"{answer}\n# {number}\n"), *map(_check, CHECKS)])
        rivals.run(course, "nbgrader", "generate_assignment", "attention")
        rivals.run(course, "nbgrader", "autograde", "attention", "--force")
        rivals.run(course, "nbgrader", "export")
        with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
            scores = [float(row["score"]) for row in csv.DictReader(file)]
        _full_marks(min(scores) if len(scores) == count else 0)
        batches.append(rivals.command(course, "nbgrader", "autograde", "attention", "--force"))
        rivals.run(course, "nbgrader", "generate_feedback", "attention", "--force")
        reports.append(rivals.command(course, "nbgrader", "generate_feedback", "attention", "--force"))
    return [
        Way("autograde, one more in a batch", batches[1], batches[0], more, goal=60),
        Way("generate_feedback, one more in a batch", reports[1], reports[0], more),
        Way("autograde, a run for one", batches[0]),
    ]


def otter_grader(rivals: Environment, folder: Path, answer: str) -> list[Way]:
    """`otter run`, which is what `otter grade` starts in a container for each submission; and a loop over its API."""
    more = 2
    shutil.copytree(HERE / "otter", folder)
    shutil.copy(HERE / "four_checks.py", folder)
    _write(folder / "attention.ipynb", [_answer(answer)])
    rivals.run(folder, "otter", "generate", "-t", "tests", "-o", "autograder.zip", "four_checks.py")
    arguments = ("run", "--autograder", "autograder.zip", "attention.ipynb")
    rivals.run(folder, "otter", *arguments)
    tests = json.loads((folder / "results.json").read_text(encoding="utf-8"))["tests"]
    _full_marks(sum(test.get("score", 0) for test in tests))
    one, several = (rivals.command(folder, "python", "loop.py", str(count)) for count in (1, 1 + more))
    return [
        Way("run, a process each", rivals.command(folder, "otter", *arguments), goal=200),
        Way("its Python API, one more in a process", several, one, more),
    ]


RIVALS: dict[str, Callable[[Environment, Path, str], list[Way]]] = {
    "gradescope-utils": gradescope_utils,
    "nbgrader": nbgrader,
    "otter-grader": otter_grader,
}


def _full_marks(score: float) -> None:
    """A figure for a grader that did not grade would mean nothing."""
    if score != len(CHECKS):
        raise RuntimeError(f"gave {score} of {len(CHECKS)} points for a right answer")


def _answer(source: str) -> dict[str, Any]:
    return _cell("answer", source, solution=True)


def _check(name: str) -> dict[str, Any]:
    source = f"import four_checks\n\nfour_checks.{name}(scaled_dot_product_attention)"
    return _cell(name, source, grade=True, locked=True, points=1)


def _cell(name: str, source: str, **roles: Any) -> dict[str, Any]:
    """A code cell with nbgrader's metadata, schema 3."""
    none = {"solution": False, "grade": False, "locked": False, "task": False}
    metadata = {"nbgrader": {"grade_id": name, "schema_version": 3, **none, **roles}}
    return {
        "id": name,
        "cell_type": "code",
        "execution_count": None,
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def _write(path: Path, cells: list[dict[str, Any]]) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook), encoding="utf-8")
