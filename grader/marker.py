"""The main path: one submission in, one report out. Read it from the top.

A marker is the only process that holds both the staff half of the assignment and an answer of the student's. It
decides every verdict itself, from bytes; student code runs elsewhere.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

import grader
from grader import contract, diagnose, secret, source
from grader.assignment import Assignment
from grader.call import Call
from grader.collect import GPU, Check, Checks, Ending, collect
from grader.errors import SandboxError
from grader.expect import CheckFailure
from grader.results import (
    Adjustment,
    CheckResult,
    DiagnosisResult,
    EnvironmentInfo,
    Flag,
    Place,
    Report,
    SandboxInfo,
    total,
)
from grader.sandbox.interface import Sandbox, Session
from grader.source import Sources
from grader.staff import Staff
from grader.student import Student
from grader.submission import Submission


@dataclass(frozen=True)
class Circumstances:
    """What a mark may depend on beside the submission, fixed for a whole run."""

    secret: bytes
    level: str
    device: str
    """What GPU checks run on: "emulated", a real accelerator's description, or "none" for --device cpu."""

    @property
    def seed_id(self) -> str:
        return secret.fingerprint(self.secret)


class Marker:
    """Marks submissions of one assignment, one after the other, with the checks collected once."""

    def __init__(self, assignment: Assignment, staff: Staff, sandbox: Sandbox, circumstances: Circumstances) -> None:
        self.assignment = assignment
        self.staff = staff
        self.sandbox = sandbox
        self.circumstances = circumstances
        self.digest = assignment.digest()

    def run(self, submissions: Iterable[Submission], deliver: Callable[[Report], None]) -> None:
        """Mark each submission as it comes and deliver its report. Raises SandboxError when a zygote is lost."""

        def work(checks: Checks) -> None:
            for submission in submissions:
                deliver(self.mark(submission, checks))

        collect(self.assignment.hidden_checks, Checks(self.staff.in_double, work))

    def mark(self, submission: Submission, checks: Checks) -> Report:
        """Everything that happens to one submission, in order."""
        started = time.perf_counter()
        sources = source.units(submission.files, self.assignment.settings)
        reason = submission.problem or (sources.problem.message if sources.problem else "")
        if reason:
            return self._unread(submission, sources, checks, reason, started)
        session = self.sandbox.open(sources)
        try:
            verdict = contract.probe(
                session.loaded,
                lambda args, kwargs: session.call(args, kwargs),
                self.assignment.settings.entry,
                self.staff.reference,
                self.staff.conventions,
                self.assignment.settings.conventions,
            )
            calls: list[Call] = []
            results = [self._check(check, checks, session, verdict, submission, calls) for check in checks.checks]
            diagnoses = self._diagnose(results, calls, session, verdict)
        finally:
            session.close()
        return self._report(submission, sources, session, verdict, self._spread(results), diagnoses, started)

    # --- the steps ---

    def _check(
        self,
        check: Check,
        checks: Checks,
        session: Session,
        verdict: contract.Verdict,
        submission: Submission,
        calls: list[Call],
    ) -> CheckResult:
        """Run one check on fresh inputs from its own seed."""
        if check.device == GPU and self.circumstances.device == "none":
            return check.result(
                "skipped", message="This check needs an accelerator, and the run was told to use the CPU."
            )
        if verdict.fatal:
            return check.result("failed", message="Your function could not be called, so this was not tried.")
        started = time.perf_counter()
        # not torch.manual_seed: that formats a stack trace for each kind of accelerator, 0.8 ms a check
        torch.default_generator.manual_seed(self.seed(submission, check))
        student = Student(
            session,
            self.assignment.settings.entry,
            device=check.device,
            check=check.id,
            calls=calls,
            adapter=verdict.adapter,
        )
        before = len(calls)
        ending = checks.run(check, student)
        if isinstance(ending.error, SandboxError):
            raise ending.error
        return self._result(check, ending, calls[before:], time.perf_counter() - started)

    def seed(self, submission: Submission, check: Check) -> int:
        """The seed of a check's inputs: the same for the same work, unguessable without the course secret."""
        return secret.seed(self.circumstances.secret, self.digest, submission.digest, check.id)

    def _result(self, check: Check, ending: Ending, calls: list[Call], seconds: float) -> CheckResult:
        emulated = check.device == GPU and self.circumstances.device == "emulated"
        tried = tried_in_words(calls)
        if ending.failure is None:
            return check.result(
                ending.status,
                detail=ending.detail,
                tried=tried,
                emulated=emulated,
                seconds=round(seconds, 4),
                message=ending.detail if ending.status == "skipped" else "",
            )
        failure: CheckFailure = ending.failure
        return check.result(
            "failed",
            message=f"{failure.case[:1].upper()}{failure.case[1:]}: {failure.message}"
            if failure.case
            else failure.message,
            hint=failure.hint or check.hint,
            detail=failure.detail,
            place=failure.place,
            pictures=list(failure.pictures),
            tried=tried,
            emulated=emulated,
            seconds=round(seconds, 4),
        )

    def _diagnose(
        self, results: list[CheckResult], calls: list[Call], session: Session, verdict: contract.Verdict
    ) -> list[DiagnosisResult]:
        """Which known wrong ideas explain the calls; nothing to do for a submission that passed."""
        if verdict.fatal or self.staff.bank is None or not any(result.status == "failed" for result in results):
            return []

        def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
            raw = session.call(args, kwargs)
            return replace(raw, check="diagnosis")

        return diagnose.diagnose(calls, self.staff.bank, self.staff.reference, self.staff.bounds, ask=ask)

    def _spread(self, results: list[CheckResult]) -> list[CheckResult]:
        """With --device cpu, spread the skipped GPU points over the other checks if the assignment says so."""
        if self.circumstances.device != "none" or self.assignment.settings.without_device == "keep":
            return results
        whole = sum(result.max_score for result in results)
        kept = sum(result.max_score for result in results if result.device != GPU)
        factor = whole / kept if kept else 1.0
        return [_scaled(result, 0.0 if result.device == GPU else factor) for result in results]

    # --- the report ---

    def _report(
        self,
        submission: Submission,
        sources: Sources,
        session: Session,
        verdict: contract.Verdict,
        results: list[CheckResult],
        diagnoses: list[DiagnosisResult],
        started: float,
    ) -> Report:
        loaded = session.loaded
        info = submission.info()
        notes = [*info.notes, *sources.notes, *loaded.notes]
        whole = sum(result.max_score for result in results)
        adjustments = self._adjustments(results, diagnoses, verdict, whole)
        problem = verdict.words if verdict.fatal else ""
        return Report(
            assignment=self.assignment.name,
            title=self.assignment.settings.title,
            submission=replace_info(info, notes),
            status="error" if any(result.status == "error" for result in results) else "graded",
            score=total(results, adjustments),
            max_score=round(whole, 3),
            checks=results,
            problem=problem,
            place=verdict.place,
            diagnoses=diagnoses,
            conventions=[] if verdict.fatal or not verdict.words else [verdict.words],
            adjustments=adjustments,
            flags=_flags(loaded.banned, results),
            sources=source.texts(submission.files, sources),
            output=session.output,
            sandbox=SandboxInfo(level=self.circumstances.level, layers=list(session.layers)),
            environment=self._environment(),
            seconds=round(time.perf_counter() - started, 4),
        )

    def _unread(self, submission: Submission, sources: Sources, checks: Checks, reason: str, started: float) -> Report:
        """A row for work that can't be read at all: the same denominator, the reason, and how to mend it."""
        results = self._spread([check.result("failed", message="There was no code to try.") for check in checks.checks])
        return Report(
            assignment=self.assignment.name,
            title=self.assignment.settings.title,
            submission=submission.info(),
            status="graded",
            score=0.0,
            max_score=round(sum(result.max_score for result in results), 3),
            checks=results,
            problem=reason,
            place=sources.problem.place if sources.problem else None,
            sandbox=SandboxInfo(level=self.circumstances.level, layers=[]),
            environment=self._environment(),
            seconds=round(time.perf_counter() - started, 4),
        )

    def _adjustments(
        self, results: list[CheckResult], diagnoses: list[DiagnosisResult], verdict: contract.Verdict, whole: float
    ) -> list[Adjustment]:
        """Changes to the score that no check made: an adapter's price, partial credit for a named slip."""
        changes: list[Adjustment] = []
        if verdict.deduction and not verdict.fatal:
            points = -round(verdict.deduction * whole, 3)
            changes.append(Adjustment(kind="convention", points=points, reason=verdict.words))
        named = {name for diagnosis in diagnoses for name in diagnosis.misconceptions if not diagnosis.alternatives}
        for name in sorted(named & set(self.assignment.settings.partial_credit)):
            shares = self.assignment.settings.partial_credit[name]
            points = sum(r.max_score * shares.get(r.id, 0.0) for r in results if r.status == "failed")
            if points:
                changes.append(Adjustment(kind="partial", points=round(points, 3), reason=f"one known slip: {name}"))
        return changes

    def _environment(self) -> EnvironmentInfo:
        return EnvironmentInfo(
            grader=grader.__version__,
            torch=torch.__version__,
            python=platform.python_version(),
            seed_id=self.circumstances.seed_id,
            assignment_digest=self.digest,
            device=self.circumstances.device,
        )
