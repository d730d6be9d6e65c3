"""The marker turns what checks find into results that are fair, complete and repeatable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import reports
import torch
from torch import Tensor

from grader import answers, explained, staff
from grader.answers import fits
from grader.call import Call, Failure
from grader.causes import EXPLAINED, reason_of
from grader.collected import Check
from grader.diagnosis import crashes
from grader.diagnosis.contract import Verdict
from grader.entry import Entry
from grader.errors import AssignmentError
from grader.marker import Marker
from grader.pages.render import Renderer
from grader.reporting import Circumstances
from grader.results import CheckResult, DiagnosisResult, Report
from grader.sandbox.fake import FakeSandbox
from grader.submission import SourceFile, Submission
from tests import course


def mark(
    tmp_path: Path,
    function: Callable[..., Any],
    *,
    circumstances: Circumstances = course.CIRCUMSTANCES,
    text: str = course.RIGHT,
    **parts: str,
) -> Report:
    """The report on a function, marked with the tiny assignment."""
    assignment = course.make(tmp_path, **parts)
    submission = Submission(id="ada", files=[SourceFile("double.py", text.encode())])
    reports: list[Report] = []
    Marker(assignment, staff.load(assignment), FakeSandbox(function), circumstances).run([submission], reports.append)
    return reports[0]


def statuses(report: Report) -> dict[str, str]:
    return {check.id: check.status for check in report.checks}


def test_right_work_gets_everything(tmp_path: Path) -> None:
    """A right function passes every check and gets all the points."""
    report = mark(tmp_path, lambda x: x + x)
    assert set(statuses(report).values()) == {"passed"}
    assert (report.score, report.max_score, report.status) == (10, 10, "graded")


def test_a_wrong_answer_costs_its_check_only(tmp_path: Path) -> None:
    """A wrong number fails the check of values, on both devices, and says where."""
    report = mark(tmp_path, lambda x: x * 3)
    assert statuses(report) == {"values": "failed", "values[gpu]": "failed", "input": "passed", "sizes": "passed"}
    assert report.score == 6
    assert "should be" in report.checks[0].message
    assert report.checks[0].pictures[0].expected


def test_a_failing_case_is_named_and_the_others_are_tried(tmp_path: Path) -> None:
    """A check of several cases says which failed and how many."""
    report = mark(tmp_path, lambda x: x.new_zeros(2) if x.shape == (7,) else x + x)
    sizes = report.checks[-1]
    assert sizes.status == "failed"
    assert sizes.message.startswith("Size 7:")
    assert "1 of 3" in sizes.message


@pytest.mark.parametrize(
    "wrong", ["student(x, x)", "student()", "student(x, y=2)", "student(y=x)", "student.later(x, x)()"]
)
def test_a_call_that_nobody_could_take_is_our_fault(tmp_path: Path, wrong: str) -> None:
    """A check that passes other arguments than the assignment's function has costs no student a point."""
    hidden = course.HIDDEN.replace("student(torch.randn(5))", f"x = torch.randn(5); {wrong}")
    report = mark(tmp_path, lambda x: x + x, hidden=hidden)
    assert statuses(report)["input"] == "error"
    broken = next(check for check in report.checks if check.id == "input")
    assert "mend the check" in broken.detail
    assert report.status == "error"


def test_one_form_of_answer_is_one_reason(tmp_path: Path) -> None:
    """Checks that all fail because of what is returned share their reason, whatever the shapes and cases were."""
    report = mark(tmp_path, lambda x: (x + x,))
    failed = [check for check in report.checks if check.status == "failed"]
    assert len(failed) == 4
    assert len({check.message for check in failed}) > 1
    assert len({reason_of(check) for check in failed}) == 1


def test_a_hint_of_the_check_is_shown_when_the_failure_has_none(tmp_path: Path) -> None:
    """The hint given with the points reaches the student."""
    report = mark(tmp_path, lambda x: x.mul_(2))
    changed = next(check for check in report.checks if check.id == "input")
    assert (changed.status, changed.hint) == ("failed", "Work on a copy.")


def test_a_crash_shows_no_text_of_the_students(tmp_path: Path) -> None:
    """An exception's text could carry hidden inputs, so the student reads only its kind; staff read all."""

    def crash(x: Tensor) -> Tensor:
        raise ValueError("the hidden input is 42")

    report = mark(tmp_path, crash)
    assert all("42" not in check.message + check.hint for check in report.checks)
    assert "ValueError" in report.checks[0].message
    assert "42" in report.checks[0].detail


