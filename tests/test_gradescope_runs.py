"""Whole runs as Gradescope makes them, from the zip to the results: each behaves as the service's harness would."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.places.gradescope import build, harness
from grader.places.gradescope.harness import Ran
from grader.places.gradescope.tree import Tree
from tests import course
from tests.gradescope_service import accepted, previous, submitted, user

SETTINGS = (
    course.SETTINGS.replace("total_seconds = 6", "total_seconds = 3") + "\n[late]\ndeduction = 0.1\nattempts = 2\n"
)
HIDDEN = course.HIDDEN.replace('@points(2, hint="Work', '@points(2, visibility="after_due_date", hint="Work')
WRONG = "def double(x):\n    return x * 3\n"
CRASHING = "def double(x):\n    return x.no_such_thing\n"
HANGING = "def double(x):\n    while True:\n        pass\n"
HOSTILE = """
import json, os, sys

NAMES = ("../results/results.json", "course/solutions/double/test_hidden.py", "course/.course-secret", "setup.sh")

def double(x):
    print(dict(os.environ))
    for folder in sys.path:
        for name in NAMES:
            try:
                print(open(os.path.join(folder, name)).read())
            except OSError:
                print("no luck with", name)
    try:
        if os.fork() == 0:
            os.setsid()
            while True:
                json.dump({"score": 1000}, open(os.path.join(sys.path[0], NAMES[0]), "w"))
    except OSError:
        print("no luck with fork")
    print('{"score": 1000}')
    sys.stdout.flush()
    os._exit(0)
"""
TREE_TIMEOUT = 60.0


@dataclass(frozen=True)
class Service:
    """An image that has been built once; each run gets fresh folders, as a container does."""

    tree: Tree
    python: Path

    def run(self, text: str, *, timeout: float = TREE_TIMEOUT, **metadata: Any) -> tuple[Ran, dict[str, Any]]:
        work = self.tree.root.parent / "work"
        work.mkdir(exist_ok=True)
        (work / "double.py").write_text(text)
        harness.lay_out(self.tree, work, submitted(**metadata))
        ran = harness.start(self.tree, self.python, timeout)
        assert ran.raw is not None, ran.stdout
        results = accepted(ran.raw)
        assert ran.left_running == 0
        return ran, results


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """What Gradescope builds from the zip, where every user may pass through as there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        course.make(folder / "course", settings=SETTINGS, hidden=HIDDEN)
        build.build(folder / "course", "double", output=folder / "autograder.zip")
        tree = Tree(folder / "autograder")
        assert harness.unpack(folder / "autograder.zip", tree) == []
        yield Service(tree, harness.set_up(tree))


@pytest.fixture(scope="module")
def wrong(service: Service) -> dict[str, Any]:
    """The results of a first, wrong submission."""
    return service.run(WRONG)[1]


@pytest.fixture
def checks(service: Service) -> Iterator[Path]:
    """The file of hidden checks in the image; a test may change it."""
    path = service.tree.root / "source" / "course" / "solutions" / "double" / "test_hidden.py"
    before = path.read_bytes()
    yield path
    path.write_bytes(before)


def passed(results: dict[str, Any]) -> set[str]:
    return {test["extra_data"]["id"] for test in results["tests"] if test["status"] == "passed"}


