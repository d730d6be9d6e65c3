"""What a report comes to in a few words: what is right, the one thing to fix first, and who may see what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.causes import likeliest
from grader.pages.words import Words
from grader.results import CheckResult, Place, Report
from grader.text import clean

Audience = Literal["student", "staff"]
Phase = Literal["before_due", "after_due", "published"]
"""How far the assignment is: work can still be handed in; the due date has passed; the grades are out."""
State = Literal["right", "partly", "wrong", "problem", "missing", "fault"]
Device = Literal["cpu", "gpu", "emulated"]

SHOWN_FROM: dict[str, frozenset[Phase]] = {
    "visible": frozenset({"before_due", "after_due", "published"}),
    "after_due_date": frozenset({"after_due", "published"}),
    "after_published": frozenset({"published"}),
    "hidden": frozenset(),
}


def is_shown(check: CheckResult, audience: Audience, phase: Phase) -> bool:
    """Whether this reader may see the check now. It counts in the score either way."""
    return audience == "staff" or phase in SHOWN_FROM[check.visibility]


def state(report: Report) -> State:
    """What became of the submission as a whole. `fault` comes first: nothing else is certain then."""
    if report.status == "error" or any(check.status == "error" for check in report.checks):
        return "fault"
    if report.absent:
        return "missing"
    if report.problem:
        return "problem"
    if all(check.status == "passed" for check in report.checks if check.max_score or check.status != "skipped"):
        return "right"
    return "partly" if any(check.status == "passed" for check in report.checks) else "wrong"


def device_of(check: CheckResult, report: Report) -> Device:
    """Where the check runs in this run, also where it was not tried because of what came before."""
    if check.device == "cpu":
        return "cpu"
    return "emulated" if check.emulated or report.environment.device == "emulated" else "gpu"


@dataclass(frozen=True)
class Fix:
    """The one thing to do next."""

    title: str
    text: str
    hint: str = ""
    place: Place | None = None


@dataclass(frozen=True)
class Summary:
    """The top of a report."""

    state: State
    score: str
    max_score: str
    right: str
    """One sentence."""
    fix: Fix | None
    note: str
    """Why points are missing although there is nothing to fix; "" otherwise."""


def number(value: float) -> str:
    """Points as people write them: 3, 2.5, 0.67."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def signed(points: float) -> str:
    """A change of points: +2, −0.5, 0."""
    return ("+" if points > 0 else "−" if points < 0 else "") + number(abs(points))


def summary(report: Report, words: Words, *, audience: Audience = "student", phase: Phase = "published") -> Summary:
    """The top of the report for this reader. Checks that the reader may not see yet are never mentioned."""
    checks = [check for check in report.checks if is_shown(check, audience, phase)]
    fix = _fix(report, checks, words)
    return Summary(
        state=state(report),
        score=number(report.score),
        max_score=number(report.max_score),
        right=_right(report, checks, words),
        fix=fix,
        note="" if fix else _note(report, words),
    )


def _right(report: Report, checks: list[CheckResult], words: Words) -> str:
    passed = [check for check in checks if check.status == "passed"]
    if report.absent:
        return words["right_nothing"]
    if report.problem:
        files = clean(", ".join(report.submission.files[:3]), 200)
        return words["right_problem"].format(files=files) if files else words["right_unread"]
    if not passed:
        return words["right_fault" if report.status == "error" else "right_none"]
    if len(passed) == len(checks):
        key = "right_seen" if _failed(report) else "right_all"
        return words[f"{key}_one" if len(checks) == 1 else key].format(total=len(checks))
    worth = sorted(passed, key=lambda check: -check.max_score)
    wrong = {check.title for check in checks if check.status != "passed"}  # the same check may fail on one device only
    titles = list(dict.fromkeys(check.title.rstrip(".") for check in worth if check.title not in wrong))[:2]
    if not titles:
        titles = [worth[0].title.rstrip(".")]
    quoted = [words["title_quoted"].format(title=title) for title in titles]
    named = quoted[0] if len(quoted) == 1 else words["list_two"].format(first=quoted[0], second=quoted[1])
    return words["right_some"].format(passed=len(passed), total=len(checks), titles=named)


def _fix(report: Report, checks: list[CheckResult], words: Words) -> Fix | None:
    cause = likeliest(report, checks)
    if cause is None:
        return None
    titles = {
        "fault": words["fix_fault"],
        "problem": words["fix_problem_missing" if report.absent else "fix_problem"],
        "convention": words["fix_convention"],
        "diagnosis": cause.title,
        "same": words["fix_same"].format(count=cause.checks),
        "check": words["fix_check"].format(title=cause.title),
    }
    text = words["fix_fault_text"] if cause.kind == "fault" else cause.text
    return Fix(titles[cause.kind], text, cause.hint, cause.place)


def _note(report: Report, words: Words) -> str:
    if _failed(report):
        return words["fix_only_unseen"]
    if any(change.points < 0 for change in report.adjustments):
        return words["fix_only_changes"]
    return words["fix_none"]


def _failed(report: Report) -> bool:
    return any(check.status == "failed" for check in report.checks)