def test_a_broken_check_is_an_error_that_keeps_its_points(tmp_path: Path) -> None:
    """A bug in a check is never the student's zero: status `error`, same denominator, staff see why."""
    report = mark(tmp_path, lambda x: x + x, hidden=course.HIDDEN.replace("student(torch.randn(5))", "1 / 0"))
    broken = next(check for check in report.checks if check.id == "input")
    assert (broken.status, broken.score, broken.max_score) == ("error", 0, 2)
    assert "ZeroDivisionError" in broken.detail
    assert (report.status, report.max_score) == ("error", 10)


def test_a_check_that_asks_nothing_can_not_pass(tmp_path: Path) -> None:
    """A pass needs evidence: a check that never calls the function is an error of ours."""
    report = mark(
        tmp_path, lambda x: x + x, hidden=course.HIDDEN + "\n\n@points(1)\ndef test_nothing(student):\n    pass\n"
    )
    assert statuses(report)["nothing"] == "error"


def test_the_cpu_run_skips_gpu_checks_with_the_reason(tmp_path: Path) -> None:
    """With --device cpu the GPU check is skipped, says why, and stays in the denominator."""
    report = mark(tmp_path, lambda x: x + x, circumstances=Circumstances(b"s" * 16, "A", "none"))
    skipped = next(check for check in report.checks if check.id == "values[gpu]")
    assert (skipped.status, report.score, report.max_score) == ("skipped", 9, 10)
    assert "CPU" in skipped.message


def test_skipped_gpu_points_are_spread_when_the_assignment_says_so(tmp_path: Path) -> None:
    """`without_device = "redistribute"`: right work gets full marks without an accelerator."""
    settings = 'without_device = "redistribute"\n' + course.SETTINGS
    report = mark(tmp_path, lambda x: x + x, circumstances=Circumstances(b"s" * 16, "A", "none"), settings=settings)
    assert report.score == pytest.approx(10)
    assert report.max_score == pytest.approx(10)


def test_unreadable_work_is_a_row_with_the_same_denominator(tmp_path: Path) -> None:
    """A file that holds no code gets zero of the same total, and the reason."""
    report = mark(tmp_path, lambda x: x, text="")
    assert (report.score, report.max_score) == (0, 10)
    assert report.problem


def test_the_same_work_gets_the_same_report(tmp_path: Path) -> None:
    """Marked twice, in whatever order, a submission gets the same report but for times."""
    assignment = course.make(tmp_path)
    loaded = staff.load(assignment)
    work = [
        Submission(id=name, files=[SourceFile("double.py", (course.RIGHT + f"# {name}\n").encode())]) for name in "abc"
    ]
    seen: list[dict[str, list[str]]] = []
    for order in (work, work[::-1]):
        reports: list[Report] = []
        wrong = FakeSandbox(lambda x: x * 2.001)
        Marker(assignment, loaded, wrong, course.CIRCUMSTANCES).run(order, reports.append)
        seen.append({report.submission.id: [check.message for check in report.checks] for report in reports})
    assert seen[0] == seen[1]
    assert len({tuple(messages) for messages in seen[0].values()}) == 3, "each submission has inputs of its own"


TWO_OF_ONE_NAME = """
import pytest

from grader.checks import points


@points(1)
@pytest.mark.parametrize("n", [2, "2"])
def test_x(student, n):
    pass
"""


@pytest.mark.parametrize(
    ("hidden", "words"),
    [
        ("def test_x(student):\n    pass\n", "has no points"),
        ("import nothing_of_that_name\n", "could not be collected"),
        ("x = 1\n", "holds no checks"),
        (TWO_OF_ONE_NAME, r"another check called 'x\[2\]'"),
    ],
)
def test_checks_that_can_not_be_used_are_one_clear_error(tmp_path: Path, hidden: str, words: str) -> None:
    """A mistake in the hidden checks stops the run with the file and the reason, before anybody is graded."""
    with pytest.raises(AssignmentError, match=words) as caught:
        mark(tmp_path, lambda x: x, hidden=hidden)
    assert "test_hidden.py" in str(caught.value)


def test_only_the_folder_of_the_checks_has_a_part_in_them(tmp_path: Path) -> None:
    """A conftest.py beside the checks is theirs; one higher up, as a course's own tests may have, changes no mark."""
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not meant for the checks')\n")
    (tmp_path / "solutions" / "double").mkdir(parents=True)
    beside = "import pytest\n\n@pytest.fixture\ndef factor():\n    return 2\n"
    (tmp_path / "solutions" / "double" / "conftest.py").write_text(beside)
    hidden = course.HIDDEN.replace("def test_values(student,", "def test_values(factor, student,")
    report = mark(tmp_path, lambda x: x + x, hidden=hidden.replace("reference(x)", "factor * x"))
    assert (report.score, report.status) == (10, "graded")


