"""Two runs beside each other: whose mark changed, which checks and which inputs made the change, and what to say."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.compare import UNEXPLAINED, Comparison, change, compare, note
from grader.compare_report import as_csv, as_html, show
from grader.errors import UsageError
from grader.pages.words import load_words
from grader.results import (
    Adjustment,
    CheckResult,
    EnvironmentInfo,
    Person,
    Report,
    RunInfo,
    SandboxInfo,
    SubmissionInfo,
    encode,
    total,
)
from grader.run_directory import RunDirectory, write

WORDS = load_words()
ROWS, HIDDEN = "Rows sum to 1", "A secret title"


def report(
    id: str = "ada",
    *,
    rows: float = 8,
    hidden: float = 2,
    digest: str = "d",
    people: tuple[Person, ...] = (),
    adjustments: tuple[Adjustment, ...] = (),
    status: str = "graded",
    **environment: Any,
) -> Report:
    """Two checks of 8 and 2 points; the second is never shown to students."""
    checks = [
        CheckResult(id="rows", title=ROWS, status="passed" if rows == 8 else "failed", score=rows, max_score=8),
        CheckResult(
            id="hidden",
            title=HIDDEN,
            status="passed" if hidden == 2 else "failed",
            score=hidden,
            max_score=2,
            visibility="hidden",
        ),
    ]
    facts = {"grader": "1", "torch": "2.13", "python": "3.11", "seed_id": "s", "assignment_digest": "a"} | environment
    return Report(
        assignment="attention",
        title="Attention",
        submission=SubmissionInfo(
            id=id, files=["a.py"], digest=digest, people=list(people or (Person(id=id, email=f"{id}@uni.example"),))
        ),
        status=status,  # type: ignore[arg-type]
        score=total(checks, list(adjustments)),
        max_score=10,
        checks=checks,
        adjustments=list(adjustments),
        sandbox=SandboxInfo(level="A", layers=[]),
        environment=EnvironmentInfo(**facts),
    )


def run(path: Path, *reports: Report, assignment: str = "attention") -> RunDirectory:
    """A run directory with these results."""
    made = RunDirectory(path)
    made.create()
    info = RunInfo(
        id=path.name,
        started="2026-03-02T10:00:00+00:00",
        seconds=1,
        assignment=assignment,
        title="Attention",
        grader="1",
        torch="2",
        python="3",
        seed_id="s",
        sandbox=SandboxInfo(level="A", layers=[]),
    )
    write(path / "run.json", msgspec.json.encode(info))
    for one in reports:
        write(made.result(one.submission.id), encode(one))
    return made


@pytest.mark.parametrize(
    ("after", "kinds"),
    [
        ({"digest": "e"}, ["work"]),
        ({"assignment_digest": "b"}, ["assignment"]),
        ({"seed_id": "t"}, ["secret"]),
        ({"torch": "2.14", "grader": "2"}, ["versions"]),
        ({"device": "cuda:0"}, ["device"]),
        ({"digest": "e", "seed_id": "t"}, ["work", "secret"]),
        ({}, ["unexplained"]),
    ],
)
def test_the_inputs_that_differ_are_named(after: dict[str, Any], kinds: list[str]) -> None:
    """Only what really differs between the two results can have made the change; nothing at all is an alarm."""
    found = change(report(rows=0), report(**after))
    assert list(found.causes) == kinds
    assert (found.difference, [check.id for check in found.checks]) == (8, ["rows"])


def test_versions_are_told_with_their_numbers() -> None:
    """Staff read which version became which."""
    found = change(report(rows=0), report(torch="2.14"))
    assert found.causes["versions"] == "versions: torch 2.13 → 2.14"


def reweighted(one: Report, **worth: float) -> Report:
    """The same result where checks are worth something else."""
    checks = [
        msgspec.structs.replace(
            check, max_score=(now := worth.get(check.id, check.max_score)), score=check.score / check.max_score * now
        )
        for check in one.checks
    ]
    whole = sum(check.max_score for check in checks)
    return msgspec.structs.replace(one, checks=checks, max_score=whole, score=total(checks, one.adjustments))


def test_a_mark_that_moves_with_the_points_of_checks_only_is_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither full marks nor a failed check: the new maximum is said once, with the checks that make it."""
    old = report("ada"), report("bob", rows=0), report("cy", rows=0)
    new = [reweighted(one, rows=10) for one in (report("ada"), report("bob", rows=0), report("cy"))]
    new = [msgspec.structs.replace(one, environment=report(assignment_digest="b").environment) for one in new]
    before, after = run(tmp_path / "a", *old), run(tmp_path / "b", *new)
    found = compare(before, after)
    assert ([one.submission for one in found.changed], found.shifted, found.rescaled) == (["cy"], [], 1)
    show(before.path, after.path)
    told = capsys.readouterr().out
    assert told.count("The maximum changed from 10 to 12. Points of checks: rows 8 → 10.") == 1
    assert "other marks: 1, more points: 1, fewer points: 0, moved with the points of checks only: 1" in told
    page = as_html(found, WORDS)
    assert "The maximum changed from 10 to 12" in page
    assert "2/10" in page
    assert "12/12" in page


