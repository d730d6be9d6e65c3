"""What earlier runs left in a run directory: which of the results are still what grading again would give.

A mark depends on the work, the assignment, the secret, the versions and the device. Who handed the work in, when, and
under which id is no part of it: there the stored result is kept, and only its identity is brought up to date.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

import grader
from grader import results
from grader.reporting import Circumstances
from grader.results import Report
from grader.run_directory import RunDirectory
from grader.submission import Submission


@dataclass
class Earlier:
    """The results that are there when a run begins."""

    out: RunDirectory
    digest: str
    """Of the assignment as it is now."""
    circumstances: Circumstances
    torch: str
    """The version that marks."""
    ids: Collection[str]
    """Of all submissions of this run."""
    people: Collection[str]
    """Ids of all who are in this run, with work or without."""
    fresh: bool
    """Whether everything is to be graded again."""
    _now: dict[tuple[str, str], str] = field(default_factory=dict)
    """(id without a roster, digest of the work) -> id, of the submissions that were asked for."""

    def report(self, submission: Submission) -> tuple[Report, bool] | None:
        """What grading the submission again would give, if that is known, and whether it is stored just so."""
        if submission.former:
            self._now[submission.former, submission.digest] = submission.id
        return None if self.fresh else self._known(submission)

    def clear(self) -> None:
        """Remove the results that are there a second time: a roster that is new, edited or gone gave their work another
        id, or who had handed nothing in has now. The same work of somebody else stays, as does a result whose work has
        none under the other id yet."""
        for name in self.out.submissions():
            old = None if name in self.ids else self.out.load(name)
            if old is not None and (self._came(old) if old.absent else self._goes_on(name, old)):
                self.out.remove(name)

    def _came(self, old: Report) -> bool:
        """Whether they who had handed nothing in are in this run, in a group for instance."""
        return all(person.id in self.people for person in old.submission.people)

    def _goes_on(self, name: str, old: Report) -> bool:
        """Whether this very work has its result under another id."""
        was = old.submission
        now = self._now.get((was.former or name, was.digest))
        there = self.out.load(now) if now else None
        if now is None or there is None or there.submission.digest != was.digest:
            return False
        return not self.out.result(now).samefile(self.out.result(name))  # some disks don't tell "a" from "A"

    def _known(self, submission: Submission) -> tuple[Report, bool] | None:
        old = self.out.load(submission.id)
        if old is not None and self._holds(old, submission):
            now = _of(old, submission)
            return now, now is old
        for name in self._others.get(submission.digest, ()):
            old = self.out.load(name)
            if old is not None and self._holds(old, submission):
                return _of(old, submission), False
        return None

    def _holds(self, old: Report, submission: Submission) -> bool:
        environment = old.environment
        return (
            old.status == "graded"
            and old.schema == results.SCHEMA
            and old.submission.digest == submission.digest
            and submission.problem in ("", old.problem)
            and environment.assignment_digest == self.digest
            and environment.seed_id == self.circumstances.seed_id
            and environment.device == self.circumstances.device
            and environment.grader == grader.__version__
            and environment.torch == self.torch
            and old.sandbox.level <= self.circumstances.level  # "A" confines best
        )

    @functools.cached_property
    def _others(self) -> dict[str, list[str]]:
        """Digest of the work -> ids of results that nobody of this run has by their id."""
        found: dict[str, list[str]] = {}
        for name in self.out.submissions():
            old = None if name in self.ids else self.out.load(name)
            if old is not None:
                found.setdefault(old.submission.digest, []).append(name)
        return found


def _of(old: Report, submission: Submission) -> Report:
    """The report with the identity that the submission has now; the very report when it is the same."""
    info, was = submission.info(), old.submission
    info = msgspec.structs.replace(info, notes=[*info.notes, *was.notes[was.noted :]], choice=was.choice)
    return old if info == was else msgspec.structs.replace(old, submission=info)
