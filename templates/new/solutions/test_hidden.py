"""The hidden checks: 10 points, 1 of them on the accelerator."""

from __future__ import annotations

import torch
from bounds import bounds

from grader.checks import expect, points


@points(3, hint="The result has one number for each number of x.")
def test_shape(student):
    """The result has the shape of x."""
    for words, shape in (("2-D", (4, 6)), ("3-D", (2, 4, 6))):
        with expect.case(words):
            expect.shape(student(torch.randn(shape)), shape)


@points(4, gpu=1, hint="Which dimension holds the numbers of one row?")
def test_values(student, reference, device):
    """Each row is moved by its own mean."""
    x = torch.randn(2, 4, 6) + 3.0
    y = student(x)
    expect.shape(y, x.shape)
    expect.close(y, reference(x), bound=bounds(x)[0], axes=("row", "column"))


@points(2, hint="Operators such as -= write into the tensor that you were given.")
def test_input_unchanged(student):
    """x is left as it was."""
    student(torch.randn(4, 6))
    expect.unchanged(student.last)
