"""`grader gradescope run`: what the container does with one submission.

A valid file of results lies there from the first moment on, and is replaced once, at the end, when nothing of the
student's is left running. The clock decides only when to give up: lateness and attempts come from the metadata, so
that a submission graded again gets the same mark.
"""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path
from typing import Any

import msgspec

from grader import assignment as assignments
from grader.assignment import Assignment
from grader.errors import GraderError, GraderFault, UsageError
from grader.pages.words import load_words
from grader.places.gradescope import attempts, metadata
from grader.places.gradescope.metadata import Metadata
from grader.places.gradescope.tree import Tree, budget, fault
from grader.results import Report
from grader.rules.policy import Policy


def run(root: Path, name: str, folder: Path, *, floor: str = "B") -> None:
    """Grade `folder`/submission into `folder`/results/results.json. `root`: the course folder, as it was built in.

    Raises GraderFault (and UsageError for a wrong configuration) once the results say that the mistake is ours.
    """
    started = time.monotonic()
    tree = Tree(folder)
    if not tree.root.is_dir():
        raise UsageError(
            f"{tree.root} is not there. This command is for Gradescope's machines; to rehearse it here, use "
            "`grader gradescope simulate ZIP SUBMISSION`."
        )
    tree.write(_fallback())
    tree.close_to_students()
    try:
        results = _results(root, name, tree, started, floor)
    except GraderError:
        raise
    except Exception as error:
        traceback.print_exc()
        raise GraderFault(f"A bug of the grader's: {error!r}. The student sees that the mistake is ours.") from error
    tree.write(results)


def _fallback() -> dict[str, Any]:
    words = load_words()
    return fault(f"{words['fix_fault']}. {words['fix_fault_text']}")


def _results(root: Path, name: str, tree: Tree, started: float, floor: str) -> dict[str, Any]:
    assignment = assignments.load(name, root)
    if not tree.submission.is_dir():
        raise UsageError(f"{tree.submission} is not there, so {tree.root} is not as Gradescope lays it out.")
    known = metadata.read(tree.metadata)
    if known.problem:
        print(f"Lateness and attempts are unknown: {known.problem}")
    old = attempts.standing(assignment.settings.late.attempts, known)
    if old is not None:
        print(f"Attempt {attempts.number(known)} is over the limit, so it was not graded: the earlier result stands.")
        return old
    # Only now, so that the fallback is there before the second that this takes.
    from grader.places.gradescope.results import Writer
    from grader.places.gradescope.staff_log import log

    seconds = budget(os.environ.get("TIMEOUT_SECONDS"))
    report = settle(_mark(root, assignment, tree, known, started + seconds, floor), assignment, known)
    print(log(report, known))
    folders = [one for one in (assignment.staff / "templates", root / "templates") if one.is_dir()]
    return Writer(folders).results(
        report,
        seconds=time.monotonic() - started,
        previous=known.counted[-1].results if known.counted else None,
        extra={"attempt": attempts.number(known), "due": known.due or assignment.settings.late.due},
    )


def _mark(root: Path, assignment: Assignment, tree: Tree, known: Metadata, deadline: float, floor: str) -> Report:
    from grader import clean_start, secret
    from grader.places import single
    from grader.submission import Submission

    def identify(submission: Submission) -> Submission:
        return msgspec.structs.replace(
            submission,
            id=known.id or "submission",
            people=list(known.people),
            submitted_at=known.submitted_at,
            attempt=attempts.number(known),
            attempts=attempts.number(known),
        )

    return single.mark(
        single.Task(
            assignment=assignment,
            folder=tree.submission,
            secret=lambda: secret.course_secret(root, clean_start.given_secret()),
            deadline=deadline,
            identify=identify,
            floor=floor,
        )
    )


def settle(report: Report, assignment: Assignment, known: Metadata) -> Report:
    """The report after lateness and the limit of attempts. The service's due date goes before the assignment's own."""
    rules = assignment.settings.late
    return Policy(late=msgspec.structs.replace(rules, due=known.due or rules.due))(report)
