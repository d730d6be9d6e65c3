"""Checks and diagnoses as one reader may see them: explained together where the reason is the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from grader.causes import EXPLAINED, reason_of, shared_hint
from grader.pages.excerpt import Block, Code
from grader.pages.heatmap import Figure, figure
from grader.pages.summary import Audience, Device, number
from grader.pages.words import Words
from grader.results import CheckResult, DiagnosisResult, Place
from grader.text import clean

LIMIT = 4000
"""Characters of one authored text."""
DETAIL = 8000
MOST_PICTURES = 5
"""Drawn in one report, in the order of the checks: more would teach no more."""
FEW = 2
"""So many checks with one reason are listed above it; more are folded below it."""
CRASH = "crash_"
"""How the ids of crash_kinds start."""
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
    said: str
    """Its own message, where it is explained together with others that said something else."""
    detail: str
    """For staff, "" for students."""


@dataclass(frozen=True)
class Reason:
    """One explanation and the checks that it holds for."""

    checks: list[CheckView]
    fold: str
    """What opens the list of checks; "" for a few, which stand above the explanation."""
    status: str
    message: str
    hint: str
    place: str
    excerpt: Block | None
    figures: list[Figure]
    twins: list[Reason] = field(default_factory=list)
    """The same check on another device, where something else came out."""
    more: list[Reason] = field(default_factory=list)
    """The other checks that the same cause accounts for."""
    more_fold: str = ""
    """What opens them, and what they cost."""


@dataclass(frozen=True)
class DiagnosisView:
    intro: str
    """Says that it explains the numbers; "" for a crash."""
    title: str
    explanation: str
    hint: str
    section: str
    place: str
    excerpt: Block | None
    misconceptions: str
    evidence: str
    alternatives: str


def place_words(place: Place | None, words: Words) -> str:
    """ "attention.py, line 12"; "" without a place."""
    if place is None:
        return ""
    key = "place_line" if place.cell is None else "place_cell"
    return words[key].format(file=clean(place.file, 200), line=place.line, cell=place.cell)


def count_words(words: Words, key: str, count: int, **more: str) -> str:
    """The words for one or for several."""
    return words[f"{key}_one" if count == 1 else key].format(count=count, **more)


def device_words(device: Device, words: Words) -> str:
    """ "on a GPU"; "" for the CPU, which needs no words."""
    return {"cpu": "", "gpu": words["on_gpu"], "emulated": words["on_gpu_emulated"]}[device]


def not_run(view: CheckView, words: Words) -> CheckView:
    """The check as one that nothing came of: it costs its points, but was not tried."""
    return replace(view, status="skipped", symbol=SYMBOLS["skipped"], status_words=words["status_skipped"])


def check_view(check: CheckResult, anchor: str, device: Device, words: Words, audience: Audience) -> CheckView:
    """One check. `anchor` is its id in the page."""
    staff = audience == "staff"
    points = words["points_short"].format(score=number(check.score), max_score=number(check.max_score))
    return CheckView(
        anchor=anchor,
        id=clean(check.id, 200),
        title=clean(check.title, 300),
        status=check.status,
        symbol=SYMBOLS[check.status],
        status_words=words[f"status_{check.status}"],
        points=points if check.max_score else words["not_counted"],
        where=device_words(device, words),
        seen=words[f"visibility_{check.visibility}"] if staff and check.visibility != "visible" else "",
        tried=clean(check.tried, LIMIT),
        said="",
        detail=clean(check.detail, DETAIL) if staff else "",
    )


class Explainer:
    """Groups checks by their reason. Over all calls it draws MOST_PICTURES pictures at most, a line of code once."""

    def __init__(self, views: dict[str, CheckView], code: Code, words: Words) -> None:
        self._views = views
        self._code = code
        self._words = words
        self._pictures = MOST_PICTURES
        self._seen: set[Hashable] = set()

    def reasons(self, checks: Sequence[CheckResult]) -> list[Reason]:
        """Checks with the same words and no pictures of their own together, and a check's twin with it.

        Of those that the diagnosis accounts for, the first stands for all; the others come with it, each with its own.
        """
        groups: dict[Hashable, list[CheckResult]] = {}
        for check in checks:
            groups.setdefault(reason_of(check), []).append(check)
        reasons: dict[str, Reason] = {}
        for cause, group in groups.items():
            if cause == EXPLAINED:
                reasons[EXPLAINED] = self._accounted(group)
                continue
            reason = self._reason(group)
            base = group[0].id.partition("[")[0]
            first = reasons.get(base)
            if first and len(group) == 1 and group[0].status == first.status:
                reasons[base] = replace(first, twins=[*first.twins, reason])
            else:
                reasons[group[0].id if len(group) == 1 else f"{base} and others"] = reason
        return list(reasons.values())

    def _accounted(self, group: Sequence[CheckResult]) -> Reason:
        # told apart by what came out: such as two lines at which they stopped
        first, *more = self.reasons([msgspec.structs.replace(check, reason="") for check in group])
        if not more:
            return first
        open_ids = {view.id for reason in (first, *first.twins) for view in reason.checks}
        others = [check for check in group if clean(check.id, 200) not in open_ids]
        fold = count_words(self._words, "more", len(others), points=_lost(others))
        return replace(first, more=more, more_fold=fold)

    def _reason(self, group: Sequence[CheckResult]) -> Reason:
        first = group[0]
        pictures = first.pictures[: self._pictures]
        self._pictures -= len(pictures)
        error = first.status == "error"
        return Reason(
            checks=[self._view(check, first) for check in group],
            fold=self._words["same_reason"].format(count=len(group), points=_lost(group)) if len(group) > FEW else "",
            status=first.status,
            message=self._words["error_words"] if error else clean(first.message, LIMIT),
            hint="" if error else clean(shared_hint(group), LIMIT),
            place=place_words(first.place, self._words),
            excerpt=self.excerpt(first.place),
            figures=[figure(picture, self._words) for picture in pictures],
        )

    def excerpt(self, place: Place | None) -> Block | None:
        """The line with its neighbours, where it was not drawn before."""
        if place is None or (spot := (place.file, place.cell, place.line)) in self._seen:
            return None
        self._seen.add(spot)
        return self._code.around(place)

    def _view(self, check: CheckResult, first: CheckResult) -> CheckView:
        view = self._views[check.id]
        return view if check.message == first.message else replace(view, said=clean(check.message, LIMIT))


def _lost(checks: Sequence[CheckResult]) -> str:
    return number(sum(check.max_score - check.score for check in checks))


def diagnosis_view(found: DiagnosisResult, excerpt: Block | None, words: Words, audience: Audience) -> DiagnosisView:
    """One diagnosis; the ids and the evidence are for staff."""
    staff = audience == "staff"
    names = ", ".join(found.misconceptions)
    others = "; ".join(" + ".join(ids) for ids in found.alternatives)
    # With a line it explains why the code stopped there.
    stopped = found.place is not None or all(id.startswith(CRASH) for id in found.misconceptions)
    return DiagnosisView(
        intro="" if stopped else words["diagnosis_numbers"],
        title=clean(found.title, 400),
        explanation=clean(found.explanation, LIMIT),
        hint=clean(found.hint, LIMIT),
        section=words["read_again"].format(section=clean(found.section, 300)) if found.section else "",
        place=place_words(found.place, words),
        excerpt=excerpt,
        misconceptions=words["misconceptions"].format(names=names) if staff and names else "",
        evidence=words["evidence"].format(evidence=clean(found.evidence, LIMIT)) if staff and found.evidence else "",
        alternatives=words["diagnosis_alternatives"].format(names=others) if staff and others else "",
    )
