"""What a run prints: Gradescope shows it to staff only. Never a secret, and student text only in a frame."""

from __future__ import annotations

from collections.abc import Iterator

from grader.pages.summary import number
from grader.places.gradescope.metadata import Metadata
from grader.results import Report
from grader.text import clean

_DETAIL = 1500
_PRINTED = 4000
_DETAILS = 12


def log(report: Report, known: Metadata) -> str:
    """A few lines about the run, then what only staff should read."""
    return "\n".join(_lines(report, known))


def _lines(report: Report, known: Metadata) -> Iterator[str]:
    environment, sandbox = report.environment, report.sandbox
    yield f"{number(report.score)} of {number(report.max_score)} points in {report.seconds:.1f} s"
    yield f"Grader {environment.grader}, PyTorch {environment.torch}, Python {environment.python}"
    yield f"Sandbox level {sandbox.level} ({', '.join(sandbox.layers) or 'nothing was run'})"
    yield f"GPU checks: {environment.device}. Seed id: {environment.seed_id}"
    if known.total_points is not None and abs(known.total_points - report.max_score) > 0.01:
        yield (
            f"The assignment is worth {number(known.total_points)} points on Gradescope, "
            f"and the checks add up to {number(report.max_score)}. Right if the rest is graded by hand."
        )
    for note in report.submission.notes:
        yield f"Note: {clean(note, 500)}"
    for flag in report.flags:
        yield f"Flag {clean(flag.id, 80)}: {clean(flag.message, 500)}"
    for diagnosis in report.diagnoses:
        yield f"Diagnosis: {', '.join(diagnosis.misconceptions)}. {clean(diagnosis.evidence, 500)}"
    broken = [check for check in report.checks if check.status == "error"]
    if broken:
        yield f"OUR FAULT: {len(broken)} checks did not end. Repeat the run; if it happens again, look below."
    details = [check for check in report.checks if check.detail]
    for check in sorted(details, key=lambda one: one.status != "error")[:_DETAILS]:
        yield f"Detail of {check.id} ({check.status}):"
        yield _framed(check.detail, _DETAIL)
    if report.problem_detail:
        yield "Detail of the problem:"
        yield _framed(report.problem_detail, _DETAIL)
    if report.output:
        yield "The student's code printed:"
        yield _framed(report.output, _PRINTED)


def _framed(text: str, limit: int) -> str:
    return "\n".join(f"│ {line}" for line in clean(text, limit).split("\n"))
