"""`grader replay`: one check of one submission again, on exactly the same inputs, with everything shown to staff."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from grader import assignment as assignments
from grader import clean_start, intake, secret, staff
from grader.call import Call
from grader.collect import Checks, collect
from grader.errors import UsageError
from grader.ground import ground
from grader.marker import Marker
from grader.reporting import Circumstances
from grader.results import CheckResult, Report
from grader.run_directory import RunDirectory
from grader.sandbox.confined import ConfinedSandbox
from grader.submission import Submission
from grader.text import for_terminal


def replay(root: Path, run: Path, submission_id: str, check_id: str, paths: tuple[Path, ...]) -> None:
    """Run the check again and print each call with its inputs and what came of it.

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
    _show(Console(highlight=False), *done[0], old)


def _same_work(taken: intake.Intake, old: Report) -> Submission:
    for entry in taken.entries:
        submission = taken.read(entry)
        if submission.digest == old.submission.digest:
            return submission
    raise UsageError(
        f"The work that was graded as {old.submission.id!r} is not among these submissions. "
        "Give the same paths as to `grader grade`."
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


def _show(console: Console, result: CheckResult, calls: list[Call], old: Report) -> None:
    before = next(check for check in old.checks if check.id == result.id)
    console.print(f"[bold]{escape(result.title)}[/] ({result.id}): {_compared(result, before)}")
    for number, call in enumerate(calls, 1):
        console.rule(f"call {number} of {len(calls)}  {escape(call.case)}")
        for index, argument in enumerate((*call.args, *call.kwargs.values()), 1):
            console.print(escape(f"argument {index}: {argument}"))
        if call.failure is None:
            console.print(escape(for_terminal(f"returned: {call.output}", 4000)))
        else:
            console.print(
                escape(for_terminal(f"{call.failure.kind}: {call.failure.type} {call.failure.message}", 2000))
            )
            console.print(escape(for_terminal(call.failure.trace, 4000)))
    console.rule("verdict")
    for words in (result.message, result.hint, result.detail):
        if words:
            console.print(escape(words))
