"""GitHub Classroom: a template repository with the public checks in it, and results as its reporter reads them.

Students can change everything in their repository, the workflow included. So only public checks are there, and the
mark comes from `grader grade` on the clones. Sources: README and source of classroom-resources/
autograding-grading-reporter, version 1.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

from grader import assignment as assignments
from grader import staff
from grader.assignment import SETTINGS, Assignment
from grader.collect import Checks, collect
from grader.errors import UsageError
from grader.pages.render import Renderer, environment
from grader.pages.summary import number
from grader.pages.words import BUILT_IN
from grader.places import bundle, single
from grader.results import CheckResult, Report
from grader.text import clean

SECONDS = 600.0
HOME = ".github/grader"
"""Where the grader lies in a student's repository. Intake knows that nothing below .github/ is work."""
STATUS = {"passed": "pass", "failed": "fail", "error": "error", "skipped": "fail"}
SECRET = b"public checks have no secrets"
MOST_MESSAGE = 500


def build(root: Path, name: str, output: Path | None, *, torch_index: str = "", include: tuple[Path, ...] = ()) -> Path:
    """Write the files of the template repository into a new folder, and return it.

    Raises UsageError when the folder exists, or when something would go along that is no part of the assignment.
    """
    assignment = assignments.load(name, root)
    target = output or root / "build" / f"github-{name}"
    bundle.write_folder(target, contents(assignment, torch_index=torch_index, include=include))
    return target


def contents(assignment: Assignment, *, torch_index: str = "", include: tuple[Path, ...] = ()) -> bundle.Files:
    """The files of the template repository: the public half at its root, the grader and the workflow out of the way."""
    torch, others = bundle.requirements()
    public = bundle.public_half(assignment, include)
    engine = environment([BUILT_IN])
    engine.filters["quote"] = shlex.quote
    workflow = engine.get_template("github_classroom/classroom.yml.j2").render(
        name=assignment.name, torch=torch, index=torch_index, runners=[runner(id) for id in public_checks(assignment)]
    )
    own = {**bundle.grader_files(), **public, "requirements.txt": ("\n".join(others) + "\n").encode()}
    return {
        ".github/workflows/classroom.yml": f"{workflow}\n".encode(),
        **{f"{HOME}/{path}": data for path, data in own.items()},
        **{Path(path).name: data for path, data in public.items() if not path.endswith(SETTINGS)},
    }


def public_checks(assignment: Assignment) -> list[str]:
    """The ids of the public checks. Raises AssignmentError when they can't be collected."""
    ids: list[str] = []
    work = lambda checks: ids.extend(check.id for check in checks.checks)  # noqa: E731
    collect(assignment.public_checks, Checks(staff.no_reference, work))
    return ids


def run(root: Path, name: str, folder: Path, *, output: Path | None = None, summary: Path | None = None) -> str:
    """Run the public checks on the work in `folder`; what to print.

    `output` and `summary` are the files that GitHub names in GITHUB_OUTPUT and GITHUB_STEP_SUMMARY. Raises UsageError
    when there is no such folder, or they can't be written.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder. Give the one that holds the student's repository.")
    report = single.mark(
        single.Task(
            assignment=assignments.load(name, root),
            folder=folder,
            secret=lambda: SECRET,
            deadline=time.monotonic() + SECONDS,
            floor="C",  # the machine is the student's own for this run, and holds nothing of ours
            public=True,
        )
    )
    if output is not None:
        lines = [f"{runner(check.id)}={encoded(check)}\n" for check in report.checks]
        _append(output, "".join(lines))
    if summary is not None:
        _append(summary, Renderer().markdown(report, audience="student"))
    return printed(report)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}. GitHub names it; look at the workflow.") from None


def runner(check_id: str) -> str:
    """The id of a check as the name of a runner: its own entry in the reporter's table, so that points add up."""
    return re.sub(r"[^a-z0-9]+", "-", check_id.lower()).strip("-")


def encoded(check: CheckResult) -> str:
    """One check as the output of a runner."""
    return base64.b64encode(json.dumps(result(check), allow_nan=False).encode()).decode()


def result(check: CheckResult) -> dict[str, Any]:
    """The JSON of a runner with this one test. Its points and its table row come to the same only for one test."""
    words = check.message + (f" Hint: {check.hint}" if check.hint else "")
    return {
        "version": 1,
        "status": STATUS[check.status],
        "max_score": _whole(check.max_score),
        "tests": [
            {
                "name": clean(check.title, 200),
                "status": STATUS[check.status],
                "score": _whole(check.score),
                "message": clean(words, MOST_MESSAGE),
                "test_code": "",
                "filename": "",
                "line_no": 0,
                "duration": check.seconds,
            }
        ],
    }


def printed(report: Report) -> str:
    """The log of the step. GitHub obeys lines that start with "::", after spaces too, so a rule stands before each."""
    lines = [
        f"{number(report.score)} of {number(report.max_score)} points in the public checks. They are not the mark."
    ]
    if report.problem:
        lines.append(clean(report.problem, 1000))
    for check in report.checks:
        lines.append(f"{'passed' if check.status == 'passed' else 'not yet'}: {clean(check.title, 200)}")
        if check.message and not report.problem:
            lines.append(clean(check.message, 1000))
    return "\n".join(f"│ {line}" for line in "\n".join(lines).split("\n"))


def _whole(points: float) -> float:
    """3 rather than 3.0, which the reporter prints as it is."""
    return int(points) if points == int(points) else round(points, 3)
