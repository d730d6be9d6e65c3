"""Right work whose function needs more than the names in it lead to gets its marks all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import staff
from grader.marker import Marker
from grader.public import check
from grader.results import Report
from grader.sandbox.confined import ConfinedSandbox
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile, Submission
from tests import course

REGISTRY = """
STEPS = {}

def step(name):
    def keep(function):
        STEPS[name] = function
        return function
    return keep

@step("twice")
def twice(x):
    return x + x

def double(x):
    return STEPS["twice"](x)
"""
SUBCLASSES = """
class Step:
    known = []

    def __init_subclass__(cls):
        Step.known.append(cls)

class Twice(Step):
    def __call__(self, x):
        return x * 2

def double(x):
    return Step.known[0]()(x)
"""
ARGUMENT = """
OPTIONS = dict(a=1)

def configure(options):
    options["factor"] = 2

configure(OPTIONS)

def double(x):
    return OPTIONS["factor"] * x
"""
DISPATCH = """
import functools
import torch

@functools.singledispatch
def double(x):
    raise NotImplementedError

@double.register
def _(x: torch.Tensor):
    return 2 * x
"""
REPLACED = """
def use(function):
    return lambda stub: lambda x: function(x)

def twice(x):
    return 2 * x

@use(twice)
def double(x):
    ...
"""
LATER = "def double(x):\n    pass\n\ndouble = lambda x: 2 * x\n"
TEXT = 'exec("def double(x):\\n    return 2 * x")\n'
LOOP = """
def made(factor):
    def double(x):
        return factor * x
    return double

for name, factor in {"double": 2}.items():
    globals()[name] = made(factor)
"""
ATTRIBUTE = "import sys\n\ndef twice(x):\n    return 2 * x\n\nsetattr(sys.modules[__name__], 'double', twice)\n"
SIBLING = "import steps\n\ndef double(x):\n    return steps.KNOWN[0](x)\n"
STEPS = "KNOWN = []\nkeep = KNOWN.append\n\n@keep\ndef twice(x):\n    return 2 * x\n"


def mark(root: Zygote, tmp_path: Path, text: str, **others: str) -> Report:
    """The report on double.py with the tiny assignment, loaded as students' code is."""
    assignment = course.make(tmp_path)
    files = [SourceFile("double.py", text.encode())]
    files += [SourceFile(f"{name}.py", body.encode()) for name, body in others.items()]
    reports: list[Report] = []
    marker = Marker(
        assignment, staff.load(assignment), ConfinedSandbox(root, assignment.settings), course.CIRCUMSTANCES
    )
    marker.run([Submission(id="ada", files=files)], reports.append)
    return reports[0]


WORKS = {
    "registry": REGISTRY,
    "subclasses": SUBCLASSES,
    "argument": ARGUMENT,
    "dispatch": DISPATCH,
    "replaced": REPLACED,
    "later": LATER,
    "text": TEXT,
    "loop": LOOP,
    "attribute": ATTRIBUTE,
}


@pytest.mark.parametrize("text", WORKS.values(), ids=WORKS)
def test_what_the_whole_file_makes_right_is_right(root: Zygote, tmp_path: Path, text: str) -> None:
    """A function that works once its file is imported gets full marks, however its parts came together."""
    report = mark(root, tmp_path, text)
    assert report.score == report.max_score, [check.message for check in report.checks]


@pytest.mark.parametrize("text", WORKS.values(), ids=WORKS)
def test_it_is_right_on_the_students_own_machine_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """`grader check` opens the file as the marker does: nobody sees failures at home and passes in the course."""
    course.make(tmp_path)
    (tmp_path / "double.py").write_text(text)
    assert check(tmp_path, "double", tmp_path / "double.py"), capsys.readouterr().out
    assert "3 of 3 public checks passed." in capsys.readouterr().out


def test_the_other_files_are_run_as_well(root: Zygote, tmp_path: Path) -> None:
    """A registry may stand in a file of its own, in the course and at home."""
    report = mark(root, tmp_path, SIBLING, steps=STEPS)
    assert report.score == report.max_score, [check.message for check in report.checks]
    (tmp_path / "steps.py").write_text(STEPS)
    (tmp_path / "double.py").write_text(SIBLING)
    assert check(tmp_path, "double", tmp_path / "double.py")


def test_a_wrong_function_is_not_told_about_the_rest_of_its_file(root: Zygote, tmp_path: Path) -> None:
    """Where running everything helps nothing, the report is on the function, not on what else the file does."""
    report = mark(root, tmp_path, "def double(x):\n    return x.nowhere\n\nimport sys\nsys.exit(1)\n")
    assert report.score == 0
    assert "AttributeError" in report.checks[0].message
    assert not report.problem


def test_an_empty_function_is_still_not_written_yet(root: Zygote, tmp_path: Path) -> None:
    """The starter's own stub is named as one, whatever stands around it."""
    report = mark(
        root, tmp_path, "import torch\n\ndef double(x):\n    raise NotImplementedError\n\nprint(torch.ones(2))\n"
    )
    assert (report.score, "not written yet" in report.problem) == (0, True)
