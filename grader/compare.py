"""Two runs of one assignment beside each other: whose mark changed, by how much, which checks, and what made it.

A mark may only change with what it depends on: the work, the assignment, the secret that inputs are drawn from, the
versions, the device, the adjustments. A change without any of these is told apart, because it should not happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from grader.compare_points import Worth
from grader.errors import UsageError
from grader.pages.summary import is_shown, number
from grader.pages.words import Words
from grader.results import Adjustment, Person, Report
from grader.run_directory import RunDirectory

UNEXPLAINED = "nothing that a mark may depend on: the same work, checks, inputs and versions gave another result"
_REASONS = {
    "work": "other files were handed in",
    "assignment": "the assignment: its checks, reference or settings",
    "secret": "the course secret, so other inputs",
}
_TOLD = {
    "work": "note_because_work",
    "fault": "note_because_fault",
    "assignment": "note_because_assignment",
    "secret": "note_because_secret",
    "versions": "note_because_versions",
    "device": "note_because_device",
}
"""Kind of cause -> the words that students read."""


@dataclass(frozen=True)
class CheckChange:
    """One check that gave other points or another status. A check that is in one run only has "" as its status."""

    id: str
    title: str
    before: str
    after: str
    points_before: float
    points_after: float
    worth_before: float
    worth_after: float
    shown: bool
    """Whether students may see it once grades are out."""

    @property
    def rescaled(self) -> bool:
        """Whether it ended as before, and only what it is worth is new."""
        apart = self.points_before * self.worth_after - self.points_after * self.worth_before
        return self.before == self.after and self.worth_before != self.worth_after and abs(apart) < 1e-3


@dataclass(frozen=True)
class Change:
    """One submission whose result is another one."""

    submission: str
    people: tuple[Person, ...]
    before: float
    after: float
    max_before: float
    max_after: float
    checks: tuple[CheckChange, ...]
    causes: dict[str, str]
    """What may have made the change, for staff, in words by kind; only what really differs."""
    gone: tuple[Adjustment, ...]
    new: tuple[Adjustment, ...]

    @property
    def difference(self) -> float:
        return round(self.after - self.before, 3)

    @property
    def rescaled(self) -> bool:
        """Whether it differs only because checks are worth more or less than they were."""
        moved = sum(check.points_after - check.points_before for check in self.checks)
        only = all(check.rescaled for check in self.checks) and not self.gone and not self.new
        return only and bool(self.checks) and abs(self.difference - moved) < 1e-3

    @property
    def unexplained(self) -> bool:
        return "unexplained" in self.causes

    @property
    def name(self) -> str:
        return ", ".join(person.name or person.id for person in self.people) or self.submission


@dataclass(frozen=True)
class Comparison:
    """What came of it. `changed` holds other marks, `shifted` the same mark made of other points.

    A mark that moved only with what checks are worth is in neither; it is counted in `rescaled`.
    """

    title: str
    before: str
    after: str
    compared: int
    changed: list[Change]
    shifted: list[Change]
    only_before: list[str]
    only_after: list[str]
    rescaled: int = 0
    worth: Worth = field(default_factory=Worth)


def compare(before: RunDirectory, after: RunDirectory) -> Comparison:
    """Compare result by result; memory holds changes only. Raises UsageError: no run, or two different assignments."""
    first, second = before.info(), after.info()
    if first.assignment != second.assignment:
        raise UsageError(
            f"{before.path} is a run of {first.assignment!r} and {after.path} one of {second.assignment!r}. "
            "Give two runs of one assignment."
        )
    changed: list[Change] = []
    shifted: list[Change] = []
    compared = rescaled = 0
    worth = Worth()
    pairs, only_before, only_after = _pairs(before, after)
    for old, new in _loaded(before, after, pairs):
        compared += 1
        worth.add(old, new)
        found = change(old, new)
        if found.rescaled:
            rescaled += 1
        elif found.difference:
            changed.append(found)
        elif found.checks or found.gone or found.new:
            shifted.append(found)
    changed.sort(key=lambda one: (-abs(one.difference), one.submission))
    names = (before.path.name, after.path.name)
    if names[0] == names[1]:
        names = (str(before.path), str(after.path))
    return Comparison(second.title, *names, compared, changed, shifted, only_before, only_after, rescaled, worth)


def change(old: Report, new: Report) -> Change:
    """How the second report differs from the first."""
    checks = tuple(_checks(old, new))
    gone = tuple(one for one in old.adjustments if one not in new.adjustments)
    fresh = tuple(one for one in new.adjustments if one not in old.adjustments)
    causes = _causes(old, new) if checks else {}
    if not causes and (checks or (old.score != new.score and not gone and not fresh)):
        causes["unexplained"] = UNEXPLAINED
    if gone or fresh:
        causes["adjustments"] = "the adjustments: " + "; ".join(
            [*(f"no longer {one.reason}" for one in gone), *(one.reason for one in fresh)]
        )
    return Change(
        submission=new.submission.id,
        people=tuple(new.submission.people),
        before=old.score,
        after=new.score,
        max_before=old.max_score,
        max_after=new.max_score,
        checks=checks,
        causes=causes,
        gone=gone,
        new=fresh,
    )


def note(one: Change, title: str, words: Words) -> str:
    """What to tell the students whose mark it is; "" while a fault of ours leaves it open.

    Checks that they may not see are only counted together.
    """
    if "fault now" in one.causes:
        return ""
    lines = [
        words["note_changed"].format(
            title=title, before=number(one.before), after=number(one.after), max_score=number(one.max_after)
        )
    ]
    if one.max_before != one.max_after:
        lines.append(words["note_maximum"].format(before=number(one.max_before), after=number(one.max_after)))
    lines += [words[key] for kind, key in _TOLD.items() if kind in one.causes]
    for title_, was, now in by_title(check for check in one.checks if check.shown):
        lines.append(words["note_check"].format(title=title_, before=number(was), after=number(now)))
    unseen = [check for check in one.checks if not check.shown]
    if unseen:
        was, now = sum(check.points_before for check in unseen), sum(check.points_after for check in unseen)
        lines.append(words["note_unseen"].format(before=number(was), after=number(now)))
    lines += [words["note_gone"].format(points=f"{old.points:+g}", reason=old.reason) for old in one.gone]
    lines += [words["note_new"].format(points=f"{new.points:+g}", reason=new.reason) for new in one.new]
    return "\n".join(lines)


def by_title(checks: Iterable[CheckChange]) -> list[tuple[str, float, float]]:
    """(title, points before, points after) of those that gave other points; a check on two devices is one line."""
    sums: dict[str, tuple[float, float]] = {}
    for check in checks:
        was, now = sums.get(check.title, (0.0, 0.0))
        sums[check.title] = (was + check.points_before, now + check.points_after)
    return [(title, was, now) for title, (was, now) in sums.items() if was != now]


def _checks(old: Report, new: Report) -> Iterator[CheckChange]:
    before = {check.id: check for check in old.checks}
    after = {check.id: check for check in new.checks}
    for name in dict.fromkeys([*after, *before]):
        was, now = before.get(name), after.get(name)
        known = now or was
        assert known is not None
        one = CheckChange(
            id=name,
            title=known.title,
            before=was.status if was else "",
            after=now.status if now else "",
            points_before=was.score if was else 0.0,
            points_after=now.score if now else 0.0,
            worth_before=was.max_score if was else 0.0,
            worth_after=now.max_score if now else 0.0,
            shown=is_shown(known, "student", "published"),
        )
        if (one.before, one.points_before) != (one.after, one.points_after):
            yield one


def _causes(old: Report, new: Report) -> dict[str, str]:
    was, now = old.environment, new.environment
    causes = {
        "work": old.submission.digest != new.submission.digest,
        "assignment": was.assignment_digest != now.assignment_digest,
        "secret": was.seed_id != now.seed_id,
    }
    found = {kind: _REASONS[kind] for kind, differs in causes.items() if differs}
    versions = [
        f"{name} {one} → {other}"
        for name, one, other in (
            ("grader", was.grader, now.grader),
            ("torch", was.torch, now.torch),
            ("Python", was.python, now.python),
        )
        if one != other
    ]
    if versions:
        found["versions"] = "versions: " + ", ".join(versions)
    if was.device != now.device:
        found["device"] = f"GPU checks: {was.device} → {now.device}"
    if old.status == "error" and new.status != "error":
        found["fault"] = "the grader itself had failed on a check before"
    elif new.status == "error":
        found["fault now"] = "the grader itself failed on a check now"
    return found


def _pairs(before: RunDirectory, after: RunDirectory) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Which result of one run is which of the other: by its id, else by exactly the same people."""
    old, new = before.submissions(), after.submissions()
    pairs = [(name, name) for name in sorted(set(old) & set(new))]
    lonely_old, lonely_new = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    people = {_people(before, name): name for name in lonely_old}
    for name in list(lonely_new):
        twin = people.pop(_people(after, name), None)
        if twin is not None:
            pairs.append((twin, name))
            lonely_old.remove(twin)
            lonely_new.remove(name)
    return pairs, lonely_old, lonely_new


def _people(run: RunDirectory, submission: str) -> frozenset[str]:
    report = run.load(submission)
    ids = [person.id for person in report.submission.people] if report is not None else []
    return frozenset(ids) or frozenset({f"{run.path}/{submission}"})


def _loaded(before: RunDirectory, after: RunDirectory, pairs: list[tuple[str, str]]) -> Iterator[tuple[Report, Report]]:
    for old_name, new_name in pairs:
        yield before.read(old_name), after.read(new_name)