def test_points_that_move_between_checks_are_told_where_the_maximum_stays(tmp_path: Path) -> None:
    """Who passes one of the two only gets another mark, and it is the author who moved it."""
    new = reweighted(report(rows=0), rows=9, hidden=1)
    found = compare(run(tmp_path / "a", report(rows=0)), run(tmp_path / "b", new))
    assert (found.changed, found.rescaled) == ([], 1)
    assert found.worth.in_words() == ["The maximum is 10 as before. Points of checks: rows 8 → 9, hidden 2 → 1."]


def test_a_check_that_is_new_or_gone_is_told_with_the_maximum(tmp_path: Path) -> None:
    """Who passes a new check has another mark; the line says what the check is worth."""
    one = report()
    fewer = msgspec.structs.replace(one, checks=one.checks[:1], score=8, max_score=8)
    found = compare(run(tmp_path / "a", fewer), run(tmp_path / "b", one))
    assert found.worth.in_words() == ["The maximum changed from 8 to 10. Points of checks: hidden new, 2."]
    assert [each.difference for each in found.changed] == [2]


def test_a_cause_is_said_once_although_staff_changed_another_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An adjustment has its own line; what made the changes of checks still stands below the table only."""
    bonus = Adjustment(kind="manual", points=1, reason="Shown.")
    old = report("ada", rows=0), report("bob", rows=0), report("cy", rows=0)
    new = report("ada", torch="2.14"), report("bob", torch="2.14"), report("cy", rows=0, adjustments=(bonus,))
    before, after = run(tmp_path / "a", *old), run(tmp_path / "b", *new)
    show(before.path, after.path)
    told = capsys.readouterr().out
    assert told.count("2.13 → 2.14") == 1
    assert "All changes of checks were made by: versions" in told


def test_an_adjustment_alone_blames_nothing_else() -> None:
    """The same checks with another deduction: the adjustment made it, whatever else is new."""
    late = Adjustment(kind="late", points=-3, reason="Handed in 1 day late.")
    found = change(report(adjustments=(late,)), report(torch="2.14"))
    assert (found.difference, list(found.causes), found.checks) == (3, ["adjustments"], ())


def test_checks_that_changed_without_a_cause_are_not_hidden_behind_an_adjustment() -> None:
    """A new adjustment does not explain why a check gives other points."""
    bonus = Adjustment(kind="manual", points=1, reason="Shown in class.")
    assert list(change(report(rows=0), report(adjustments=(bonus,))).causes) == ["unexplained", "adjustments"]


def test_runs_are_compared_by_submission_and_then_by_people(tmp_path: Path) -> None:
    """The same people under another file name are the same work; who is in one run only is listed."""
    bob = (Person(id="u2", name="Bob"),)
    before = run(tmp_path / "a", report("ada"), report("bob_1", rows=0, people=bob), report("eve"))
    after = run(tmp_path / "b", report("ada"), report("bob_2", digest="e", people=bob), report("zoe"))
    found = compare(before, after)
    assert [(one.submission, one.before, one.after) for one in found.changed] == [("bob_2", 2, 10)]
    assert (found.compared, found.only_before, found.only_after) == (2, ["eve"], ["zoe"])


def test_the_same_mark_made_of_other_checks_is_counted(tmp_path: Path) -> None:
    """Two changes that cancel are no change of the mark, but they are told."""
    same = msgspec.structs.replace(report(rows=6, digest="e"), score=10)
    found = compare(run(tmp_path / "a", report()), run(tmp_path / "b", same))
    assert (len(found.changed), len(found.shifted)) == (0, 1)


def test_runs_of_two_assignments_are_refused(tmp_path: Path) -> None:
    """There is nothing to compare."""
    with pytest.raises(UsageError, match="two runs of one assignment"):
        compare(run(tmp_path / "a"), run(tmp_path / "b", assignment="other"))


def test_the_note_tells_the_student_and_keeps_hidden_checks_hidden() -> None:
    """What the mark was and is, why it was graded again, and points of shown checks by their titles."""
    bonus = Adjustment(kind="manual", points=0.5, reason="Shown in class.")
    found = change(report(rows=0, hidden=0), report(assignment_digest="b", adjustments=(bonus,)))
    assert note(found, "Attention", WORDS) == (
        "Your mark for “Attention” was 0 points and is now 10.5 of 10 points.\n"
        "The checks of this assignment were changed, and everybody's work was graded again.\n"
        "“Rows sum to 1”: points before: 0, now: 8.\n"
        "Checks that are not shown: points before: 0, now: 2.\n"
        "This is new (+0.5 points): Shown in class."
    )


def test_nobody_is_told_of_a_mark_that_a_fault_of_ours_leaves_open() -> None:
    """While a check is broken there is no note; when it was mended, the note says so."""
    assert note(change(report(), report(rows=0, status="error")), "Attention", WORDS) == ""
    assert "mistake on its side" in note(change(report(rows=0, status="error"), report()), "Attention", WORDS)


@pytest.fixture
def two(tmp_path: Path) -> tuple[RunDirectory, RunDirectory]:
    hostile = (Person(id="=cmd", name="<script>alert(1)</script>", email="e@uni.example"),)
    before = run(tmp_path / "a", report("ada", rows=0), report("eve", hidden=0, people=hostile), report("same"))
    after = run(
        tmp_path / "b",
        report("ada", torch="2.14"),
        report("eve", torch="2.14", digest="e", people=hostile),
        report("same", torch="2.14"),
    )
    return before, after


def test_the_table_says_common_causes_once(
    two: tuple[RunDirectory, RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    """What made all changes stands below the table; what made one stands in its line."""
    show(two[0].path, two[1].path)
    told = capsys.readouterr().out
    assert "All of these changes were made by: versions: torch 2.13 → 2.14" in told
    assert told.count("2.13 → 2.14") == 1
    assert "other files were handed in" in " ".join(told.split())
    assert "compared: 3, other marks: 2, more points: 2, fewer points: 0" in told


def test_the_csv_has_a_line_a_person_and_no_formula(two: tuple[RunDirectory, RunDirectory]) -> None:
    """Old mark, new mark, checks, causes and note, with harmless cells."""
    rows = list(csv.DictReader(io.StringIO(as_csv(compare(*two), WORDS))))
    assert [row["change"] for row in rows] == ["8", "2"]
    assert (rows[0]["id"], rows[0]["checks"], rows[0]["why"]) == ("ada", "rows 0 → 8", "versions: torch 2.13 → 2.14")
    assert rows[1]["id"] == "'=cmd"
    assert rows[0]["note"].startswith("Your mark for “Attention” was 2 points")


def test_the_page_shows_the_change_and_runs_nothing(two: tuple[RunDirectory, RunDirectory]) -> None:
    """Names are text, the content policy allows no script, each change has its note."""
    page = as_html(compare(*two), WORDS)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src &#39;none&#39;" in page
    assert "Rows sum to 1: 0 → 8" in page
    assert page.count("Your mark for “Attention”") == 2


def test_an_unexplained_change_stands_out() -> None:
    """The page marks it, and the figures count it."""
    one = change(report(rows=0), report())
    page = as_html(Comparison("Attention", "a", "b", 1, [one], [], [], []), WORDS)
    assert UNEXPLAINED in page
    assert "<dt>without a cause</dt><dd>1</dd>" in page