@pytest.mark.parametrize(
    ("output", "returns", "right"),
    [
        (torch.zeros(2, 3), ["y"], True),
        (torch.zeros(2, 3), ["a", "b"], False),
        ((torch.zeros(1), torch.zeros(1)), ["a", "b"], True),
        ([torch.zeros(1), torch.zeros(1)], ["a", "b"], True),
        ((torch.zeros(1), None), ["a", "b"], False),
        ((torch.zeros(1),), ["y"], False),
        (None, ["y"], False),
    ],
)
def test_the_form_of_an_answer_is_never_guessed(output: object, returns: list[str], right: bool) -> None:
    """A batch of two is not a pair, a pair with a hole is no pair, and a tuple of one is no tensor."""
    assert fits(output, returns) is right


def test_what_a_limit_stopped_shares_its_reason_and_a_line_tells_more() -> None:
    """Calls that a time-out left no time for belong to it; of two crashes at two lines each is its own."""
    stopped, starved = Failure("timeout", "", ""), Failure("timeout", "total", "")
    assert answers.reason(stopped) == answers.reason(starved) != ""
    assert "a loop that never ends" in answers.explain(starved)
    assert answers.reason(Failure("memory", "", "", reports.MASK_LINE)) == ""
    assert answers.reason(Failure("exception", "KeyError", "", reports.MASK_LINE)) == ""


def test_calls_that_fail_before_any_line_of_the_work_share_one_reason() -> None:
    """An argument that the function does not take is one thing to mend, not one for each check."""
    assert answers.reason(Failure("exception", "TypeError", "a")) == answers.reason(
        Failure("exception", "TypeError", "b")
    )
    assert answers.reason(Failure("exception", "TypeError", "")) != answers.reason(Failure("timeout", "", ""))


def test_a_refused_part_of_the_library_is_named_in_our_words(tmp_path: Path) -> None:
    """The student reads what is not allowed and why; a class of theirs with the same name is an error of its own."""

    class Forbidden(RuntimeError):
        pass

    def refused(x: Tensor) -> Tensor:
        raise Forbidden("Your code uses multiply of the PyTorch library. That is not allowed here.")

    def own(x: Tensor) -> Tensor:
        raise Forbidden("the hidden input is 42")

    settings = 'from_scratch = ["multiply"]\n' + course.SETTINGS
    message = mark(tmp_path / "a", refused, settings=settings).checks[0].message
    assert "uses multiply of the PyTorch library" in message
    assert "write it yourself" in message
    assert "an error of its own kind" in mark(tmp_path / "b", own, settings=settings).checks[0].message


def test_many_failing_cases_are_counted_and_a_symbol_keeps_its_letter(tmp_path: Path) -> None:
    """Four further cases are named, and the number of the others; d_k is not D_k."""
    hidden = course.HIDDEN.replace("(1, 2, 7)", "range(1, 9)").replace("size {size}", "d_k = {size}")
    sizes = mark(tmp_path, lambda x: x.new_zeros(9), hidden=hidden).checks[-1]
    assert sizes.message.startswith("d_k = 1: ")
    for name in ("mask=...", "float64", "n = 3"):
        given = hidden.replace("d_k = {size}", name)
        assert mark(tmp_path / name, lambda x: x.new_zeros(9), hidden=given).checks[-1].message.startswith(f"{name}: ")
    assert sizes.message.endswith("Also not right: d_k = 2; d_k = 3; d_k = 4; d_k = 5 and 3 more.)")


CRASH = DiagnosisResult(misconceptions=["crash_shapes"], title="", explanation="", place=reports.MASK_LINE)


def failures(*fields: dict[str, Any]) -> tuple[list[CheckResult], list[Check]]:
    """Failed results with these fields, and their checks: each hints "guess", and one called "watched" is that."""
    results = [reports.check(at, passed=False, **one) for at, one in enumerate(fields)]
    checks = [
        Check(None, one.id, one.title, 1.0, "cpu", "visible", "guess", watched=one.message == "watched")  # type: ignore[arg-type]
        for one in results
    ]
    return results, checks


