"""What staff should look at in a submission, beside lines that look suspicious (`suspicion`). Changes no mark."""

from __future__ import annotations

import traceback
from pathlib import Path

from grader.call import Call
from grader.reading.source import Sources
from grader.results import Flag
from grader.sandbox.interface import Session

LIMITS = {
    "timeout": "was stopped because it ran too long",
    "memory": "asked for more memory than it may have",
    "output": "printed more than it may",
    "malformed": "broke the connection to the grader, or the grader broke in its process: see the detail",
}


def broken_diagnosis(error: Exception) -> Flag:
    """Staff learn that it is our bug which keeps a submission without an explanation, and where that bug is."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"
    return Flag(
        id="diagnosis-broke",
        message=f"The marks stand, but the grader broke while it looked for what explains them: {type(error).__name__} "
        f"in {place}: {str(error)[:200]}. No misconception is named. Report it; once it is mended, grade with --fresh.",
    )


def of_work(session: Session, calls: list[Call]) -> list[Flag]:
    """What staff should look at: limits that were hit, and lines that name what should be written by hand."""
    kinds = [call.failure.kind for call in calls if call.failure] + [one.kind for one in session.loaded.problems]
    flags = [
        Flag(id=f"limit-{kind}", message=f"The student's code {words}.")
        for kind, words in LIMITS.items()
        if kind in kinds
    ]
    named = "This line names something of the library's that the assignment wants written by hand."
    return flags + [Flag(id="library", message=named, place=place) for place in session.loaded.banned[:3]]


def of_choice(sources: Sources) -> list[Flag]:
    """A choice between files may have gone wrong: the class page shows it."""
    return [Flag(id="other-file", message=note) for note in sources.choice]
