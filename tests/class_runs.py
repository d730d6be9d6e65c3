"""Small classes of the tiny course, graded in this process or by the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from grader import assignment as assignments
from grader import batch, intake
from grader.batch import Outcome, Plan
from grader.ground import Ground
from grader.reporting import Circumstances
from grader.rules.policy import Policy
from grader.run_directory import RunDirectory
from tests import course

SECRET = b"a secret of this course"
WRONG = "def double(x):\n    return x * 3\n"
BROKEN = "def double(x)\n    return x\n"


def handed_in(folder: Path, count: int) -> Path:
    """`count` submissions, right and wrong in turn, each with a digest of its own."""
    for number in range(count):
        one = folder / f"s{number:04d}"
        one.mkdir(parents=True)
        text = (course.RIGHT, WRONG, BROKEN)[number % 3]
        (one / "double.py").write_text(f"{text}# {number}\n", encoding="utf-8")
    return folder


def plan(root: Path, submissions: Path, out: Path, base: Ground, **options: Any) -> Plan:
    """What `grader grade double` would do."""
    assignment = options.pop("assignment", None) or assignments.load("double", root)
    return Plan(
        assignment=assignment,
        intake=intake.scan([submissions], assignment.settings, roster=options.pop("people", None)),
        out=RunDirectory(out),
        circumstances=Circumstances(SECRET, base.canary.level, base.device),
        jobs=options.pop("jobs", 2),
        policy=options.pop("policy", Policy()),
        **options,
    )


def grade(root: Path, submissions: Path, out: Path, base: Ground, **options: Any) -> Outcome:
    """Grade in this process."""
    made = plan(root, submissions, out, base, **options)
    return batch.grade(made, batch.here(made, base.root), lambda _: None)


def command(root: Path, submissions: Path, out: Path, *more: str) -> list[str]:
    """The command that grades the same class, for `subprocess`."""
    words = ["grade", "double", str(submissions), "--out", str(out), "--insecure", *more]
    return [sys.executable, "-m", "grader", "--root", str(root), *words]


def environment() -> dict[str, str]:
    """The environment of such commands."""
    return os.environ | {"GRADER_SECRET": SECRET.decode(), "OMP_NUM_THREADS": "1"}


def run(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    options = {"env": environment(), "capture_output": True, "text": True, "check": False, "timeout": 120} | options
    return subprocess.run(words, **options)
