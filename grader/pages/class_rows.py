"""What the class page keeps of each report: one light row, so that a class of thousands fits in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.pages.summary import State, state
from grader.pages.view import people_words
from grader.results import Report
from grader.text import clean

MARKS = {"passed": "p", "failed": "f", "error": "e", "skipped": "s"}


@dataclass(frozen=True)
class Row:
    """What the page keeps of one report: under a kilobyte, so that 10,000 fit in memory easily."""

    id: str
    name: str
    search: str
    """Ids and sections, for the filter."""
    score: float
    share: float
    """score / max_score"""
    state: State
    marks: str
    """One letter of MARKS a check, in the order of the page's checks; a space where it was not there."""
    points: tuple[float, ...]
    misconceptions: tuple[str, ...]
    flags: tuple[str, ...]
    changed: float
    seconds: float


@dataclass
class Class:
    """The rows, and what the checks and misconceptions are called."""

    rows: list[Row] = field(default_factory=list)
    checks: dict[str, tuple[str, float, str]] = field(default_factory=dict)
    """id -> (title, max_score, "cpu", "gpu" or "emulated"), in the order in which they were met"""
    titles: dict[str, str] = field(default_factory=dict)
    max_score: float = 0.0

    def add(self, report: Report) -> None:
        for check in report.checks:
            device = "emulated" if check.emulated else check.device
            self.checks.setdefault(check.id, (clean(check.title, 300), check.max_score, device))
        by_id = {check.id: check for check in report.checks}
        here = [by_id.get(id) for id in self.checks]
        for found in report.diagnoses:
            if len(found.misconceptions) == 1:
                self.titles.setdefault(found.misconceptions[0], clean(found.title, 200))
        self.max_score = max(self.max_score, report.max_score)
        people = report.submission.people
        self.rows.append(
            Row(
                id=report.submission.id,
                name=people_words(report),
                search=clean(" ".join(part for p in people for part in (p.id, p.section) if part), 300),
                score=report.score,
                share=report.score / report.max_score if report.max_score else 0.0,
                state=state(report),
                marks="".join(MARKS[check.status] if check else " " for check in here),
                points=tuple(check.score if check else 0.0 for check in here),
                misconceptions=tuple(dict.fromkeys(id for found in report.diagnoses for id in found.misconceptions)),
                flags=tuple(dict.fromkeys(clean(flag.id, 80) for flag in report.flags)),
                changed=sum(change.points for change in report.adjustments),
                seconds=report.seconds,
            )
        )
