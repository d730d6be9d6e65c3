"""PrairieLearn's external grading: from /grade to /grade/results/results.json.

Source: docs/externalGrading.md of PrairieLearn. There is no visibility of single tests there, so a check that students
must not see yet counts in the score and is not listed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

from grader import assignment as assignments
from grader import clean_start, secret
from grader.assignment import Assignment
from grader.errors import UsageError
from grader.pages.check_view import count_words
from grader.pages.heatmap import figure, grid
from grader.pages.render import environment
from grader.pages.summary import is_shown, summary
from grader.pages.words import BUILT_IN, Words, load_words
from grader.places import bundle, single
from grader.places.png import data_url
from grader.results import CheckResult, Report
from grader.run_directory import write
from grader.text import clean

SECONDS = 60.0
"""PrairieLearn's own limit is 30 s unless info.json says otherwise; build writes one that does."""
RESERVE_SECONDS = 5.0
MOST_BYTES = 900_000
"""Of results.json; PrairieLearn takes 1 MB."""
MOST_TEXT = 20_000
MOST_PICTURES = 3
"""Of one test."""


def run(root: Path, name: str, folder: Path, *, seconds: float = SECONDS, floor: str = "B") -> None:
    """Grade `folder`/student into `folder`/results/results.json.

    `seconds` is the timeout that info.json gives. A fault of ours makes the attempt "not gradable", which costs the
    student nothing; it is raised as GraderFault (UsageError for a configuration) once that is written.
    """
    started = time.monotonic()
    if not folder.is_dir():
        raise UsageError(f"{folder} is not there. This command is for the image that PrairieLearn runs.")
    path = folder / "results" / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    words = load_words()
    save(path, not_gradable(f"{words['fix_fault']}. {words['fix_fault_text']}"))
    if not (folder / "student").is_dir():
        raise UsageError(f"{folder / 'student'} is not there, so {folder} is not as PrairieLearn lays it out.")
    for private in ("data", "tests", "results"):
        with contextlib.suppress(OSError):
            os.chmod(folder / private, 0o700)  # noqa: PTH101
    report = single.mark(
        single.Task(
            assignment=assignments.load(name, root),
            folder=folder / "student",
            secret=lambda: secret.course_secret(root, clean_start.given_secret()),
            deadline=started + max(1.0, seconds - RESERVE_SECONDS),
            floor=floor,
        )
    )
    save(path, results(report, words))


def save(path: Path, made: dict[str, Any]) -> None:
    """Replace the file in one step."""
    write(path, json.dumps(made, allow_nan=False, ensure_ascii=False))


def not_gradable(reason: str) -> dict[str, Any]:
    """No points won or lost, no attempt used up."""
    return {"gradable": False, "format_errors": [reason], "message": reason}


def results(report: Report, words: Words) -> dict[str, Any]:
    """The file's contents. Until it is small enough, pictures and then numbers are left out, the last ones first."""
    if report.status == "error":
        return not_gradable(f"{words['fix_fault']}. {words['fix_fault_text']}")
    if report.problem:
        return not_gradable(clean(report.problem, MOST_TEXT))
    shown = [check for check in report.checks if is_shown(check, "student", "before_due")]
    made: dict[str, Any] = {
        "gradable": True,
        "score": min(1.0, max(0.0, report.score / report.max_score)) if report.max_score else 0.0,
        "message": _message(report, words, len(report.checks) - len(shown)),
        "output": "",
        "tests": [test(check, words) for check in shown],
    }
    too_much = len(json.dumps(made)) - MOST_BYTES
    for part in ("images", "output"):
        for one in reversed(made["tests"]):
            if too_much > 0:
                too_much -= len(json.dumps(one.pop(part, "")))
    return made


