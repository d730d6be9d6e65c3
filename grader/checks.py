"""What the author of a check imports: `points` for a test's worth, `expect` for what must hold.

A check is an ordinary pytest test. Its docstring is the title that students see; it takes the fixtures
`student` (call it like the function), `reference` (the staff function in float64) and, when it should run on the
accelerator too, `device`. See docs/writing-checks.md.
"""

from __future__ import annotations

from typing import Any

import pytest

from grader import expect
from grader.expect import CheckFailure
from grader.gradients import vjp
from grader.results import Visibility

__all__ = ["CheckFailure", "expect", "points", "vjp"]


def points(
    worth: float,
    *,
    gpu: float = 0.0,
    visibility: Visibility = "visible",
    hint: str = "",
    watched: bool = False,
) -> pytest.MarkDecorator:
    """How much a check is worth, on the CPU and (for a test that takes `device`) on the accelerator.

    `hint` is shown with any failure that brings no hint of its own; `visibility` is Gradescope's. `watched` counts
    the operators that the calls run: `student.last.ops` and `student.last.largest`.
    """
    arguments: dict[str, Any] = {"gpu": float(gpu), "visibility": visibility, "hint": hint, "watched": watched}
    return pytest.mark.points(float(worth), **arguments)
