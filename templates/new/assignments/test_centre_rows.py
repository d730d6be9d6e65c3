"""Public checks: `grader check centre_rows centre_rows.py` runs them on your own machine. They are not the mark."""

from __future__ import annotations

import torch

from grader.checks import expect, points

ROUNDING = 1e-5
"""More than what float32 rounds off at these sizes, and far less than what a wrong formula is off by."""


@points(1)
def test_rows_have_mean_zero(student):
    """Each row of the result has mean 0."""
    x = torch.randn(4, 5)  # (N, D)
    y = student(x)
    expect.shape(y, (4, 5))
    expect.close(y.mean(-1), 0.0, bound=ROUNDING, name="The mean of a row", axes=("", "row"))