def test(check: CheckResult, words: Words) -> dict[str, Any]:
    """One check with its pictures, once as pictures and once as numbers."""
    figures = [figure(picture, words) for picture in check.pictures[:MOST_PICTURES]]
    where = words["on_gpu_emulated" if check.emulated else "on_gpu"] if check.device != "cpu" else ""
    said = [words["error_words"] if check.status == "error" else check.message]
    said += [f"{words['hint']}: {check.hint}"] if check.hint else []
    output = [f"{words['tried']}: {check.tried}"] if check.tried and check.status != "passed" else []
    for one in figures:
        output.append(f"{one.title}. {one.worst}")
        output += [f"{words[panel.name]}:\n{grid(panel, one.row_numbers, one.column_numbers)}" for panel in one.panels]
        output.append(f"{one.axes} {words['legend_text']}")
    made: dict[str, Any] = {
        "name": clean(f"{check.title} ({where})" if where else check.title, 300),
        "description": "",
        "points": round(check.score, 3),
        "max_points": round(check.max_score, 3),
        "message": clean("\n".join(part for part in said if part), MOST_TEXT),
        "output": clean("\n\n".join(output), MOST_TEXT),
    }
    if figures:
        made["images"] = [{"label": clean(one.title, 200), "url": data_url(one)} for one in figures]
    return made


def _message(report: Report, words: Words, unseen: int) -> str:
    top = summary(report, words, phase="before_due")
    parts = [top.right]
    if top.fix:
        parts.append(f"{words['fix']}: {top.fix.title}. {top.fix.text} {top.fix.hint}".strip())
    for found in report.diagnoses[:1]:
        parts.append(found.explanation)
    told = top.fix.text if top.fix else ""
    parts += [*(text for text in report.conventions if text != told), *(change.reason for change in report.adjustments)]
    if unseen:
        points = sum(c.max_score for c in report.checks if not is_shown(c, "student", "before_due"))
        parts.append(count_words(words, "unseen", unseen, points=f"{points:g}"))
    return clean("\n\n".join(parts), MOST_TEXT)


# --- what goes to PrairieLearn ---


def build(root: Path, name: str, output: Path | None, *, torch_index: str = "", include: tuple[Path, ...] = ()) -> Path:
    """Write an image's Dockerfile, a folder for serverFilesCourse, and an example of info.json; their folder.

    Raises UsageError when it exists, or when something would go along that is no part of the assignment.
    """
    assignment = assignments.load(name, root)
    target = output or root / "build" / f"prairielearn-{name}"
    files = contents(root, assignment, torch_index=torch_index, include=include)
    bundle.write_folder(target, files, executable=[path for path in files if path.endswith("run.sh")])
    return target


def contents(
    root: Path, assignment: Assignment, *, torch_index: str = "", include: tuple[Path, ...] = ()
) -> bundle.Files:
    """Path -> contents. What lies below serverFilesCourse/ is for staff only, also on PrairieLearn."""
    torch, others = bundle.requirements()
    engine = environment([BUILT_IN])
    engine.filters["quote"] = shlex.quote
    values = {"name": assignment.name, "torch": torch, "index": torch_index, "seconds": int(timeout(assignment))}
    made = {
        target: (engine.get_template(f"prairielearn/{template}").render(values) + "\n").encode()
        for template, target in (
            ("Dockerfile.j2", "Dockerfile"),
            ("info.json.j2", "question/info.json"),
            ("run.sh.j2", "serverFilesCourse/pytorch_grader/run.sh"),
        )
    }
    course = {**bundle.public_half(assignment, include), **bundle.staff_half(assignment, include)}
    course[secret.FILE] = secret.derived(root, f"prairielearn/{assignment.name}")
    inner = {**bundle.grader_files(), **{f"course/{path}": data for path, data in course.items()}}
    return {
        **made,
        "requirements.txt": ("\n".join(others) + "\n").encode(),
        **{f"serverFilesCourse/pytorch_grader/{path}": data for path, data in inner.items()},
    }


def timeout(assignment: Assignment) -> float:
    """Seconds for info.json: the submission's own, and what a start takes on a slow machine. At most 600."""
    return min(600.0, assignment.settings.limits.total_seconds + 40.0)
