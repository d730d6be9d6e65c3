"""A tiny course for the tests: one assignment, `double(x)`, whose every part fits on a screen."""

from __future__ import annotations

from pathlib import Path

from grader import assignment as assignments
from grader.assignment import Assignment
from grader.reporting import Circumstances

SETTINGS = """
title = "Twice a tensor"
files = ["double.py"]

[entry]
function = "double"
arguments = ["x"]
returns = ["y"]

[limits]
load_seconds = 3
call_seconds = 1
total_seconds = 6
memory_mb = 512
output_mb = 1
"""

MASTER = '''
# %%
from torch import Tensor


def double(x: Tensor) -> Tensor:
    """Twice x, elementwise. Shape and dtype stay."""
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION
'''

HIDDEN = '''
import torch

from grader.checks import expect, points


@points(3, gpu=1)
def test_values(student, reference, device):
    """Each value is doubled."""
    x = torch.randn(3, 4)
    expect.close(student(x), reference(x), bound=1e-6)


@points(2, hint="Work on a copy.")
def test_input(student):
    """The input stays as it was."""
    student(torch.randn(5))
    expect.unchanged(student.last)


@points(4)
def test_sizes(student):
    """Any size works."""
    for size in (1, 2, 7):
        with expect.case(f"size {size}"):
            expect.shape(student(torch.randn(size)), (size,))
'''

RIGHT = "def double(x):\n    return x + x\n"
CIRCUMSTANCES = Circumstances(secret=b"a secret of the course", level="A", device="emulated")


def make(
    root: Path, *, hidden: str = HIDDEN, settings: str = SETTINGS, master: str = MASTER, misconceptions: str = ""
) -> Assignment:
    """Write the course under `root` and load its assignment; with a bank of misconceptions where one is given."""
    public, staff = root / "assignments" / "double", root / "solutions" / "double"
    for folder in (public, staff):
        folder.mkdir(parents=True, exist_ok=True)
    (public / "assignment.toml").write_text(settings)
    (public / "test_double.py").write_text(HIDDEN.replace("reference(x)", "2 * x").replace("reference, ", ""))
    (staff / "double.py").write_text(master)
    (staff / "test_hidden.py").write_text(hidden)
    if misconceptions:
        (staff / "misconceptions.py").write_text(misconceptions)
    return assignments.load("double", root)
