"""`grader gradescope build`: everything that Gradescope needs, in one zip that is the same for the same inputs."""

from __future__ import annotations

import hashlib
import math
import shlex
from pathlib import Path

import click

from grader import agreement, secret, staff
from grader import assignment as assignments
from grader.assignment import Assignment
from grader.collect import Checks, collect
from grader.collected import Check
from grader.errors import UsageError
from grader.pages.render import environment
from grader.pages.words import BUILT_IN
from grader.places import bundle
from grader.places.gradescope.tree import RESERVE_FRACTION, RESERVE_SECONDS
from grader.places.memory import OWN_MB

OWN_SECONDS = 45.0
"""Start, checks and reports on half a core, with room for a busy machine."""
TIERS = ((0.75, "0.5 CPU, 0.75 GB RAM"), (1.5, "1.0 CPU, 1.5 GB RAM"), (3.0, "2.0 CPU, 3.0 GB RAM"))
NOT_CPU = (
    "Without --torch-index, pip takes PyTorch from its usual index; for Linux that is the build for NVIDIA GPUs, "
    "several gigabytes that Gradescope has no use for. docs/running-a-course.md says where the address of the CPU "
    "builds is found."
)


def build(
    root: Path,
    assignment: str,
    *,
    output: Path | None = None,
    torch_index: str = "",
    secret_file: Path | None = None,
    include: tuple[Path, ...] = (),
) -> None:
    """Write the zip and say what to choose on Gradescope.

    Raises UsageError (AssignmentError) when the assignment does not load, or when something would go into the zip
    that is no part of it.
    """
    loaded = assignments.load(assignment, root)
    files = contents(root, loaded, torch_index=torch_index, secret_file=secret_file, include=include)
    points = worth(loaded)
    target = output or root / "build" / f"gradescope-{assignment}.zip"
    bundle.write_zip(target, files, executable=("setup.sh", "run_autograder"))
    size = target.stat().st_size
    click.echo(f"{target}: {size / 1e6:.1f} MB, {len(files)} files, SHA-256 {_sha256(target)}")
    for line in advice(loaded, points):
        click.echo(line)
    if not torch_index:
        click.echo(NOT_CPU)


def contents(
    root: Path,
    assignment: Assignment,
    *,
    torch_index: str = "",
    secret_file: Path | None = None,
    include: tuple[Path, ...] = (),
) -> bundle.Files:
    """The files of the zip."""
    torch, others = bundle.requirements()
    engine = environment([BUILT_IN])
    engine.filters["quote"] = shlex.quote
    scripts = {
        "setup.sh": engine.get_template("gradescope/setup.sh.j2").render(torch=torch, index=torch_index),
        "run_autograder": engine.get_template("gradescope/run_autograder.j2").render(name=assignment.name),
        "requirements.txt": "\n".join(others),
    }
    course = {**bundle.public_half(assignment, include), **bundle.staff_half(assignment, include)}
    if (root / "templates").is_dir() and (root / "templates").resolve() != BUILT_IN:
        for path in sorted((root / "templates").glob("*")):
            if path.is_file():
                course[f"templates/{path.name}"] = path.read_bytes()
    course[secret.FILE] = _secret(root, assignment, secret_file)
    return {
        **{name: text.encode() + (b"" if text.endswith("\n") else b"\n") for name, text in scripts.items()},
        **bundle.grader_files(),
        **{f"course/{name}": data for name, data in course.items()},
    }


def _secret(root: Path, assignment: Assignment, file: Path | None) -> bytes:
    """The secret that goes along: derived from the course's own, which stays at home, unless a file is named."""
    if file is not None:
        try:
            given = file.read_bytes().strip()
        except OSError as error:
            raise UsageError(f"--secret: {file} can't be read: {error.strerror}.") from None
        if len(given) < secret.MINIMUM:
            raise UsageError(f"--secret: {file} holds fewer than {secret.MINIMUM} characters.")
        return given + b"\n"
    return secret.derived(root, f"gradescope/{assignment.name}")


def worth(assignment: Assignment) -> float:
    """The points of all hidden checks. Raises AssignmentError when a half can't be used: better here than there."""
    found: list[Check] = []
    loaded = staff.load(assignment)
    collect(assignment.hidden_checks, Checks(loaded.in_double, lambda checks: found.extend(checks.checks)))
    agreement.require_checks(assignment, [check.id for check in found])
    return sum(check.worth for check in found)


def advice(assignment: Assignment, points: float) -> list[str]:
    """What to choose on the assignment's pages."""
    limits = assignment.settings.limits
    need = (OWN_SECONDS + limits.total_seconds + RESERVE_SECONDS) / (1 - RESERVE_FRACTION)
    minutes = max(10, 10 * math.ceil(need / 600))
    roomy = next((words for gigabytes, words in TIERS if gigabytes * 1000 >= OWN_MB + limits.memory_mb), "the largest")
    return [
        f"Autograder points: {points:g}",
        "Base image: Ubuntu 22.04, variant Base",
        f"Container: {TIERS[0][1]} is enough for the grader, which takes about {OWN_MB} MB. "
        f"A submission may take up to {limits.memory_mb} MB more before it is stopped; room for that has: {roomy}.",
        f"Time limit: {minutes} minutes (a submission may take {limits.total_seconds:g} s)",
    ]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
