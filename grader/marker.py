"""The main path: one submission in, one report out. Read it from the top.

A marker is the only process that holds both the staff half of the assignment and an answer of the student's. It
decides every verdict itself, from bytes; student code runs elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import msgspec
import torch

from grader import agreement, opening, secret, staff_flags
from grader.answers import fits
from grader.assignment import Assignment
from grader.call import Call
from grader.collect import Checks, collect
from grader.collected import GPU, Check
from grader.diagnosis import contract, crashes, diagnose
from grader.diagnosis.contract import Verdict
from grader.errors import GraderError, SandboxError
from grader.foresight import Foreseen, Variant, foresee
from grader.reading import source
from grader.reporting import Circumstances, Reporter
from grader.results import CheckResult, DiagnosisResult, Flag, Report
from grader.sandbox.interface import Sandbox, Session
from grader.staff import Staff
from grader.student import Student
from grader.submission import Submission

NO_DEVICE = "This check needs an accelerator, and the run was told to use the CPU only."
NOT_TRIED = "Your function could not be called, so this was not tried."


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

        def check(session: Session, verdict: Verdict) -> tuple[list[CheckResult], list[Call]]:
            return self._checked(checks, session, verdict, submission)

        with opening.tried(self.sandbox, sources, self._probe, check) as work:
            session, verdict, results, calls = work.session, work.verdict, work.found, work.calls
            diagnoses, flags = self._diagnose(results, calls, session, verdict)
        results = self.reporter.explained(results, checks.checks, diagnoses, verdict)
        report = self.reporter.graded(submission, sources, session, verdict, results, calls, diagnoses, flags)
        return msgspec.structs.replace(report, seconds=round(time.perf_counter() - started, 4))

    def _checked(
        self, checks: Checks, session: Session, verdict: Verdict, submission: Submission
    ) -> tuple[list[CheckResult], list[Call]]:
        """The result of every check, and all calls that they made."""
        calls: list[Call] = []
        results: list[CheckResult] = []
        foreseen = foresee(
            self._variant_for(submission, verdict),
            checks,
            [check for check in checks.checks if not verdict.fatal and not self._left_out(check)],
            session,
            lambda check, notes: self._student(check, notes, verdict, submission, []),
            apart=self.heard is not None,
        )
        for check in checks.checks:
            results.append(self._judged(check, checks, foreseen, verdict, submission, calls))
            if self.heard is not None:
                self.heard(results[-1])
        return results, calls

    def _judged(
        self,
        check: Check,
        checks: Checks,
        foreseen: Foreseen,
        verdict: Verdict,
        submission: Submission,
        calls: list[Call],
    ) -> CheckResult:
        """Run one check, or take what it made of the very same answers before."""
        started, before = time.perf_counter(), len(calls)
        known = foreseen.judged(check)
        if known is not None:
            calls += known[1]
            return msgspec.structs.replace(known[0], seconds=round(time.perf_counter() - started, 4))
        result = self._check(check, checks, foreseen, verdict, submission, calls)
        foreseen.keep(check, result, calls[before:])
        return result

    def one(self, submission: Submission, check: Check, checks: Checks) -> tuple[CheckResult, list[Call]]:
        """A single check on the same inputs as in `mark`, and its calls."""

        def attempt(session: Session, verdict: Verdict) -> tuple[CheckResult, list[Call]]:
            calls: list[Call] = []
            return self._check(check, checks, session, verdict, submission, calls), calls

        sources = source.units(submission.files, self.assignment.settings)
        with opening.tried(self.sandbox, sources, self._probe, attempt) as work:
            return work.found, work.calls

    def variant(self, submission: Submission) -> int:
        """Which variant of the inputs this work gets: always the same, unguessable without the course secret."""
        return secret.variant(self.circumstances.secret, self.digest, submission.digest)

    def seed(self, submission: Submission, check_id: str) -> int:
        """The seed of a check's inputs."""
        return secret.seed(self.circumstances.secret, self.digest, str(self.variant(submission)), check_id)

    def _variant_for(self, submission: Submission, verdict: Verdict) -> Variant:
        """What is known of the submission's variant; nothing where the inputs are translated for its function."""
        if verdict.adapter is not None:
            return Variant()
        return self.variants.setdefault(self.variant(submission), Variant())

    def _probe(self, session: Session) -> Verdict:
        """Whether and how the function can be called, in a few small calls."""
        settings = self.assignment.settings
        return contract.probe(
            session.loaded,
            session.call,
            settings.entry,
            self.staff.reference,
            self.staff.conventions,
            settings.conventions,
        )

    def _check(
        self,
        check: Check,
        checks: Checks,
        session: Session,
        verdict: Verdict,
        submission: Submission,
        calls: list[Call],
    ) -> CheckResult:
        """Run one check on fresh inputs from its own seed."""
        if self._left_out(check):
            return check.result("skipped", message=NO_DEVICE)
        if verdict.fatal:
            return check.result("failed", message=NOT_TRIED)
        started, before = time.perf_counter(), len(calls)
        ending = checks.run(check, self._student(check, session, verdict, submission, calls))
        if isinstance(ending.error, SandboxError):
            raise ending.error
        return self.reporter.check(check, ending, calls[before:], time.perf_counter() - started)

    def _student(
        self, check: Check, session: Session, verdict: Verdict, submission: Submission, calls: list[Call]
    ) -> Student:
        """The handle of one check, whose inputs are drawn from its own seed from now on."""
        # not torch.manual_seed: that formats a stack trace for each kind of accelerator, 0.8 ms a check
        torch.default_generator.manual_seed(self.seed(submission, check.id))
        return check.student(session, self.assignment.settings, calls, verdict.adapter)

    def _left_out(self, check: Check) -> bool:
        return check.device == GPU and self.circumstances.device == "none"

    def _diagnose(
        self, results: list[CheckResult], calls: list[Call], session: Session, verdict: Verdict
    ) -> tuple[list[DiagnosisResult], list[Flag]]:
        """What explains the calls, and what staff should know of it.

        A bug of ours in it costs the explanation and not the marks, except where these depend on the explanation.
        """
        try:
            return self._explanations(results, calls, session, verdict), []
        except GraderError:
            raise
        except Exception as error:
            if self.assignment.settings.partial_credit:
                raise
            return [], [staff_flags.broken_diagnosis(error)]

    def _explanations(
        self, results: list[CheckResult], calls: list[Call], session: Session, verdict: Verdict
    ) -> list[DiagnosisResult]:
        """Which known wrong ideas explain the calls; nothing to do for a submission that passed."""
        if verdict.fatal or self.staff.bank is None or all(result.status != "failed" for result in results):
            return []
        returns = self.assignment.settings.entry.returns
        if any(call.failure is None and not fits(call.output, returns) for call in calls):
            return []  # the numbers are not where they should be: whatever they seem to show could be wrong
        found = diagnose.diagnose(calls, self.staff.bank, self.staff.bounds, ask=session.call)
        return [one for one in found if not _told(one, verdict)]


def _told(found: DiagnosisResult, verdict: Verdict) -> bool:
    """Whether the probe's words explain it already: it says the same, or it is a crash that comes of the same."""
    if found.misconceptions and verdict.explains.issuperset(found.misconceptions):
        return True
    return bool(verdict.recognised) and not verdict.translated and crashes.follows(found.misconceptions)
