"""`grader gradescope simulate`: a run as on Gradescope, and then who sees what of it."""

from __future__ import annotations

import contextlib
import html
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from grader.errors import UsageError
from grader.pages.summary import number
from grader.places.gradescope import harness
from grader.places.gradescope.harness import Ran
from grader.places.gradescope.tree import Tree
from grader.places.gradescope.validate import validate
from grader.rules.times import parse_time
from grader.text import clean

NOT_REHEARSED = (
    "Not rehearsed: setup.sh was not run (it needs the network and changes the machine), and there is no limit of "
    "CPU or memory."
)
_TAG = re.compile(r"<[^>]*>")
_BLOCK = re.compile(r"</(?:p|pre|li|ul)>|<br ?/?>")


def simulate(
    archive: Path,
    submission: Path,
    *,
    metadata: Path | None = None,
    timeout: float = 600.0,
    keep: Path | None = None,
) -> int:
    """Run and print. The exit status: 0 when Gradescope would take the results, 1 when it would not.

    Raises UsageError for a zip, a submission or a metadata file that can't be read.
    """
    console = Console(highlight=False)
    with _folder(keep) as folder:
        tree = Tree(folder / "autograder")
        problems = harness.unpack(archive, tree)
        if problems:
            raise UsageError(f"{archive} can't work on Gradescope. {' '.join(problems)}")
        told = _metadata(metadata)
        python = harness.set_up(tree)
        harness.lay_out(tree, submission, told)
        console.print(f"run_autograder runs with {harness.python_in_words()} and the grader in the zip.")
        console.print(NOT_REHEARSED)
        ran = harness.start(tree, python, timeout)
        return show(console, ran, told)


def show(console: Console, ran: Ran, told: dict[str, Any]) -> int:
    """Print what came of a run, for the student and for staff."""
    problems, results = validate(ran.raw)
    if ran.timed_out:
        problems.insert(0, "run_autograder was stopped at the deadline; Gradescope throws its results away.")
    if ran.left_running:
        problems.append(f"{ran.left_running} processes were still running when run_autograder had ended.")
    console.rule("the student sees")
    for line in student(results, told) if results else ["The autograder failed to execute correctly."]:
        console.print(line, soft_wrap=True, markup=False)
    console.rule("staff see besides")
    for line in staff(results):
        console.print(line, soft_wrap=True, markup=False)
    console.print(Panel(escape(clean(ran.stdout, 20_000)) or "(nothing)", title="output of run_autograder"))
    console.rule("the run")
    console.print(f"{ran.seconds:.1f} s, exit status {ran.exit_status}, peak memory {ran.peak_mb:.0f} MB")
    for problem in problems:
        console.print(f"[red]Problem:[/] {escape(problem)}")
    if not problems:
        console.print("results.json is valid.")
    return 1 if problems else 0


def student(results: dict[str, Any], told: dict[str, Any]) -> Iterator[str]:
    """The page of a student, at the time of the submission and before the grades are published."""
    tests = results.get("tests") or []
    default = results.get("visibility") or "visible"
    shown = [test for test in tests if _shown(test.get("visibility") or default, told)]
    if len(shown) == len(tests):
        yield f"Autograder score: {number(score(results))} / {_total(told, tests)}"
    else:
        yield "Autograder score: not shown while a test is hidden"
    if results.get("output"):
        yield plain(str(results["output"]), results.get("output_format") or "simple_format")
    for test in sorted(shown, key=_place):
        yield from _test(test, results)
    if _shown(results.get("stdout_visibility") or "hidden", told):
        yield "(and all that run_autograder printed)"


def staff(results: dict[str, Any] | None) -> Iterator[str]:
    """What a student does not see: the total, hidden tests, `extra_data`."""
    if results is None:
        return
    yield f"Autograder score: {number(score(results))}"
    for test in results.get("tests") or []:
        if (test.get("visibility") or "visible") != "visible":
            yield f"[{test['visibility']}]"
            yield from _test(test, results)
    yield f"extra_data: {json.dumps(results.get('extra_data'), ensure_ascii=False)}"


def score(results: dict[str, Any]) -> float:
    """The score as Gradescope takes it: the one at the top, else the sum of the tests'."""
    if results.get("score") is not None:
        return float(results["score"])
    return float(sum(test.get("score") or 0 for test in results.get("tests") or []))


def plain(text: str, form: str) -> str:
    """HTML as lines of text; anything else as it is."""
    if form not in ("html", "simple_format"):
        return text
    return html.unescape(_TAG.sub("", _BLOCK.sub("\n", text))).strip()


def _test(test: dict[str, Any], results: dict[str, Any]) -> Iterator[str]:
    points = f" ({number(test['score'])}/{number(test['max_score'])})" if "score" in test else ""
    mark = "✓" if test.get("status") == "passed" else "✗"
    yield f"{mark} {test.get('number', '')}) {test.get('name', '')}{points}"
    form = test.get("output_format") or results.get("test_output_format") or "text"
    if test.get("output"):
        yield "\n".join(f"      {line}" for line in plain(str(test["output"]), form).split("\n"))


def _place(test: dict[str, Any]) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", str(test.get("number", "")))]


def _shown(visibility: str, told: dict[str, Any]) -> bool:
    if visibility != "after_due_date":
        return visibility == "visible"
    assignment = told.get("assignment") or {}
    due = parse_time(assignment.get("late_due_date") or assignment.get("due_date"))
    now = parse_time(told.get("created_at"))
    return due is not None and now is not None and now > due


def _total(told: dict[str, Any], tests: list[dict[str, Any]]) -> str:
    points = (told.get("assignment") or {}).get("total_points")
    return number(float(points)) if points else number(sum(test.get("max_score") or 0 for test in tests))


def _metadata(path: Path | None) -> dict[str, Any]:
    """The file, or a submission of today that is in time."""
    if path is None:
        return invented(datetime.now(timezone.utc).astimezone())
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"--metadata: {path} can't be read: {error}.") from None
    if not isinstance(data, dict):
        raise UsageError(f"--metadata: {path} should hold an object, as Gradescope's submission_metadata.json does.")
    return data


def invented(now: datetime) -> dict[str, Any]:
    """The metadata of a first submission by one student, a day before it is due."""

    def stamp(moment: datetime) -> str:
        return moment.isoformat(timespec="microseconds")

    dates = {"release_date": stamp(now - timedelta(days=7)), "due_date": stamp(now + timedelta(days=1))}
    return {
        "id": 1,
        "created_at": stamp(now),
        "assignment_id": None,
        "submission_method": "upload",
        "assignment": {"id": 1, "course_id": 1, "title": "Rehearsal", **dates, "late_due_date": None},
        "users": [{"id": 1, "name": "Sam Sample", "email": "sam@uni.example", "sid": "u0001", "assignment": dates}],
        "previous_submissions": [],
    }


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        if keep.exists():
            raise UsageError(f"--keep: {keep} exists already. Name a folder that does not exist yet.")
        keep.mkdir(parents=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="gradescope-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as /: a student's process may pass through
        yield folder
