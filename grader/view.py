"""A report as one reader may see it, with everything decided: templates only lay it out.

All text has been through `clean` here; escaping is left to the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.excerpt import Block, Code
from grader.heatmap import Figure, figure
from grader.results import CheckResult, DiagnosisResult, Place, Report
from grader.summary import Audience, Phase, State, is_shown, number, summary
from grader.text import clean
from grader.words import Words

LIMIT = 4000
"""Characters of one authored text."""
DETAIL = 8000
MOST_PICTURES = 8
"""Drawn in one report, in the order of the checks: more would teach no more."""
SYMBOLS = {"passed": "✓", "failed": "✗", "error": "!", "skipped": "–"}


@dataclass(frozen=True)
class CheckView:
    anchor: str
    id: str
    title: str
    status: str
    symbol: str
    status_words: str
    points: str
    where: str
    """"on a GPU", "on an emulated GPU" or ""."""
    seen: str
    """For staff: when students see it, when that is not always."""
    tried: str
    detail: str
    seconds: str


@dataclass(frozen=True)
class Reason:
    """One explanation and the checks that it holds for."""

    checks: list[CheckView]
    same: str
    status: str
    message: str
    hint: str
    place: str
    excerpt: Block | None
    figures: list[Figure]


@dataclass(frozen=True)
class DiagnosisView:
    title: str
    explanation: str
    hint: str
    section: str
    place: str
    excerpt: Block | None
    misconceptions: str
    evidence: str
    alternatives: str


@dataclass(frozen=True)
class Segment:
    """One check in the bar of points; x and width in thousandths of the bar."""

    status: str
    x: str
    width: str
    earned: str
    """Width of the part that was earned."""
    title: str


@dataclass(frozen=True)
class Top:
    state: State
    score: str
    max_score: str
    of: str
    """"62 of 100 points"."""
    right: str
    fix_title: str
    fix_text: str
    fix_hint: str
    fix_place: str
    note: str
    people: str
    handed_in: str
    files: str
    unseen: str
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
    title: str
    top: Top
    problem: str
    problem_excerpt: Block | None
    diagnoses: list[DiagnosisView]
    failed: list[Reason]
    blocked: list[CheckView]
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
    anchors = {id(check): f"check-{at}" for at, check in enumerate(report.checks, 1)}
    views = {id(check): _check(check, anchors[id(check)], words, audience) for check in shown}

    def having(*statuses: str) -> list[CheckResult]:
        return [check for check in shown if check.status in statuses]

    failed = having("failed")
    blocked = failed + having("skipped") if report.problem else []
    diagnoses = report.diagnoses if failed else []
    left = [MOST_PICTURES]
    reasons = [] if report.problem else _reasons(failed, views, code, words, left)
    unchecked = having("error") if report.problem else having("error", "skipped")
    passed = [views[id(check)] for check in having("passed")]
    places = [place for place in (report.place, *(c.place for c in failed), *(d.place for d in diagnoses)) if place]
    if audience == "staff":
        places += [flag.place for flag in report.flags if flag.place]
    blocks, cut = code.whole(places)
    marked = sum(line.marked for block in blocks for line in block.lines)
    return ReportView(
        title=clean(report.title, 200),
        top=_top(report, shown, words, audience, phase),
        problem=clean(report.problem, LIMIT),
        problem_excerpt=code.around(report.place),
        diagnoses=[_diagnosis(found, code, words, audience) for found in diagnoses],
        failed=reasons,
        blocked=[views[id(check)] for check in blocked],
        blocked_fold=_count(words, "blocked_fold", len(blocked)),
        unchecked=_reasons(unchecked, views, code, words, left),
        passed=passed,
        passed_fold=_count(words, "passed_fold", len(passed)),
        conventions=[clean(text, LIMIT) for text in report.conventions],
        changes=[
            Change(words[f"adjustment_{change.kind}"], _signed(change.points), clean(change.reason, LIMIT))
            for change in report.adjustments
        ],
        sum_checks=number(sum(check.score for check in report.checks)),
        sum_total=number(report.score),
        code=blocks,
        code_note=_count(words, "code_marked", marked) if marked else "",
        code_cut=cut,
        staff=_staff(report, [views[id(check)] for check in shown], words) if audience == "staff" else None,
    )


def place_words(place: Place | None, words: Words) -> str:
    """ "attention.py, line 12"; "" without a place."""
    if place is None:
        return ""
    key = "place_line" if place.cell is None else "place_cell"
    return words[key].format(file=clean(place.file, 200), line=place.line, cell=place.cell)


def people_words(report: Report) -> str:
    """The names of those whose work it is; their ids where there is no name."""
    people = report.submission.people
    names = [clean(person.name or person.id, 120) for person in people]
    return ", ".join(names) or clean(report.submission.id, 200)


def _count(words: Words, key: str, count: int, **more: str) -> str:
    return words[f"{key}_one" if count == 1 else key].format(count=count, **more)


def _signed(points: float) -> str:
    return ("+" if points > 0 else "−" if points < 0 else "") + number(abs(points))


def _check(check: CheckResult, anchor: str, words: Words, audience: Audience) -> CheckView:
    staff = audience == "staff"
    points = words["points_short"].format(score=number(check.score), max_score=number(check.max_score))
    where = words["on_gpu_emulated" if check.emulated else "on_gpu"] if check.device != "cpu" else ""
    return CheckView(
        anchor=anchor,
        id=clean(check.id, 200),
        title=clean(check.title, 300),
        status=check.status,
        symbol=SYMBOLS[check.status],
        status_words=words[f"status_{check.status}"],
        points=points if check.max_score else words["not_counted"],
        where=where,
        seen=words[f"visibility_{check.visibility}"] if staff and check.visibility != "visible" else "",
        tried=clean(check.tried, LIMIT),
        detail=clean(check.detail, DETAIL) if staff else "",
        seconds=f"{check.seconds:.3f}",
    )


def _reasons(
    checks: Sequence[CheckResult], views: dict[int, CheckView], code: Code, words: Words, left: list[int]
) -> list[Reason]:
    """Checks with the same words and nothing of their own to show are explained together."""
    groups: dict[object, list[CheckResult]] = {}
    for check in checks:
        alone = id(check) if check.pictures else None
        groups.setdefault((alone, check.status, check.message, check.hint, check.place), []).append(check)
    reasons = []
    for group in groups.values():
        first = group[0]
        pictures = first.pictures[: left[0]]
        left[0] -= len(pictures)
        reasons.append(
            Reason(
                checks=[views[id(check)] for check in group],
                same=words["same_reason"].format(count=len(group)) if len(group) > 1 else "",
                status=first.status,
                message=words["error_words"] if first.status == "error" else clean(first.message, LIMIT),
                hint=clean(first.hint, LIMIT),
                place=place_words(first.place, words),
                excerpt=code.around(first.place),
                figures=[figure(picture, words) for picture in pictures],
            )
        )
    return reasons


def _diagnosis(found: DiagnosisResult, code: Code, words: Words, audience: Audience) -> DiagnosisView:
    staff = audience == "staff"
    names = ", ".join(found.misconceptions)
    others = "; ".join(" + ".join(ids) for ids in found.alternatives)
    return DiagnosisView(
        title=clean(found.title, 400),
        explanation=clean(found.explanation, LIMIT),
        hint=clean(found.hint, LIMIT),
        section=words["read_again"].format(section=clean(found.section, 300)) if found.section else "",
        place=place_words(found.place, words),
        excerpt=code.around(found.place),
        misconceptions=words["misconceptions"].format(names=names) if staff and names else "",
        evidence=words["evidence"].format(evidence=clean(found.evidence, LIMIT)) if staff and found.evidence else "",
        alternatives=words["diagnosis_alternatives"].format(names=others) if staff and others else "",
    )


def _top(report: Report, shown: list[CheckResult], words: Words, audience: Audience, phase: Phase) -> Top:
    short = summary(report, words, audience=audience, phase=phase)
    fix = short.fix
    unseen = [check for check in report.checks if not is_shown(check, audience, phase)]
    unseen_words = ""
    if unseen:
        points = number(sum(check.max_score for check in unseen))
        unseen_words = _count(words, "unseen", len(unseen), points=points)
        if any(check.visibility != "hidden" for check in unseen):
            unseen_words += " " + words["unseen_later"]
    time = clean(report.submission.submitted_at, 40).replace("T", " ")
    return Top(
        state=short.state,
        score=short.score,
        max_score=short.max_score,
        of=words["score_of"].format(score=short.score, max_score=short.max_score),
        right=clean(short.right, LIMIT),
        fix_title=clean(fix.title, 400) if fix else "",
        fix_text=clean(fix.text, LIMIT) if fix else "",
        fix_hint=clean(fix.hint, LIMIT) if fix else "",
        fix_place=place_words(fix.place, words) if fix else "",
        note=short.note,
        people=words["feedback_for"].format(name=people_words(report)),
        handed_in=words["handed_in"].format(time=time) if time else "",
        files=words["files"].format(files=clean(", ".join(report.submission.files[:8]), 400))
        if report.submission.files
        else "",
        unseen=unseen_words,
        segments=_segments(shown, report.max_score, words),
    )


def _segments(checks: list[CheckResult], max_score: float, words: Words) -> list[Segment]:
    segments = []
    x = 0.0
    scale = 1000 / max_score if max_score else 0.0
    for check in checks:
        width = check.max_score * scale
        if width:
            earned = width * min(1.0, check.score / check.max_score)
            points = words["points"].format(score=number(check.score), max_score=number(check.max_score))
            title = f"{clean(check.title, 300)} ({points})"
            segments.append(Segment(check.status, f"{x:.1f}", f"{width:.1f}", f"{earned:.1f}", title))
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