@pytest.mark.slow
def test_the_whole_rehearsal_as_a_command(tmp_path: Path) -> None:
    """`grader gradescope simulate` on right work prints what student and staff see, and exits with 0."""
    course.make(tmp_path / "course", settings=SETTINGS, hidden=HIDDEN)
    build.build(tmp_path / "course", "double", output=tmp_path / "a.zip")
    (tmp_path / "double.py").write_text(course.RIGHT)
    done = subprocess.run(
        [sys.executable, "-m", "grader", "gradescope", "simulate", tmp_path / "a.zip", tmp_path / "double.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "setup.sh was not run",
        "Autograder score: not shown while a test is hidden",
        "✓ 1.1) Each value is doubled (3/3)",
        "Autograder score: 10",
        "[after_due_date]",
        "results.json is valid.",
    ):
        assert words in done.stdout
    assert "as it was" not in done.stdout.partition("staff see besides")[0]


@pytest.mark.slow
def test_right_work_gets_everything(service: Service) -> None:
    """All points; a group of three is one submission; the run stays within the smallest container."""
    due = "2026-02-03T23:59:00.000000-08:00"
    ran, results = service.run(course.RIGHT, users=[user(name, due) for name in ("ada", "bo", "cy")])
    assert (results["score"], ran.exit_status, ran.timed_out) == (10, 0, False)
    assert passed(results) == {"values", "values[gpu]", "input", "sizes"}
    assert ran.peak_mb < 600
    secret = (service.tree.root / "source" / "course" / ".course-secret").read_text().strip()
    assert secret not in ran.stdout + ran.raw.decode()  # type: ignore[union-attr]


@pytest.mark.slow
def test_wrong_work_is_told_what_is_wrong(wrong: dict[str, Any]) -> None:
    """The checks that fail say why; the others keep their points."""
    assert wrong["score"] == 6
    assert passed(wrong) == {"input", "sizes"}
    assert "should be" in wrong["tests"][0]["output"]


@pytest.mark.slow
def test_the_same_work_gets_the_same_results(service: Service, wrong: dict[str, Any]) -> None:
    """A second run of the same submission differs in nothing but the seconds."""

    def timeless(results: dict[str, Any]) -> str:
        tests = [{**test, "extra_data": None} for test in results["tests"]]
        return json.dumps({**results, "tests": tests, "execution_time": 0})

    assert timeless(service.run(WRONG)[1]) == timeless(wrong)


@pytest.mark.slow
def test_crashing_work_is_told_where(service: Service) -> None:
    """An exception costs the points, and the line is shown."""
    _, results = service.run(CRASHING)
    assert results["score"] == 0
    assert "double.py" in results["output"]


@pytest.mark.slow
def test_hanging_work_ends_by_our_own_limits(service: Service) -> None:
    """A loop that never ends costs the student the points, and nobody waits for the service's deadline."""
    ran, results = service.run(HANGING)
    assert (results["score"], ran.timed_out) == (0, False)
    assert ran.seconds < 30
    assert "loop that never ends" in json.dumps(results)
    assert {test["extra_data"]["status"] for test in results["tests"]} == {"failed"}


@pytest.mark.slow
def test_hostile_work_gets_nothing(service: Service) -> None:
    """Neither a forged result nor a look at the hidden checks, and what it started is gone at the end."""
    ran, results = service.run(HOSTILE)
    assert results["score"] == 0
    assert "no luck with course/.course-secret" in ran.stdout
    assert "no luck with fork" in ran.stdout
    for words in ("torch.randn(3, 4)", "SUBMISSION_URL", "apt-get", "our side"):
        assert words not in ran.stdout


@pytest.mark.slow
def test_an_empty_submission_is_told_what_to_hand_in(service: Service) -> None:
    """A folder without code is no mistake of ours: zero points, and the file that is asked for."""
    work = service.tree.root.parent / "empty"
    work.mkdir(exist_ok=True)
    harness.lay_out(service.tree, work, submitted())
    ran = harness.start(service.tree, service.python, TREE_TIMEOUT)
    results = accepted(ran.raw or b"")
    assert results["score"] == 0
    assert "double.py" in results["output"]
    assert "our side" not in results["output"]


@pytest.mark.slow
def test_late_work_loses_points_by_the_metadata(service: Service) -> None:
    """Two started days at a tenth each, whenever the run takes place; the checks keep their points."""
    _, results = service.run(course.RIGHT, created_at="2026-02-05T01:30:00.250000-08:00")
    assert results["score"] == pytest.approx(8)
    assert len(passed(results)) == 4


@pytest.mark.slow
def test_a_second_submission_sees_what_changed_and_a_third_is_not_graded(
    service: Service, wrong: dict[str, Any]
) -> None:
    """Two attempts count here: the second is compared with the first, the third gets back the second's result."""
    _, second = service.run(course.RIGHT, previous_submissions=[previous(1, wrong)])
    assert "Now right: “Each value is doubled”" in second["output"]
    ran, third = service.run(WRONG, previous_submissions=[previous(1, wrong), previous(2, second)])
    assert third["score"] == 10
    assert "You handed in 3 times" in third["output"]
    assert "over the limit" in ran.stdout


@pytest.mark.slow
def test_a_global_timeout_leaves_the_results_of_the_checks_that_ended(service: Service, checks: Path) -> None:
    """A check of ours that never ends costs itself and those after it, and they are our fault."""
    checks.write_text(
        HIDDEN.replace('"""Any size works."""', '"""Any size works."""\n    import time\n    time.sleep(600)')
    )
    ran, results = service.run(course.RIGHT, timeout=20)
    assert not ran.timed_out
    assert results["score"] == 6
    assert passed(results) == {"values", "values[gpu]", "input"}
    assert results["tests"][-1]["extra_data"]["status"] == "error"
    assert "our side" in results["output"]


@pytest.mark.slow
def test_a_broken_assignment_is_our_fault(service: Service, checks: Path) -> None:
    """Results are valid and say that the mistake is not the student's, and staff read in the log what broke."""
    checks.write_text("def (")
    ran, results = service.run(course.RIGHT)
    assert "not on yours" in results["output"]
    assert results["extra_data"]["status"] == "error"
    assert "test_hidden.py could not be collected" in ran.stdout
