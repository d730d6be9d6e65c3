"""What the diagnosis of each failing submission of the made-up class costs, from its own calls in the sandbox."""

from __future__ import annotations

import time
from typing import Any

from bench.measure import ROOT
from grader import assignment as assignments
from grader import intake, staff
from grader.ground import ground
from grader.marker import Marker
from grader.reporting import Circumstances
from grader.results import DiagnosisResult, Report
from grader.sandbox.confined import ConfinedSandbox


class _Timed(Marker):
    """Notes the processor time of each diagnosis, in this process: the student's answers come from another one."""

    cost: list[tuple[float, str]]

    def _explanations(self, *given: Any) -> list[DiagnosisResult]:
        began = time.process_time()
        found = super()._explanations(*given)
        names = "; ".join(" + ".join(one.misconceptions) for one in found)
        self.cost.append(((time.process_time() - began) * 1e3, names))
        return found


def measured() -> tuple[list[tuple[float, str]], list[float]]:
    """(CPU milliseconds, who and what was found) of submissions that failed a check, and those of all others.

    A submission that was not called at all has no diagnosis and is in neither list.
    """
    assignment = assignments.load("attention", ROOT)
    handed_in = intake.scan([ROOT / "solutions" / "attention" / "sample_class"], assignment.settings)
    failing: list[tuple[float, str]] = []
    passing: list[float] = []
    with ground(assignment, "auto") as base:
        base.root.settle()
        sandbox = ConfinedSandbox(base.root, assignment.settings)
        circumstances = Circumstances(b"the secret of a benchmark", "A", base.device)
        marker = _Timed(assignment, staff.load(assignment), sandbox, circumstances)
        marker.cost = []

        def deliver(report: Report) -> None:
            if not marker.cost:
                return
            spent, names = marker.cost.pop()
            if any(check.status == "failed" for check in report.checks):
                failing.append((spent, f"{report.submission.id}: {names or 'nothing'}"))
            else:
                passing.append(spent)

        marker.run(map(handed_in.read, handed_in.entries), deliver)
    return failing, passing
