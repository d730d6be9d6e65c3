"""Whole classes with known marks: what `make grade` shows is right, for every assignment of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from instructor import follow

from grader import intake, sample_class
from grader.assignment import SAMPLE_CLASS, load
from grader.authoring.new import new
from grader.errors import AssignmentError
from grader.results import Adjustment, CheckResult, DiagnosisResult, EnvironmentInfo, Report, SandboxInfo
from grader.results import SubmissionInfo as Info
from grader.run_directory import RunDirectory
from grader.sample_class import Listed
from tests import class_runs, course

ROOT = Path(__file__).parent.parent
NAMES = sorted(path.parent.name for path in (ROOT / "solutions").glob(f"*/{SAMPLE_CLASS}"))


def graded(name: str, out: Path, root: Path = ROOT) -> dict[str, Report]:
    """id -> result, from a whole run of the command with a secret of its own; each is what is listed for it."""
    grade = ["grade", name, str(root / "solutions" / name / "sample_class"), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "grader", "--root", str(root), *grade],
        env=os.environ | {"GRADER_SECRET": "a secret for the sample classes"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {report.submission.id: report for report in RunDirectory(out).reports()}


def report(
    *, id: str = "ada", rows: str = "passed", named: str = "", adjustments: tuple[Adjustment, ...] = ()
) -> Report:
    """A result of two checks of 8 and 2 points; the second fails."""
    ended = {"rows": (rows, 8), "eps": ("failed", 2)}
    checks = [
        CheckResult(id=id, title=id, status=status, score=worth * (status == "passed"), max_score=worth)  # type: ignore[arg-type]
        for id, (status, worth) in ended.items()
    ]
    diagnoses = [DiagnosisResult(misconceptions=[named], title="", explanation="")] if named else []
    return Report(
        assignment="double",
        title="Double",
        submission=Info(id=id, files=[], digest=""),
        status="graded",
        score=3,
        max_score=10,
        checks=checks,
        diagnoses=diagnoses,
        adjustments=list(adjustments),
        sandbox=SandboxInfo(level="A", layers=[]),
        environment=EnvironmentInfo(grader="1", torch="2", python="3", seed_id="s"),
    )


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (Listed(8, ["eps"]), []),
        (Listed(9, ["eps"]), ["the score listed is 9; it got 8"]),
        (Listed(8), ["failed, and not listed as that: eps"]),
        (Listed(8, "all"), ["listed as failed, and passed: rows"]),
        (Listed(8, ["eps", "epps"]), ["there is no check epps, which is listed as failed"]),
        (Listed(8, ["eps"], ["idea"]), []),
        (Listed(8, ["eps"], ["another"]), ["the misconception listed is another; the one found is idea"]),
    ],
)
def test_each_difference_is_told_with_what_is_listed_and_what_came_out(listed: Listed, words: list[str]) -> None:
    """Score, checks and misconceptions are compared one by one."""
    assert sample_class.differences({"ada": listed}, [report(named="idea")]) == ({"ada": words} if words else {})


@pytest.mark.parametrize(("status", "words"), [("error", "broken, which is a fault"), ("skipped", "left out: rows")])
def test_a_check_that_did_not_decide_is_no_pass(status: str, words: str) -> None:
    """What broke or was left out is told apart from what failed."""
    found = sample_class.differences({"ada": Listed(0, ["eps"])}, [report(rows=status)])
    assert [line for line in found["ada"] if words in line]


def test_who_is_in_one_of_the_two_only_is_told() -> None:
    """A misspelled name in the list shows on both sides."""
    found = sample_class.differences({"adda": Listed(8, ["eps"])}, [report()])
    assert found == {"adda": ["listed, and not graded"], "ada": ["graded, and not listed"]}


def test_decisions_of_staff_are_no_surprise() -> None:
    """The list says what the checks give: points given by hand change no comparison."""
    given = (Adjustment(kind="manual", points=1, reason="Told me"), Adjustment(kind="partial", points=1, reason="slip"))
    assert sample_class.differences({"ada": Listed(9, ["eps"])}, [report(adjustments=given)]) == {}


def test_a_slip_in_the_list_is_refused(tmp_path: Path) -> None:
    """A key that does not exist would else be a demand that nobody checks."""
    assignment = course.make(tmp_path)
    (assignment.staff / SAMPLE_CLASS).write_text("[ada]\nscore = 8\nfaild = ['eps']\n")
    with pytest.raises(AssignmentError, match=r"sample_class.toml: ada: .*'faild' here. Did you mean 'failed'\?"):
        sample_class.read(assignment)


@pytest.mark.slow
def test_the_command_says_whether_the_class_got_what_is_listed(tmp_path: Path) -> None:
    """All as listed is one line; a wrong score is told with both numbers, and the exit status is 1."""
    assignment = course.make(tmp_path)
    handed_in = assignment.staff / "sample_class"
    handed_in.mkdir()
    (handed_in / "ada.py").write_text(course.RIGHT)
    for score, status, words in ((10, 0, "Each of the 1 got what"), (9, 1, "ada: the score listed is 9; it got 10")):
        (assignment.staff / SAMPLE_CLASS).write_text(f"[ada]\nscore = {score}\n")
        done = class_runs.run(class_runs.command(tmp_path, handed_in, tmp_path / "run"))
        assert (done.returncode, words in done.stdout) == (status, True), done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_the_table_names_every_submission(name: str) -> None:
    """No made-up submission is without an expected mark, and no mark is without its submission."""
    folder = ROOT / "solutions" / name / "sample_class"
    found = intake.scan((folder,), load(name, ROOT).settings)
    assert {entry.id for entry in found.entries} == set(sample_class.read(load(name, ROOT)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_mark_is_the_one_in_the_table(name: str, tmp_path: Path) -> None:
    """Score, failed checks and named misconceptions are as expected, and no check of ours breaks."""
    assert sample_class.differences(sample_class.read(load(name, ROOT)), graded(name, tmp_path).values()) == {}


@pytest.mark.slow
@pytest.mark.parametrize("make", [follow, lambda root: new("layer_norm", root)], ids=["the page's", "a new one's"])
def test_the_first_class_of_an_instructor_gets_its_marks(make: Callable[[Path], object], tmp_path: Path) -> None:
    """The assignment that the documentation builds, and the one that `grader new` writes, grade as they say."""
    make(tmp_path)
    results = graded("layer_norm", tmp_path / "run", tmp_path)
    assert sample_class.differences(sample_class.read(load("layer_norm", tmp_path)), results.values()) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_second_run_gives_the_same_marks(name: str, tmp_path: Path) -> None:
    """Grading the same class again changes no score, no status and no message."""
    first, second = ({key: kept(result) for key, result in graded(name, tmp_path / run).items()} for run in "ab")
    assert first == second


def kept(result: Report) -> object:
    """What must not differ between two runs: everything of a check but its time."""
    checks = [msgspec.structs.replace(check, seconds=0.0) for check in result.checks]
    return result.score, checks, result.diagnoses, result.flags, result.problem
