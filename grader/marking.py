"""One opened submission and the checks of its assignment: every result, all calls, and what explains them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
import torch

from grader import staff_flags
from grader.answers import fits
from grader.assignment import Assignment
from grader.call import Call
from grader.collect import Checks
from grader.collected import GPU, Check
from grader.diagnosis import again, crashes
from grader.diagnosis.contract import Verdict
from grader.errors import GraderError, SandboxError
from grader.foresight import Variant, foresee
from grader.reporting import Reporter
from grader.results import CheckResult, DiagnosisResult, Flag
from grader.sandbox.interface import Session
from grader.staff import Staff
from grader.student import Student

NO_DEVICE = "This check needs an accelerator, and the run was told to use the CPU only."
NOT_TRIED = "Your function could not be called, so this was not tried."


@dataclass
class Marking:
    """The checks on one opened submission."""

    assignment: Assignment
    staff: Staff
    checks: Checks
    reporter: Reporter
    seed: Callable[[str], int]
    """Check id -> the seed of its inputs."""
    variant: Variant
    """What is known of the inputs that the submission gets, which others share."""
    session: Session
    verdict: Verdict
    calls: list[Call] = field(default_factory=list)

    def results(self, heard: Callable[[CheckResult], None] | None = None) -> list[CheckResult]:
        """The result of every check. `heard` is told each at once, for those who can't wait for the others."""
        results: list[CheckResult] = []
        foreseen = foresee(
            self.variant,
            self.checks,
            [] if self.verdict.fatal else [check for check in self.checks.checks if not self._left_out(check)],
            self.session,
            lambda check, notes: self._student(check, notes, []),
            apart=heard is not None,
        )
        for check in self.checks.checks:
            started, before = time.perf_counter(), len(self.calls)
            known = foreseen.judged(check)
            if known is None:
                results.append(self.check(check, foreseen))
                foreseen.keep(check, results[-1], self.calls[before:])
            else:
                seconds = round(time.perf_counter() - started, 4)
                results.append(msgspec.structs.replace(known[0], seconds=seconds))
                self.calls += known[1]
            if heard is not None:
                heard(results[-1])
        return results

    def check(self, check: Check, session: Session) -> CheckResult:
        """Run one check on inputs from its own seed, whatever is known of the same answers."""
        if self._left_out(check):
            return check.result("skipped", message=NO_DEVICE)
        if self.verdict.fatal:
            return check.result("failed", message=NOT_TRIED)
        started, before = time.perf_counter(), len(self.calls)
        ending = self.checks.run(check, self._student(check, session, self.calls))
        if isinstance(ending.error, SandboxError):
            raise ending.error
        return self.reporter.check(check, ending, self.calls[before:], time.perf_counter() - started)

    def diagnose(self, results: Sequence[CheckResult]) -> tuple[list[DiagnosisResult], list[Flag]]:
        """What explains the calls, and what staff should know of it.

        A bug of ours in it costs the explanation and not the marks, except where these depend on the explanation.
        """
        try:
            return self._explanations(results), []
        except GraderError:
            raise
        except Exception as error:
            if self.assignment.settings.partial_credit:
                raise
            return [], [staff_flags.broken_diagnosis(error)]

    def _student(self, check: Check, session: Session, calls: list[Call]) -> Student:
        """The handle of one check, whose inputs are drawn from its own seed from now on."""
        # not torch.manual_seed: that formats a stack trace for each kind of accelerator, 0.8 ms a check
        torch.default_generator.manual_seed(self.seed(check.id))
        return check.student(session, self.assignment.settings, calls, self.verdict.adapter)

    def _left_out(self, check: Check) -> bool:
        return check.device == GPU and self.reporter.circumstances.device == "none"

    def _explanations(self, results: Sequence[CheckResult]) -> list[DiagnosisResult]:
        """Which known wrong ideas explain the calls; nothing to do for a submission that passed."""
        bank = self.staff.bank
        if self.verdict.fatal or bank is None or all(result.status != "failed" for result in results):
            return []
        returns = self.assignment.settings.entry.returns
        if any(call.failure is None and not fits(call.output, returns) for call in self.calls):
            return []  # the numbers are not where they should be: whatever they seem to show could be wrong
        found = again.explain(self.variant.explained, self.calls, bank, self.staff.bounds, self.session.call)
        return [one for one in found if not _told(one, self.verdict)]


def _told(found: DiagnosisResult, verdict: Verdict) -> bool:
    """Whether the probe's words explain it already: it says the same, or it is a crash that comes of the same."""
    if found.misconceptions and verdict.explains.issuperset(found.misconceptions):
        return True
    return bool(verdict.recognised) and not verdict.translated and crashes.follows(found.misconceptions)
