"""The main path: one submission in, one report out. Read it from the top.

A marker is the only process that holds both the staff half of the assignment and an answer of the student's. It
decides every verdict itself, from bytes; student code runs elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import msgspec

from grader import agreement, explained, opening, secret
from grader.assignment import Assignment
from grader.call import Call
from grader.collect import Checks, collect
from grader.collected import Check
from grader.diagnosis import contract
from grader.diagnosis.contract import Verdict
from grader.diagnosis.examples import Examples
from grader.errors import GraderError
from grader.foresight import Variant
from grader.marking import Marking
from grader.reading import source
from grader.reporting import Circumstances, Reporter
from grader.results import CheckResult, Report
from grader.sandbox.interface import Sandbox, Session
from grader.staff import Staff
from grader.submission import Submission


class Marker:
    """Marks submissions of one assignment, one after the other, with the checks collected once."""

    def __init__(
        self,
        assignment: Assignment,
        staff: Staff,
        sandbox: Sandbox,
        circumstances: Circumstances,
        heard: Callable[[CheckResult], None] | None = None,
    ) -> None:
        """`heard` is told each result of `mark` at once, for those who can't wait for the report."""
        self.heard = heard
        self.assignment = assignment
        self.staff = staff
        self.sandbox = sandbox
        self.circumstances = circumstances
        self.digest = assignment.digest()
        self.reporter = Reporter(assignment, self.digest, circumstances)
        self.examples = Examples(staff.conventions, staff.reference)
        self.variants: dict[int, Variant] = {}

    def run(self, submissions: Iterable[Submission], deliver: Callable[[Report], None]) -> None:
        """Mark each submission as it comes and deliver its report.

        Raises GraderError for what concerns every submission: a wrong configuration, a lost zygote. A bug of ours
        that one submission brings to light becomes a report with the status "error".
        """

        def work(checks: Checks) -> None:
            agreement.require_checks(self.assignment, [check.id for check in checks.checks])
            for submission in submissions:
                try:
                    report = self.mark(submission, checks)
                except GraderError:
                    raise
                except Exception as error:
                    report = self.reporter.broken(submission, checks.checks, error)
                deliver(report)

        collect(self.assignment.hidden_checks, Checks(self.staff.in_double, work))

    def mark(self, submission: Submission, checks: Checks) -> Report:
        """Everything that happens to one submission, in order."""
        started = time.perf_counter()
        sources = source.units(submission.files, self.assignment.settings)
        if submission.problem or sources.problem:
            return self.reporter.unread(submission, sources, checks.checks)

        def attempt(session: Session, verdict: Verdict) -> tuple[tuple[Marking, list[CheckResult]], list[Call]]:
            marking = self._marking(submission, checks, session, verdict)
            return (marking, marking.results(self.heard)), marking.calls

        with opening.tried(self.sandbox, sources, self._probe, attempt) as work:
            marking, results = work.found
            diagnoses, flags = marking.diagnose(results)
        results = explained.marked(results, checks.checks, diagnoses, work.verdict)
        report = self.reporter.graded(
            submission, sources, work.session, work.verdict, results, work.calls, diagnoses, flags
        )
        return msgspec.structs.replace(report, seconds=round(time.perf_counter() - started, 4))

    def one(self, submission: Submission, check: Check, checks: Checks) -> tuple[CheckResult, list[Call]]:
        """A single check on the same inputs as in `mark`, and its calls."""

        def attempt(session: Session, verdict: Verdict) -> tuple[CheckResult, list[Call]]:
            marking = self._marking(submission, checks, session, verdict)
            return marking.check(check, session), marking.calls

        sources = source.units(submission.files, self.assignment.settings)
        with opening.tried(self.sandbox, sources, self._probe, attempt) as work:
            return work.found, work.calls

    def variant(self, submission: Submission) -> int:
        """Which variant of the inputs this work gets: always the same, unguessable without the course secret."""
        return secret.variant(self.circumstances.secret, self.digest, submission.digest)

    def _marking(self, submission: Submission, checks: Checks, session: Session, verdict: Verdict) -> Marking:
        number = self.variant(submission)
        # where the inputs are translated for a function, what it is asked is its own
        known = self.variants.setdefault(number, Variant()) if verdict.adapter is None else Variant()
        return Marking(
            assignment=self.assignment,
            staff=self.staff,
            checks=checks,
            reporter=self.reporter,
            seed=lambda check_id: secret.seed(self.circumstances.secret, self.digest, str(number), check_id),
            variant=known,
            session=session,
            verdict=verdict,
        )

    def _probe(self, session: Session) -> Verdict:
        """Whether and how the function can be called, in a few small calls."""
        settings = self.assignment.settings
        return contract.probe(session.loaded, session.calls, settings.entry, self.examples, settings.conventions)
