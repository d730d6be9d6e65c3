"""`grader replay`: one check of one submission again, on exactly the same inputs, with everything shown to staff."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from grader import assignment as assignments
from grader import clean_start, intake, secret, staff
from grader.call import Call
from grader.collect import Checks, collect
from grader.errors import UsageError
from grader.ground import ground
from grader.marker import Marker
from grader.replay_report import ReplayReport
from grader.reporting import Circumstances
from grader.results import CheckResult, Report
from grader.run_directory import RunDirectory
from grader.sandbox.confined import ConfinedSandbox
from grader.submission import Submission


def replay(
    root: Path, run: Path, submission_id: str, check_id: str, paths: tuple[Path, ...], *, whole: bool = False
) -> None:
    """Run the check again and print how it ended, then the call that it failed at: inputs, answer, what was expected.

    `whole`: every call, and every number.
    `paths` are the submissions as they were given to `grader grade`: a run keeps results, not the work itself.
    Raises UsageError when the work there is not the work that was graded, or the seed would be another.
    """
    directory = RunDirectory(run)
    info = directory.info()
    if submission_id not in directory.submissions():
        raise UsageError(f"{run} has no result of {submission_id!r}. Its results are in {run / 'results'}.")
    old = directory.read(submission_id)
    if check_id not in {check.id for check in old.checks}:
        raise UsageError(f"There is no check {check_id!r}. There are: {', '.join(c.id for c in old.checks)}.")
    assignment = assignments.load(info.assignment, root)
    roster = Path(info.roster) if info.roster else None
    with ground(assignment, "cpu" if old.environment.device == "none" else "auto") as base:
        submission = _same_work(intake.scan(paths, assignment.settings, source=info.source, roster=roster), old)
        circumstances = Circumstances(
            secret.course_secret(root, clean_start.given_secret()), base.canary.level, base.device
        )
        _refuse_other_seed(circumstances, assignment.digest(), old)
        done: list[tuple[CheckResult, list[Call]]] = []
        marker = Marker(
            assignment, staff.load(assignment), ConfinedSandbox(base.root, assignment.settings), circumstances
        )

        def work(checks: Checks) -> None:
            check = next(one for one in checks.checks if one.id == check_id)
            done.append(marker.one(submission, check, checks))

        collect(assignment.hidden_checks, Checks(marker.staff.in_double, work))
    before = next(check for check in old.checks if check.id == check_id)
    pages = ReplayReport(assignment.settings.entry, marker.staff.reference, whole=whole)
    pages.show(Console(highlight=False), *done[0], _compared(done[0][0], before))


def _same_work(taken: intake.Intake, old: Report) -> Submission:
    for entry in taken.entries:
        submission = taken.read(entry)
        if submission.digest == old.submission.digest:
            return submission
    raise UsageError(
        f"The work that was graded as {old.submission.id!r} is not among these submissions. "
        "Give the same paths as to `grader grade`. If they are, a file of it has changed since: grade again."
    )


def _refuse_other_seed(circumstances: Circumstances, digest: str, old: Report) -> None:
    if circumstances.seed_id != old.environment.seed_id:
        raise UsageError("The course secret is another one than in that run, so the inputs would differ.")
    if digest != old.environment.assignment_digest:
        raise UsageError("The assignment has changed since that run, so the inputs would differ. Grade again.")


def _compared(now: CheckResult, before: CheckResult) -> str:
    """How the check ended, beside how it ended in the run."""
    if now.status == before.status:
        return f"{now.status}, as in the run"
    return f"{now.status} now; in the run it was {before.status}"
