"""What the class page keeps of each report: one light row, so that a class of thousands fits in memory."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field

from grader.causes import EXPLAINED
from grader.pages.summary import Device, State, device_of, state
from grader.pages.view import people_words
from grader.results import Report
from grader.text import clean

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
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
    """One letter of MARKS a check, in the order of the page's checks; a space where it was not there, and for those who
    handed nothing in."""
    points: tuple[float, ...]
    misconceptions: tuple[str, ...]
    calling: str
    """How the function is called otherwise than the task says, in the words of the report; "" where it is not."""
    cost: float
    """Points that `calling` cost: in failed checks, or for translating."""
    flags: tuple[str, ...]
    changed: float
    seconds: float


@dataclass
class Class:
    """The rows, and what the checks and misconceptions are called."""

    rows: list[Row] = field(default_factory=list)
    checks: dict[str, tuple[str, float, Device]] = field(default_factory=dict)
    """id -> (title, max_score, where it runs), in the order in which they were met"""
    titles: dict[str, str] = field(default_factory=dict)
    callings: dict[str, list[str]] = field(default_factory=dict)
    """The words of each other way of calling -> their sentences, the first of which names it."""
    max_score: float = 0.0

    def add(self, report: Report) -> None:
        for check in report.checks:
            self.checks.setdefault(check.id, (clean(check.title, 300), check.max_score, device_of(check, report)))
        by_id = {check.id: check for check in report.checks}
        here = [] if report.absent else [by_id.get(id) for id in self.checks]
        for found in report.diagnoses:
            alone = [found.title] if len(found.misconceptions) == 1 else []
            titles = found.titles or alone  # a result of an earlier version has none
            for id, title in zip(found.misconceptions, titles, strict=False):
                self.titles.setdefault(id, clean(title, 200))
        self.max_score = max(self.max_score, report.max_score)
        calling = clean(" ".join(report.conventions), 1000)
        if calling:
            self.callings.setdefault(calling, _SENTENCE.split(calling))
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
                calling=sys.intern(calling),
                cost=_cost(report),
                flags=tuple(dict.fromkeys(clean(flag.id, 80) for flag in report.flags)),
                changed=sum(change.points for change in report.adjustments),
                seconds=report.seconds,
            )
        )

    def listed_callings(self) -> dict[str, list[str]]:
        """The words of each other way of calling -> what it is listed as. Words may tell of several ways: one that
        somebody else has first is listed as that, wherever it comes up."""
        names = {sentences[0] for sentences in self.callings.values()}
        return {words: [one for one in sentences if one in names] for words, sentences in self.callings.items()}


def _cost(report: Report) -> float:
    """What another way of calling cost: its price where it was translated, else the failed checks, unless there is a
    diagnosis that accounts for some of them."""
    price = -sum(change.points for change in report.adjustments if change.kind == "convention")
    if not report.conventions or report.translated or report.diagnoses:
        return price
    accounted = [check for check in report.checks if check.reason == EXPLAINED]
    return price + sum(check.max_score - check.score for check in accounted)
