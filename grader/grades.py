"""Who got what, in a line: for the table on the terminal and for `grades.csv`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from grader.causes import likeliest
from grader.results import Person, Report, Struct
from grader.sheets import sheet as sheet_cells
from grader.text import clean

COLUMNS = ("submission", "id", "name", "email", "section", "score", "max_score", "status", "reason", "submitted_at")
FAULT = "A check broke on the grader's side: grade again once it is mended."


class Grade(Struct, frozen=True, kw_only=True):
    """One submission's line. `reason` is the likeliest cause of what was lost, in words."""

    submission: str
    people: list[Person]
    score: float
    max_score: float
    status: str
    """"graded"; "error" when the grader failed; "missing" for a person of the roster who handed nothing in."""
    failed: list[str]
    """Ids of the checks that did not pass."""
    reason: str
    submitted_at: str = ""

    @property
    def name(self) -> str:
        named = [person.name or person.id for person in self.people]
        return clean(", ".join(named) or self.submission, 80)


def grade(report: Report) -> Grade:
    """The line of a report."""
    failed = [check for check in report.checks if check.status in ("failed", "error")]
    cause = likeliest(report, report.checks)
    prices = [change.reason for change in report.adjustments if change.kind == "convention"]
    reason = (FAULT if cause.kind == "fault" else cause.brief) if cause else next(iter(prices), "")
    return Grade(
        submission=report.submission.id,
        people=report.submission.people,
        score=report.score,
        max_score=report.max_score,
        status="missing" if report.absent else report.status,
        failed=[check.id for check in failed],
        reason=clean(reason, 300),
        submitted_at=report.submission.submitted_at,
    )


def sheet(grades: Iterable[Grade]) -> str:
    """`grades.csv`: one line a person, members of a group each on their own. Cells that a spreadsheet would run as
    formulas are quoted."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in grades:
        for person in one.people or [Person(id=one.submission)]:
            words = (one.submission, person.id, person.name, person.email, person.section)
            numbers = (f"{one.score:g}", f"{one.max_score:g}")
            rest = (one.status, one.reason, one.submitted_at)
            writer.writerow([*map(harmless, words), *numbers, *map(harmless, rest)])
    return text.getvalue()


def harmless(cell: str) -> str:
    """The cell, with an apostrophe before what a spreadsheet would take for a formula."""
    return sheet_cells.harmless(clean(cell, 1000))
