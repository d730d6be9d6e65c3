"""A template repository that gives nothing away, and results that Classroom's reporter adds up rightly."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

from grader.assignment import Assignment
from grader.errors import UsageError
from grader.places import github_classroom
from grader.results import Report
from tests import course, reports


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    return course.make(tmp_path / "course")


def reported(results: list[dict[str, Any]]) -> tuple[float, float, float, str]:
    """What the reporter makes of runners: points, maximum, the points that its table shows, and the job's ending."""
    points = sum(test["score"] for one in results if one["max_score"] for test in one["tests"])
    maximum = sum(one["max_score"] for one in results)
    table = sum(
        one["max_score"] * sum(test["status"] == "pass" for test in one["tests"]) / len(one["tests"]) for one in results
    )
    endings = {one["status"] for one in results}
    return points, maximum, table, "fail" if "fail" in endings else "error" if "error" in endings else "pass"


def decoded(text: str) -> dict[str, Any]:
    return json.loads(base64.b64decode(text))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("make", "ending"),
    [(reports.right, "pass"), (reports.wrong, "fail"), (reports.unread, "fail"), (reports.fault, "fail")],
)
def test_points_and_table_agree(make: Any, ending: str) -> None:
    """The points that go to Classroom, those in the printed table and those of the report are the same."""
    report: Report = make()
    results = [decoded(github_classroom.encoded(check)) for check in report.checks]
    whole = sum(check.score for check in report.checks)
    assert reported(results) == (whole, report.max_score, whole, ending)


def test_each_result_has_the_keys_that_the_reporter_reads() -> None:
    """A version, a status, a maximum and one test; points are whole where they can be."""
    made = github_classroom.result(reports.wrong().checks[4])
    assert set(made) == {"version", "status", "max_score", "tests"}
    assert made["tests"][0]["name"] == "With a causal mask, no query looks at a later key"
    assert "Hint: A masked score" in made["tests"][0]["message"]
    assert made["tests"][0]["line_no"] == 0
    assert isinstance(made["max_score"], int)


def test_the_workflow_fits_the_reporter(assignment: Assignment) -> None:
    """The names that the reporter insists on, and one runner for each check with its own variable and output."""
    text = github_classroom.contents(assignment, torch_index="https://wheels.example/cpu")[
        ".github/workflows/classroom.yml"
    ].decode()
    workflow = yaml.safe_load(text)
    assert workflow["name"] == "Autograding Tests"
    (name, job), *others = workflow["jobs"].items()
    assert (name, others) == ("run-autograding-tests", [])
    *_, checks, report = job["steps"]
    runners = report["with"]["runners"].split(",")
    assert runners == ["values", "values-gpu", "input", "sizes"]
    assert report["env"] == {
        f"{runner.upper()}_RESULTS": "${{ steps.%s.outputs.%s }}" % (checks["id"], runner)  # noqa: UP031
        for runner in runners
    }
    assert "torch==2.13.0' --index-url https://wheels.example/cpu" in text


def test_the_template_holds_nothing_of_the_staff(tmp_path: Path, assignment: Assignment) -> None:
    """Starter, handout and public checks at the root; the grader below .github; no reference, no hidden check."""
    (assignment.public / "README.md").write_text("Double it.")
    (assignment.public / "double.py").write_text("def double(x): ...\n")
    folder = github_classroom.build(tmp_path / "course", "double", tmp_path / "template")
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith(".github/")} == {"README.md", "double.py", "test_double.py"}
    everything = b"".join(files.values())
    for path in assignment.staff.iterdir():
        assert path.read_bytes() not in everything
    assert not any("solutions/" in name or name.endswith(".course-secret") for name in files)
    with pytest.raises(UsageError, match="exists already"):
        github_classroom.build(tmp_path / "course", "double", folder)


def test_no_line_of_the_log_is_a_command_to_github() -> None:
    """GitHub obeys lines of a log that start with "::", also after spaces; a rule stands before every line."""
    made = github_classroom.printed(reports.hostile())
    assert "::error::" in made
    assert all(line.startswith("│ ") for line in made.split("\n"))


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".py", ".ipynb"])
def test_a_repository_is_graded_as_the_workflow_does_it(tmp_path: Path, assignment: Assignment, ending: str) -> None:
    """A script or a notebook beside the untouched starter: outputs for every runner, and a summary for the student."""
    (assignment.public / "double.py").write_text("def double(x):\n    raise NotImplementedError\n")
    repository = github_classroom.build(tmp_path / "course", "double", tmp_path / "repository")
    if ending == ".py":
        (repository / "double.py").write_text(course.RIGHT)
    else:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(course.RIGHT)])
        nbformat.write(notebook, repository / "double.ipynb")
    output, summary = tmp_path / "output", tmp_path / "summary"
    done = subprocess.run(
        [sys.executable, "-m", "grader", "--root", repository / ".github" / "grader", "github-classroom", "run",
         "double", repository, "--output", output, "--summary", summary],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert list(lines) == ["values", "values-gpu", "input", "sizes"]
    assert reported([decoded(text) for text in lines.values()]) == (10, 10, 10, "pass")
    assert "10 of 10 points" in summary.read_text()
