"""What each submission of the made-up class must get, as `sample_class.toml` lists it, beside what came out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from grader import settings_file
from grader.assignment import SAMPLE_CLASS, Assignment
from grader.results import Report, Struct, total
from grader.rules.policy import OURS

FOLDER = "sample_class"
_ENDED = {
    "failed": "failed, and not listed as that",
    "passed": "listed as failed, and passed",
    "skipped": "left out",
    "error": "broken, which is a fault of the check or of the grader",
}


class Listed(Struct, frozen=True):
    """What one submission must get."""

    score: float
    """What the checks give; lateness and decisions of staff are left out."""
    failed: list[str] | Literal["all"] = []
    """Ids of the checks that must fail; all others must pass."""
    diagnosis: list[str] = []
    """Misconceptions that must be named together; where it is empty, any may."""


def read(assignment: Assignment) -> dict[str, Listed]:
    """Submission id -> what it must get. Raises AssignmentError naming the file, the key and what was expected."""
    path = assignment.staff / SAMPLE_CLASS
    return settings_file.typed(path, settings_file.read(path), dict[str, Listed])


def differences(listed: dict[str, Listed], reports: Iterable[Report]) -> dict[str, list[str]]:
    """Submission id -> what is listed for it and what came out, of those where the two differ."""
    found = {name: ["listed, and not graded"] for name in listed}
    for report in reports:
        name = report.submission.id
        want = listed.get(name)
        found[name] = ["graded, and not listed"] if want is None else list(_differences(want, report))
    return {name: words for name, words in found.items() if words}


def _differences(want: Listed, report: Report) -> Iterator[str]:
    score = total(report.checks, [change for change in report.adjustments if change.kind not in OURS])
    if score != want.score:
        yield f"the score listed is {want.score:g}; it got {score:g}"
    checks = [check.id for check in report.checks]
    failed = set(checks if want.failed == "all" else want.failed)
    unknown = sorted(failed.difference(checks))
    if unknown:
        yield f"there is no check {', '.join(unknown)}, which is listed as failed"
    for status, words in _ENDED.items():
        other = [
            check.id
            for check in report.checks
            if check.status == status != ("failed" if check.id in failed else "passed")
        ]
        if other:
            yield f"{words}: {', '.join(other)}"
    named = [found.misconceptions for found in report.diagnoses]
    if want.diagnosis and want.diagnosis not in named:
        came = " or ".join(" + ".join(ids) for ids in named) or "none"
        yield f"the misconception listed is {' + '.join(want.diagnosis)}; the one found is {came}"
