"""What the diagnosis of each failing submission of the made-up class costs, from its own calls in the sandbox."""

from __future__ import annotations

import time
from collections.abc import Sequence
from unittest.mock import patch

from bench.measure import ROOT
from grader import assignment as assignments
from grader import intake, staff
from grader.ground import ground
from grader.marker import Marker
from grader.marking import Marking
from grader.reporting import Circumstances
from grader.results import CheckResult, DiagnosisResult, Flag, Report
from grader.sandbox.confined import ConfinedSandbox


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
        marker = Marker(assignment, staff.load(assignment), sandbox, circumstances)
        cost: list[tuple[float, str]] = []
        diagnose = Marking.diagnose

        def timed(marking: Marking, results: Sequence[CheckResult]) -> tuple[list[DiagnosisResult], list[Flag]]:
            """Notes the processor time, in this process: the student's answers come from another one."""
            began = time.process_time()
            found, flags = diagnose(marking, results)
            names = "; ".join(" + ".join(one.misconceptions) for one in found)
            cost.append(((time.process_time() - began) * 1e3, names))
            return found, flags

        def deliver(report: Report) -> None:
            if not cost:
                return
            spent, names = cost.pop()
            if any(check.status == "failed" for check in report.checks):
                failing.append((spent, f"{report.submission.id}: {names or 'nothing'}"))
            else:
                passing.append(spent)

        with patch.object(Marking, "diagnose", timed):
            marker.run(map(handed_in.read, handed_in.entries), deliver)
    return failing, passing
