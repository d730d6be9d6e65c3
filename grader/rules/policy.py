"""What happens to a report after the checks: lateness with extensions, attempts, and what staff decided by hand.

Only `adjustments` and `score` change, and both are worked out anew from the checks each time. So a policy can be put
on a stored report again, and running no student code gives what grading again would give.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import msgspec

from grader.assignment import SETTINGS, Assignment, Late
from grader.errors import UsageError
from grader.intake import Entry
from grader.results import Adjustment, Person, Report, Struct, total
from grader.rules import late
from grader.rules.decisions import Extension, Manual, read_adjustments, read_extensions
from grader.rules.times import date_words, moment

EXTENSIONS, ADJUST = "extensions.csv", "adjust.csv"
"""The names under which a run directory may keep them, so that no later run forgets them."""
OURS = frozenset({"late", "attempts", "manual"})
"""The kinds of adjustment that are made here; a marker makes the others."""


class Policy(Struct, frozen=True):
    """The rules of one run. Plain data: it travels to the machines of a cluster."""

    late: Late = Late()
    extensions: dict[str, Extension] = {}
    """Person or submission id in lower case -> extension."""
    manual: dict[str, list[Manual]] = {}

    def __call__(self, report: Report) -> Report:
        """The report with this policy on it, whatever policy was on it before."""
        kept = [change for change in report.adjustments if change.kind not in OURS]
        before = total(report.checks, kept)
        changes = [*kept, *self._late(report, before)]
        counted = late.attempts(self.late.attempts, report.submission.attempt, report.submission.attempts)
        if counted is not None:
            changes.append(counted)
        for key in _keys(report):
            changes += [
                Adjustment(kind="manual", points=one.points, reason=one.reason) for one in self.manual.get(key, ())
            ]
        score = total(report.checks, changes)
        if changes == report.adjustments and score == report.score:
            return report
        return msgspec.structs.replace(report, adjustments=changes, score=score)

    def _late(self, report: Report, score: float) -> list[Adjustment]:
        if not self.late.due:
            return []
        general = moment(self.late.due, "late.due")
        due = general
        for key in _keys(report):
            given = self.extensions.get(key)
            if given is not None:
                own = moment(given.due, "due") if given.due else general + timedelta(seconds=given.extra_seconds)
                due = max(due, own)
        submitted = report.submission.submitted_at
        found = late.adjustment(self.late, due.isoformat(), submitted, report.max_score, score)
        if found is None and due > general and late.lateness(general, submitted, self.late.grace_minutes):
            words = f"Your due date was moved to {date_words(due)}, so this is not late."
            found = Adjustment(kind="late", points=0.0, reason=words)
        return [] if found is None else [found]


def policy(assignment: Assignment, extensions: Path | None = None, adjust: Path | None = None) -> Policy:
    """The policy of `[late]` in assignment.toml and the two files of decisions.

    Raises UsageError naming what is wrong in a file of decisions, and where.
    """
    rules = assignment.settings.late
    due = moment(rules.due, "late.due") if rules.due else None
    more = read_extensions(extensions) if extensions is not None else {}
    if more and due is None:
        raise UsageError(f"{extensions} extends a due date, but {assignment.public / SETTINGS} has none (late.due).")
    for key, one in more.items():
        if one.due and due is not None and moment(one.due, "due") < due:
            raise UsageError(f"{extensions}: {key}: {one.due} is before everybody's due date, {rules.due}. Mend it.")
    return Policy(late=rules, extensions=more, manual=read_adjustments(adjust) if adjust is not None else {})


def notes(rules: Policy, entries: Iterable[Entry]) -> list[str]:
    """What staff should know before these entries are graded under the policy: ids that nobody has, unknown times.

    Raises UsageError when points are meant for one of a group: a group has one report, so all would get them.
    """
    known: set[str] = set()
    untimed = 0
    for entry in entries:
        known.add(entry.id.casefold())
        untimed += bool(rules.late.due and rules.late.deduction and entry.files and not entry.submitted_at)
        for person in entry.people:
            known |= _names(person)
            alone = len(entry.people) == 1 or entry.id.casefold() in _names(person)
            if not alone and any(name in rules.manual for name in _names(person)):
                raise UsageError(
                    f"The adjustments name {person.id}, who handed in as a group with one report. "
                    f"Write the group's id, {entry.id}, to change it for all of them."
                )
    words = [
        f"Nobody here has the id {name}, which the {what} name."
        for what, names in (("extensions", rules.extensions), ("adjustments", rules.manual))
        for name in sorted(names.keys() - known)
    ]
    if untimed:
        words.append(f"It is not told when {untimed} submissions were handed in, so nothing is taken off for lateness.")
    return words


def _keys(report: Report) -> list[str]:
    """Every id that decisions about this report may be written under, each once."""
    keys = [report.submission.id.casefold()]
    for person in report.submission.people:
        keys += sorted(_names(person))
    return list(dict.fromkeys(keys))


def _names(person: Person) -> set[str]:
    return {name.casefold() for name in (person.id, person.email) if name}
