"""From what a marker found to a `Report`: the score, the words around it, and what staff should know."""

from __future__ import annotations

import platform
import traceback
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from torch import Tensor

import grader
from grader import explained, secret, staff_flags, suspicion
from grader.assignment import Assignment
from grader.call import Call
from grader.collected import GPU, Check, Ending
from grader.diagnosis.contract import Verdict
from grader.entry import Entry
from grader.expect import NoAnswer
from grader.reading import source
from grader.reading.source import Sources
from grader.results import (
    Adjustment,
    CheckResult,
    DiagnosisResult,
    EnvironmentInfo,
    Flag,
    Report,
    SandboxInfo,
    total,
)
from grader.sandbox.interface import Session
from grader.submission import Submission


@dataclass(frozen=True)
class Circumstances:
    """What a mark may depend on beside the submission, fixed for a whole run."""

    secret: bytes
    level: str
    """Sandbox level A, B or C."""
    device: str
    """What GPU checks run on: "emulated", a real accelerator's description, or "none" for --device cpu."""

    @property
    def seed_id(self) -> str:
        return secret.fingerprint(self.secret)


class Reporter:
    """Writes the reports of one run over one assignment."""

    def __init__(self, assignment: Assignment, digest: str, circumstances: Circumstances) -> None:
        self.assignment = assignment
        self.digest = digest
        self.circumstances = circumstances

    def check(self, check: Check, ending: Ending, calls: list[Call], seconds: float) -> CheckResult:
        """One check's result from how it ended and what it called."""
        common: dict[str, Any] = {
            "tried": tried(calls, self.assignment.settings.entry),
            "emulated": check.device == GPU and self.circumstances.device == "emulated",
            "seconds": round(seconds, 4),
        }
        failure = ending.failure
        if failure is None:
            message = ending.detail if ending.status == "skipped" else ""
            return check.result(ending.status, message=message, detail=ending.detail, **common)
        case = f"{_opening(failure.case)}: " if failure.case else ""
        return check.result(
            "failed",
            message=case + failure.message,
            hint=failure.hint or ("" if isinstance(failure, NoAnswer) else check.hint),
            detail=failure.detail,
            place=failure.place,
            reason=failure.reason,
            pictures=list(failure.pictures),
            **common,
        )

    def graded(
        self,
        submission: Submission,
        sources: Sources,
        session: Session,
        verdict: Verdict,
        results: list[CheckResult],
        calls: list[Call],
        diagnoses: list[DiagnosisResult],
        flags: list[Flag],
    ) -> Report:
        """The report of work that was loaded (or tried to be). `flags`: what came up beside the checks."""
        results = self._spread(results)
        words, place, diagnoses = explained.told(verdict, calls, diagnoses, self.assignment.settings.entry)
        info = submission.info()
        notes = [*info.notes, *sources.notes, *session.loaded.notes]
        info = msgspec.structs.replace(info, notes=notes, choice=sources.choice)
        whole = sum(result.max_score for result in results)
        adjustments = self._adjustments(results, diagnoses, verdict, whole)
        return Report(
            assignment=self.assignment.name,
            title=self.assignment.settings.title,
            submission=info,
            status="error" if any(result.status == "error" for result in results) else "graded",
            score=total(results, adjustments),
            max_score=round(whole, 3),
            checks=results,
            problem=verdict.words if verdict.fatal else "",
            problem_detail="\n".join(one.detail for one in session.loaded.problems if one.detail),
            place=place,
            diagnoses=diagnoses,
            conventions=[words] if words and not verdict.fatal else [],
            translated=verdict.translated,
            adjustments=adjustments,
            flags=[
                *flags,
                *staff_flags.of_work(session, calls),
                *suspicion.flags(sources),
                *staff_flags.of_choice(sources),
            ],
            sources=source.texts(sources, self.assignment.settings),
            output=session.output,
            sandbox=SandboxInfo(level=self.circumstances.level, layers=list(session.layers)),
            environment=self._environment(),
        )

    def unread(self, submission: Submission, sources: Sources, checks: list[Check]) -> Report:
        """Work that can't be read at all: the same denominator, the reason, and how to mend it."""
        problem = sources.problem
        results = [check.result("failed", message="There was no code to try.") for check in checks]
        reason = submission.problem or (problem.message if problem else "")
        report = self._without_calls(submission, self._spread(results), reason)
        info = report.submission
        info = msgspec.structs.replace(info, notes=[*info.notes, *sources.notes], choice=sources.choice)
        return msgspec.structs.replace(
            report, submission=info, flags=staff_flags.of_choice(sources), place=problem.place if problem else None
        )

    def broken(self, submission: Submission, checks: list[Check], error: BaseException) -> Report:
        """A bug of ours: every check is an error, nothing is the student's fault, staff see the traceback."""
        detail = "".join(traceback.format_exception(error))[-4000:]
        results = self._spread([check.result("error", detail=detail) for check in checks])
        return msgspec.structs.replace(self._without_calls(submission, results, ""), status="error")

    def _without_calls(self, submission: Submission, results: list[CheckResult], reason: str) -> Report:
        return Report(
            assignment=self.assignment.name,
            title=self.assignment.settings.title,
            submission=submission.info(),
            status="graded",
            score=0.0,
            max_score=round(sum(result.max_score for result in results), 3),
            checks=results,
            problem=reason,
            sandbox=SandboxInfo(level=self.circumstances.level, layers=[]),
            environment=self._environment(),
        )

    def _spread(self, results: list[CheckResult]) -> list[CheckResult]:
        """With --device cpu, spread the GPU points over the other checks if the assignment says so."""
        if self.circumstances.device != "none" or self.assignment.settings.without_device == "keep":
            return results
        whole = sum(result.max_score for result in results)
        kept = sum(result.max_score for result in results if result.device != GPU)
        factor = whole / kept if kept else 1.0
        return [_scaled(result, 0.0 if result.device == GPU else factor) for result in results]

    def _adjustments(
        self, results: list[CheckResult], diagnoses: list[DiagnosisResult], verdict: Verdict, whole: float
    ) -> list[Adjustment]:
        """Changes to the score that no check made: an adapter's price, partial credit for a named slip."""
        changes: list[Adjustment] = []
        if verdict.deduction and not verdict.fatal:
            points = -round(verdict.deduction * whole, 3)
            changes.append(Adjustment(kind="convention", points=points, reason=verdict.words))
        shares = self.assignment.settings.partial_credit
        named = {name for diagnosis in diagnoses for name in diagnosis.misconceptions if not diagnosis.alternatives}
        for name in sorted(named & set(shares)):
            points = sum(r.max_score * shares[name].get(r.id, 0.0) for r in results if r.status == "failed")
            if points:
                reason = f"Partial credit for one known slip: {name}"
                changes.append(Adjustment(kind="partial", points=round(points, 3), reason=reason))
        return changes

    def _environment(self) -> EnvironmentInfo:
        return EnvironmentInfo(
            grader=grader.__version__,
            torch=str(torch.__version__),
            python=platform.python_version(),
            seed_id=self.circumstances.seed_id,
            assignment_digest=self.digest,
            device=self.circumstances.device,
        )


def _opening(case: str) -> str:
    """The case as the beginning of a sentence; a name keeps its letter: d_k, mask=..., float64, the n of "n = 4"."""
    first, _, rest = case.partition(" ")
    word = first.strip(",:;").replace("-", "").isalpha() and not rest.startswith("=")
    return case[:1].upper() + case[1:] if word else case


def _scaled(result: CheckResult, factor: float) -> CheckResult:
    """The same result, worth `factor` as much."""
    return msgspec.structs.replace(
        result, score=round(result.score * factor, 4), max_score=round(result.max_score * factor, 4)
    )


def tried(calls: list[Call], entry: Entry) -> str:
    """What a check tried, in words: the arguments of its first call, and how many calls there were."""
    if not calls:
        return ""
    names = [parameter.split("=")[0].strip() for parameter in entry.arguments]
    arguments = [*zip(names, calls[0].args, strict=False), *calls[0].kwargs.items()]
    first = ", ".join(f"{name} {_in_words(value)}" for name, value in arguments)
    return first if len(calls) == 1 else f"{len(calls)} calls; the first: {first}"


def _in_words(value: Any) -> str:
    """A tensor as its sizes and dtype, anything else as Python writes it."""
    if isinstance(value, Tensor):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    return repr(value)[:60]