def test_a_hint_that_guesses_goes_where_the_cause_is_known() -> None:
    """The check's own hint is about some other cause; a hint of the failure itself stays, as does one about a side
    effect."""
    picture = [reports.weights_picture()]
    results, checks = failures(
        {"hint": "guess", "pictures": picture},
        {"hint": "about this failure", "pictures": picture},
        {"hint": "guess"},
    )

    def hints(verdict: Verdict, *diagnoses: DiagnosisResult) -> list[str]:
        return [one.hint for one in explained.marked(results, checks, diagnoses, verdict)]

    assert hints(Verdict()) == hints(Verdict(), CRASH) == ["guess", "about this failure", "guess"]
    assert hints(Verdict(), reports.MASK_LOST) == ["", "about this failure", "guess"]
    assert hints(Verdict(recognised=("swapped",))) == ["", "", ""]
    assert hints(Verdict(recognised=("swapped",), translated=True)) == ["guess", "about this failure", "guess"]


def test_only_the_failures_that_a_diagnosis_accounts_for_are_marked_so() -> None:
    """Numbers are; what a limit stopped and what looks at the operations is not, nor a crash with an explanation of its
    own. Another way of calling accounts for crashes too."""
    results, checks = failures({}, {"message": "watched"}, {"reason": "timeout"}, {"place": reports.MASK_LINE})

    def which(verdict: Verdict, *diagnoses: DiagnosisResult) -> list[bool]:
        return [one.reason == EXPLAINED for one in explained.marked(results, checks, diagnoses, verdict)]

    assert which(Verdict()) == which(Verdict(), CRASH) == [False] * 4
    assert which(Verdict(), reports.MASK_LOST) == which(Verdict(recognised=("x",))) == [True, False, False, True]
    assert which(Verdict(), reports.MASK_LOST, CRASH) == [True, False, False, False]
    assert which(Verdict(recognised=("x",), translated=True)) == [False] * 4


def test_a_crash_that_the_first_calls_met_is_told_once_as_what_happens_in_the_code() -> None:
    """A missing import is no other way of calling; what else the first calls met stays there."""
    entry = Entry(function="double", arguments=["x"], returns=["y"])
    failure = Failure("exception", "NameError", "name 'math' is not defined", reports.MASK_LINE)
    calls = [Call((), failure=failure)]
    crash = crashes.explain(failure, entry)
    assert crash is not None
    verdict = Verdict(f"The argument x is missing. {crash.title} at line 13. ...", reports.MASK_LINE)
    for diagnoses in ([], [crash]):
        assert explained.told(verdict, calls, diagnoses, entry) == ("The argument x is missing.", None, [crash])
    outside = msgspec.structs.replace(crash, place=None)
    assert explained.told(verdict, calls, [outside, reports.MASK_LOST], entry)[2] == [crash, reports.MASK_LOST]
    other = Verdict("The argument x is missing.", reports.MASK_LINE)
    assert explained.told(other, calls, [], entry) == (other.words, other.place, [])


BANK = """
from grader.misconception import Bank, Misconception


def y(x, *, factor=2):
    return x * factor


THREE = Misconception(id="three", title="3 times", explanation="", hint="", section="", knobs={"factor": 3})
BANK = Bank(arguments=("x",), returns=("y",), implementation=(y,), misconceptions=(THREE,))
"""


def broken(*arguments: object, **options: object) -> list[DiagnosisResult]:
    """A bug of ours."""
    raise KeyError("knob")


def test_a_bug_in_the_diagnosis_costs_the_explanation_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marks are what the checks gave; staff, and nobody else, read what broke and where."""
    monkeypatch.setattr("grader.diagnosis.again.diagnose", broken)
    report = mark(tmp_path, lambda x: x * 3, misconceptions=BANK)
    assert (report.status, report.score, report.diagnoses) == ("graded", 6, [])
    (flag,) = [flag for flag in report.flags if flag.id == "diagnosis-broke"]
    assert "KeyError in test_marker.py, line " in flag.message
    renderer = Renderer()
    assert "KeyError" in renderer.html(report, audience="staff")
    shown = renderer.html(report, audience="student") + renderer.markdown(report, audience="student")
    assert "KeyError" not in shown


def test_a_bug_in_the_diagnosis_is_an_error_where_the_mark_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With partial credit for a named slip nobody can say what the mark is."""
    monkeypatch.setattr("grader.diagnosis.again.diagnose", broken)
    settings = course.SETTINGS + "[partial_credit.three]\nvalues = 0.5\n"
    report = mark(tmp_path, lambda x: x * 3, misconceptions=BANK, settings=settings)
    assert (report.status, report.diagnoses) == ("error", [])
    assert "KeyError" in report.checks[0].detail
