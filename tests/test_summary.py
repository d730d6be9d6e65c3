"""What is right, what to mend first, and who may see what."""

from __future__ import annotations

import msgspec
import pytest
import reports

from grader.grades import grade
from grader.pages.summary import Phase, is_shown, number, state, summary
from grader.pages.words import load_words
from grader.results import Adjustment, CheckResult, DiagnosisResult, Report
from grader.sheets.export import comment

WORDS = load_words()


@pytest.mark.parametrize(
    ("visibility", "phases"),
    [
        ("visible", ["before_due", "after_due", "published"]),
        ("after_due_date", ["after_due", "published"]),
        ("after_published", ["published"]),
        ("hidden", []),
    ],
)
def test_a_student_sees_a_check_only_from_its_phase_on_and_staff_always(visibility: str, phases: list[str]) -> None:
    """Each visibility opens at its own moment; `hidden` never does."""
    check = reports.check(0, visibility=visibility)
    every: list[Phase] = ["before_due", "after_due", "published"]
    assert [phase for phase in every if is_shown(check, "student", phase)] == phases
    assert all(is_shown(check, "staff", phase) for phase in every)


def test_full_marks_leave_nothing_to_fix() -> None:
    """A right submission reads as right."""
    made = summary(reports.right(), WORDS)
    assert (made.state, made.score, made.max_score, made.fix) == ("right", "100", "100", None)
    assert "All 15 checks passed" in made.right
    assert made.note == WORDS["fix_none"]


def test_what_is_right_names_the_passed_checks_that_are_worth_most() -> None:
    """Praise is concrete: it quotes titles, and a check that runs on two devices is named once."""
    assert summary(reports.wrong(), WORDS).right == (
        "9 of 15 checks passed, among them: “Each row of the attention weights sums to 1” and "
        "“The output and the weights have the right shapes”."
    )


def test_the_diagnosis_is_the_first_thing_to_fix() -> None:
    """When we know what the student believed, that comes before any single check, with its line if it has one."""
    known = msgspec.structs.replace(reports.MASK_LOST, place=reports.MASK_LINE)
    fix = summary(msgspec.structs.replace(reports.wrong(), diagnoses=[known]), WORDS).fix
    assert fix is not None
    assert fix.title == reports.MASK_LOST.title
    assert fix.text == reports.MASK_LOST.hint
    assert fix.place == reports.MASK_LINE


SWAPPED = "Your function returns the values in another order."


def test_another_way_of_calling_comes_before_a_crash_that_follows_from_it_and_before_a_shared_cause() -> None:
    """What the first calls recognised explains all the rest, in pages, sheets and the table alike."""
    crash = DiagnosisResult(misconceptions=["crash_gradient_shape"], title="Another shape", explanation="...")
    for diagnoses in ([], [crash]):
        report = msgspec.structs.replace(reports.crashed(), conventions=[SWAPPED], diagnoses=diagnoses)
        fix = summary(report, WORDS).fix
        assert fix is not None
        assert (fix.title, fix.text) == (WORDS["fix_convention"], SWAPPED)
        assert grade(report).reason == SWAPPED
        assert SWAPPED in comment(report, WORDS, phase="published", html=False)


def test_another_way_of_calling_that_was_translated_is_not_to_be_mended_first() -> None:
    """It cost nothing or little; the diagnosis is about what is still wrong."""
    assert reports.wrong().translated
    fix = summary(reports.wrong(), WORDS).fix
    assert fix is not None
    assert fix.title == grade(reports.wrong()).reason == reports.MASK_LOST.title


def test_the_table_names_a_fault_of_ours_as_one() -> None:
    """Staff see at once whose mistake it is."""
    assert "grader's side" in grade(reports.fault()).reason
    assert grade(reports.right()).reason == ""


def test_one_cause_of_many_failures_is_named_as_one() -> None:
    """A crash that fails fourteen checks is one thing to fix, not fourteen."""
    fix = summary(reports.crashed(), WORDS).fix
    assert fix is not None
    assert fix.title == "14 checks are not right for the same reason"
    assert "K.T" in fix.text


def test_checks_that_stop_at_one_line_are_one_cause_whatever_each_says_about_it() -> None:
    """Each check names its own case; the line is the same. Their hints are about other things, so none is given."""
    slow = reports.check(9, passed=False, message="it did not finish")
    checks = [
        reports.check(at, passed=False, message=f"case {at}: it stopped", hint=f"hint {at}", place=reports.MASK_LINE)
        for at in range(5)
    ]
    fix = summary(reports.report([slow, *checks]), WORDS).fix
    assert fix is not None
    assert (fix.title, fix.hint) == ("5 checks are not right for the same reason", "")


ENDLESS = "Your function did not finish in time and was stopped. Look for a loop that never ends."


