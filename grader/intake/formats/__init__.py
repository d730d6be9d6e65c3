"""The forms in which work arrives, one module each. To add one: write its module and put it in `FORMATS`."""

from __future__ import annotations

from grader.intake.formats import blackboard, brightspace, canvas, github, gradescope, moodle, nbgrader, plain
from grader.intake.formats.form import Format

FORMATS: tuple[Format, ...] = (
    gradescope.FORMAT,
    nbgrader.FORMAT,
    moodle.FORMAT,
    blackboard.FORMAT,
    brightspace.FORMAT,
    github.FORMAT,
    canvas.FORMAT,
    plain.ONE,
    plain.FOLDERS,
    plain.FILES,
)
"""In the order in which they are tried: the surest marks first."""

__all__ = ["FORMATS", "Format"]
