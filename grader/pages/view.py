"""A report as one reader may see it, with everything decided: templates only lay it out.

All text has been through `clean` here and in `check_view`; escaping is left to the format.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.pages.check_view import (
    DETAIL,
    LIMIT,
    CheckView,
    DiagnosisView,
    Explainer,
    Reason,
    check_view,
    count_words,
    diagnosis_view,
    not_run,
    place_words,
)
from grader.pages.excerpt import Block, Code
from grader.pages.summary import Audience, Phase, State, device_of, is_shown, number, signed, summary
from grader.pages.words import Words
from grader.results import CheckResult, Report
from grader.text import clean


@dataclass(frozen=True)
class Segment:
    """One check in the bar of points; lengths in thousandths of the bar."""

    kind: str
    """"lost" for what was not earned, "open" when the check did not run to its end."""
    x: str
    width: str
    earned: str
    """The part of the width that was earned."""
    title: str


@dataclass(frozen=True)
class Top:
    """What a reader sees first."""

    state: State
    score: str
    max_score: str
    of: str
    """"62 of 100 points"."""
    so_far: str
    """Said beside a score that may still change."""
    right: str
    fix_heading: str
    fix_title: str
    fix_text: str
    fix_hint: str
    fix_place: str
    note: str
    people: str
    handed_in: str
    files: str
    choice: list[str]
    """Which of several files was graded."""
    unseen: str
    """That some checks count but are not shown."""
    segments: list[Segment]


@dataclass(frozen=True)
class Change:
    kind: str
    points: str
    reason: str


@dataclass(frozen=True)
class FlagView:
    id: str
    message: str
    place: str


@dataclass(frozen=True)
class StaffView:
    """What students do not see."""

    people: list[str]
    flags: list[FlagView]
    output: str
    notes: list[str]
    facts: list[tuple[str, str]]
    """(name, value)"""
    details: list[CheckView]
    """The checks that have a detail."""


@dataclass(frozen=True)
class ReportView:
    """The variable `report` of the templates."""

    title: str
    top: Top
    problem: str
    problem_excerpt: Block | None
    diagnoses: list[DiagnosisView]
    failed: list[Reason]
    blocked: list[CheckView]
    """Checks that could not run because of the problem."""
    blocked_fold: str
    unchecked: list[Reason]
    passed: list[CheckView]
    passed_fold: str
    conventions: list[str]
    changes: list[Change]
    sum_checks: str
    sum_total: str
    code: list[Block]
    code_note: str
    code_cut: bool
    staff: StaffView | None


def view(report: Report, words: Words, *, audience: Audience, phase: Phase) -> ReportView:
    """What this reader may see of the report."""
    code = Code(report.sources)
    shown = [check for check in report.checks if is_shown(check, audience, phase)]
    numbers = {check.id: at for at, check in enumerate(report.checks, 1)}
    views = {
        check.id: check_view(check, f"check-{numbers[check.id]}", device_of(check, report), words, audience)
        for check in shown
    }

    explainer = Explainer(views, code, words)

    def having(*statuses: str) -> list[CheckResult]:
        return [check for check in shown if check.status in statuses]

    failed = having("failed")
    blocked = having("failed", "skipped") if report.problem else []
    unchecked = having("error") if report.problem else having("error", "skipped")
    passed = [views[check.id] for check in having("passed")]
    diagnoses = report.diagnoses if failed else []
    places = [place for place in (report.place, *(c.place for c in failed), *(d.place for d in diagnoses)) if place]
    if audience == "staff":
        places += [flag.place for flag in report.flags if flag.place]
    blocks, cut = code.whole(places)
    marked = sum(line.marked for block in blocks for line in block.lines)
    top = _top(report, shown, words, audience, phase)
    # In the order of the page, because code is drawn where it comes first.
    about_place = top.fix_place == place_words(report.place, words)
    problem_excerpt = explainer.excerpt(report.place) if about_place else None
    drawn = [diagnosis_view(found, explainer.excerpt(found.place), words, audience) for found in diagnoses]
    conventions = [clean(text, LIMIT) for text in report.conventions]
    return ReportView(
        title=clean(report.title, 200),
        top=top,
        problem=clean(report.problem, LIMIT),
        problem_excerpt=problem_excerpt,
        diagnoses=drawn,
        failed=[] if report.problem else explainer.reasons(failed),
        blocked=[not_run(views[check.id], words) for check in blocked],
        blocked_fold=count_words(words, "blocked_fold", len(blocked)),
        unchecked=explainer.reasons(unchecked),
        passed=passed,
        passed_fold=count_words(words, "passed_fold", len(passed)),
        conventions=[] if top.fix_text == clean(" ".join(conventions), LIMIT) else conventions,
        changes=[
            Change(words[f"adjustment_{change.kind}"], signed(change.points), clean(change.reason, LIMIT))
            for change in report.adjustments
        ],
        sum_checks=number(sum(check.score for check in report.checks)),
        sum_total=number(report.score),
        code=blocks,
        code_note=count_words(words, "code_marked", marked) if marked else "",
        code_cut=cut,
        staff=_staff(report, list(views.values()), words) if audience == "staff" else None,
    )


def people_words(report: Report) -> str:
    """The names of those whose work it is; their ids where there is no name."""
    people = report.submission.people
    names = [clean(person.name or person.id, 120) for person in people]
    return ", ".join(names) or clean(report.submission.id, 200)


def time_words(moment: str) -> str:
    """ "2026-03-02 21:14 (+01:00)" of an ISO 8601 time; other text as it is."""
    day, _, clock = clean(moment, 40).partition("T")
    offset = "UTC" if clock.endswith("Z") else clock[-6:] if clock[-6:-5] in {"+", "-"} else ""
    return f"{day} {clock[:5]}{f' ({offset})' if offset else ''}" if clock else day


def _top(report: Report, shown: list[CheckResult], words: Words, audience: Audience, phase: Phase) -> Top:
    short = summary(report, words, audience=audience, phase=phase)
    fix = short.fix
    files = clean(", ".join(report.submission.files[:8]), 400)
    handed_in = report.submission.submitted_at
    return Top(
        state=short.state,
        score=short.score,
        max_score=short.max_score,
        of=words["score_of"].format(score=short.score, max_score=short.max_score),
        right=clean(short.right, LIMIT),
        so_far=words["score_so_far"] if short.state == "fault" else "",
        fix_heading=words["fix_note" if report.status == "error" else "fix"],
        fix_title=clean(fix.title, 400) if fix else "",
        fix_text=clean(fix.text, LIMIT) if fix else "",
        fix_hint=clean(fix.hint, LIMIT) if fix else "",
        fix_place=place_words(fix.place, words) if fix else "",
        note=short.note,
        people=words["feedback_for"].format(name=people_words(report)),
        handed_in=words["handed_in"].format(time=time_words(handed_in)) if handed_in else "",
        files=words["files"].format(files=files) if files else "",
        choice=[clean(note, LIMIT) for note in report.submission.choice],
        unseen=_unseen([check for check in report.checks if not is_shown(check, audience, phase)], words),
        segments=_segments(shown, report.max_score, words),
    )


def _unseen(checks: list[CheckResult], words: Words) -> str:
    if not checks:
        return ""
    points = number(sum(check.max_score for check in checks))
    later = any(check.visibility != "hidden" for check in checks)
    return count_words(words, "unseen", len(checks), points=points) + (f" {words['unseen_later']}" if later else "")


def _segments(checks: list[CheckResult], max_score: float, words: Words) -> list[Segment]:
    segments = []
    x = 0.0
    scale = 1000 / max_score if max_score else 0.0
    for check in checks:
        width = check.max_score * scale
        if width:
            earned = width * min(1.0, check.score / check.max_score)
            points = words["score_of"].format(score=number(check.score), max_score=number(check.max_score))
            kind = "open" if check.status in {"error", "skipped"} else "lost"
            title = f"{clean(check.title, 300)}: {points}"
            segments.append(Segment(kind, f"{x:.1f}", f"{width:.1f}", f"{earned:.1f}", title))
        x += width
    return segments


def _staff(report: Report, checks: list[CheckView], words: Words) -> StaffView:
    environment = report.environment
    facts = [
        (words["submission_digest"], report.submission.digest),
        (words["sandbox"], report.sandbox.level),
        (words["layers"], ", ".join(report.sandbox.layers)),
        (words["grader_version"], environment.grader),
        (words["torch_version"], environment.torch),
        (words["python_version"], environment.python),
        (words["device"], environment.device),
        (words["seed_id"], environment.seed_id),
        (words["assignment_digest"], environment.assignment_digest),
        (words["seconds"], f"{report.seconds:.2f}"),
    ]
    return StaffView(
        people=[
            clean(" · ".join(part for part in (p.name, p.id, p.email, p.section) if part), 400)
            for p in report.submission.people
        ],
        flags=[
            FlagView(clean(flag.id, 80), clean(flag.message, LIMIT), place_words(flag.place, words))
            for flag in report.flags
        ],
        output=clean(report.output, DETAIL),
        notes=[clean(note, LIMIT) for note in report.submission.notes],
        facts=[(name, clean(value, 300)) for name, value in facts if value],
        details=[check for check in checks if check.detail],
    )