def starved(*, crashes: int) -> Report:
    """Some checks stopped at a known line, one ran into a time-out, and the rest found no time left."""
    stopped = [reports.check(at, passed=False, message="m", place=reports.MASK_LINE) for at in range(crashes)]
    late = reports.check(crashes, passed=False, message=f"No mask: {ENDLESS}", reason="timeout")
    rest = [reports.check(at, passed=False, message="No time left.", reason="timeout") for at in range(crashes + 1, 10)]
    crash = msgspec.structs.replace(reports.MASK_LOST, place=reports.MASK_LINE)
    return reports.report([*stopped, late, *rest], diagnoses=[crash] if crashes else [])


@pytest.mark.parametrize("crashes", [0, 3])
def test_a_time_out_is_the_cause_of_all_that_it_leaves_no_time_for(crashes: int) -> None:
    """The loop is to be mended, in pages and sheets, not that later calls found no time; a known crash that stopped
    fewer checks can wait."""
    fix = summary(starved(crashes=crashes), WORDS).fix
    assert fix is not None
    assert fix.title == f"{10 - crashes} checks are not right for the same reason"
    assert ENDLESS in fix.text
    assert ENDLESS in grade(starved(crashes=crashes)).reason


def test_a_crash_that_stopped_more_checks_than_a_time_out_comes_first() -> None:
    """What explains most is mended first."""
    fix = summary(starved(crashes=6), WORDS).fix
    assert fix is not None
    assert fix.title == reports.MASK_LOST.title


def test_a_single_failure_is_named_by_its_title() -> None:
    """Without a diagnosis the first failed check, in the author's order, is the one to mend."""
    checks = [
        reports.check(0),
        reports.check(4, passed=False, message="m4"),
        reports.check(6, passed=False, message="m6"),
    ]
    fix = summary(reports.report(checks), WORDS).fix
    assert fix is not None
    assert fix.title == "Not right yet: With a causal mask, no query looks at a later key"
    assert fix.text == "m4"


def test_work_that_could_not_be_loaded_says_why_and_where() -> None:
    """The reason comes first; the sentence of praise still says something true."""
    made = summary(reports.unread(), WORDS)
    assert made.state == "problem"
    assert made.right == "Your work arrived: attention.py."
    assert made.fix is not None
    assert "colon is missing" in made.fix.text
    assert made.fix.place is not None
    assert made.fix.place.line == 8


def test_nothing_handed_in_is_not_called_code_that_fails() -> None:
    """A person of the roster without files is missing, in words that say so, and is no graded row of a sheet."""
    made = summary(reports.absent(), WORDS)
    assert made.state == "missing"
    assert made.right == WORDS["right_nothing"]
    assert made.fix is not None
    assert made.fix.title == WORDS["fix_problem_missing"]
    assert grade(reports.absent()).status == "missing"


def test_work_of_which_no_file_can_be_read_was_handed_in_all_the_same() -> None:
    """A damaged zip is no empty seat."""
    damaged = msgspec.structs.replace(reports.absent(), problem="bob.zip is not a zip.")
    made = summary(damaged, WORDS)
    assert made.state == "problem"
    assert made.right == WORDS["right_unread"]
    assert grade(damaged).status == "graded"


def test_our_own_mistake_is_never_given_to_the_student_to_fix() -> None:
    """A grader fault says whose fault it is."""
    made = summary(reports.fault(), WORDS)
    assert made.state == "fault"
    assert made.fix is not None
    assert "mistake on our side" in made.fix.text


def test_a_check_that_may_not_be_seen_yet_is_never_mentioned() -> None:
    """Neither the failure, nor its title, nor the diagnosis that it led to reaches the student early."""
    checks = [reports.check(0), reports.check(4, passed=False, message="secret", visibility="after_published")]
    report = reports.report(checks, diagnoses=[reports.MASK_LOST])
    early = summary(report, WORDS, phase="before_due")
    assert early.fix is None
    assert early.note == WORDS["fix_only_unseen"]
    assert early.right == WORDS["right_seen_one"]  # and not that the function does what it should
    late = summary(report, WORDS, phase="published")
    assert late.fix is not None
    assert late.fix.title == reports.MASK_LOST.title


def test_points_lost_to_lateness_alone_are_explained() -> None:
    """Full checks but not full score: the note says where to look."""
    late = reports.report([reports.check(0)], adjustments=[Adjustment(kind="late", points=-1, reason="One day.")])
    assert summary(late, WORDS).note == WORDS["fix_only_changes"]


def test_a_skipped_check_without_points_does_not_spoil_a_right_submission() -> None:
    """No accelerator is not the student's mistake."""
    skipped: CheckResult = reports.check(1, passed=False, status="skipped", max_score=0.0)
    assert state(reports.report([reports.check(0), skipped])) == "right"


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (2.5, "2.5"), (2 / 3, "0.67"), (0.0, "0"), (-0.001, "0"), (100.0, "100"), (-5.0, "-5")],
)
def test_points_are_written_as_people_write_them(value: float, text: str) -> None:
    """No trailing zeros, no minus zero."""
    assert number(value) == text
